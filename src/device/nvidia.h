// What is NVIDIA's own in device code: which code serves a GPU, and whether as machine code or as PTX.
#pragma once

#include "planning.h"

namespace xaas::device {

// Plans what each of NVIDIA's GPUs gets for `host_units`, which have code for them, and what files become.
Result<void> plan_for_nvidia(const image::Bundle& bundle, const std::set<Digest>& host_units,
                             const std::map<std::string, link::DeviceFile>& files,
                             const std::vector<system::Gpu>& gpus, std::optional<Assembler> assembler,
                             DevicePlan& plan);

} // namespace xaas::device
