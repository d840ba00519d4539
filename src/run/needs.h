// Does this machine have what the image was deployed for.
#pragma once

#include <xaas/base/result.h>
#include <xaas/oci/image.h>
#include <xaas/target/cpu.h>

namespace xaas::run {

// From the image's annotations alone, so that it costs nothing; `xaas verify` looks at everything.
// unsatisfied: another architecture, or the features that `host` lacks. An image that says nothing is fine.
Result<void> check_needs(const oci::Image& image, const target::Cpu& host);

} // namespace xaas::run
