// Whether this machine has what the image was deployed for.
#pragma once

#include <xaas/base/result.h>
#include <xaas/oci/image.h>
#include <xaas/target/cpu.h>

namespace xaas::run {

// Reads only the image's annotations, so it costs nothing; `xaas check` checks everything. unsatisfied for
// another architecture, or features that `host` lacks. An image without annotations passes.
Result<void> check_needs(const oci::Image& image, const target::Cpu& host);

} // namespace xaas::run
