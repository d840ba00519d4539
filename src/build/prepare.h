// Prepared modules: the half of the optimizer that knows no machine runs in the build.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/build/build.h>
#include <xaas/image/bundle.h>
#include <xaas/store/content_store.h>

namespace xaas::build {

// Replaces the modules of units for the host by their prepared form, and reports the units that keep theirs,
// with reasons. Units with the same module, options and machine flags share one prepared module. `cache`: of
// earlier results; may be null.
Result<PreparedReport> prepare_modules(image::Bundle& bundle, const store::ContentStore& content,
                                       unsigned jobs, const store::Cache* cache, Progress& progress);

} // namespace xaas::build
