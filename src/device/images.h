// Device code that is not linked: the images of host units, and files.
#pragma once

#include <xaas/device/make.h>

namespace xaas::device {

// Adds the images of the inputs' host units and the plan's files to `made`.
Result<void> make_images(const DeviceInputs& inputs, DeviceCode& made);

} // namespace xaas::device
