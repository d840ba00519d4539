// Which links of a configuration have device code to link.
#pragma once

#include <xaas/device/plan.h>

namespace xaas::device {

// DevicePlan::links: of links that make programs and libraries.
std::map<Digest, std::vector<DeviceLink>> device_links(const image::Bundle& bundle,
                                                       const image::Usage& usage);

// The units that a link reads, also through archives and relocatable links, each once.
std::vector<Digest> units_of_link(const image::Bundle& bundle, const link::LinkRecord& record);

// DevicePlan::files_without_device_code.
std::vector<std::string> files_without_device_code(const image::Bundle& bundle,
                                                   const image::BundleConfiguration& configuration);

} // namespace xaas::device
