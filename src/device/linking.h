// Device code that is linked: for each link, the code of its units for each device, and the objects that
// register it.
#pragma once

#include <xaas/device/make.h>

namespace xaas::device {

// Of one link: the units for the CPU as a device.
std::vector<Digest> units_for_host(const image::Bundle& bundle, const DeviceLink& link);

// Adds the objects of the plan's links to `made`.
Result<void> link_device_code(const DeviceInputs& inputs, DeviceCode& made);

} // namespace xaas::device
