// What a build reports about the image that it made.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/build/build.h>
#include <xaas/image/coverage.h>

namespace xaas::build {

// The numbers of units, modules and programs, of the image and of each configuration, and the native objects.
// Notes a configuration without IR.
void report_coverage(const image::Bundle& bundle, const image::Coverage& coverage, Progress& progress,
                     Report& report);

} // namespace xaas::build
