// Device code that is linked: for each link of a configuration the code of its units for each device, and the
// objects that register it, which the link of the host's code then reads.
#pragma once

#include <xaas/device/code.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::device {

// The units of one link that have device code to be linked in one way, in the order in which the link first
// names them. All members of its archives count: which ones the linker takes is the linker's to know, and
// what no kernel needs is dropped.
struct DeviceLink {
  std::string offload; // as in ir::Unit
  std::vector<Digest> host_units;
};

// Of the links that make programs and libraries, by record. Those without any are not in it.
std::map<Digest, std::vector<DeviceLink>> device_links(const image::Bundle& bundle,
                                                       const image::Usage& usage);

// Installed objects and archives whose device code only links within the image find: they have none when they
// are used elsewhere.
std::vector<std::string> files_without_device_code(const image::Bundle& bundle,
                                                   const image::BundleConfiguration& configuration);

// What has to be read for them.
std::set<Digest> modules_of(const image::Bundle& bundle, const DevicePlan& plan,
                            const std::map<Digest, std::vector<DeviceLink>>& links);

struct DeviceObjects {
  std::map<Digest, std::vector<std::string>> objects; // for the host, by link record
  uint64_t lowered = 0, cached = 0, links = 0;
};

// Lowers, links and assembles. A device that the plan has no code for is left out; a link of CUDA that
// has code for no device gets no object. Errors: failed where units of a link contradict each other.
Result<DeviceObjects> make_device_objects(const image::Bundle& bundle, const DevicePlan& plan,
                                          const std::map<Digest, std::vector<DeviceLink>>& links,
                                          const image::Contents& contents, const target::Cpu& cpu,
                                          const lower::ObjectCache* cache, const fs::path& work,
                                          unsigned threads, Progress& progress);

} // namespace xaas::device
