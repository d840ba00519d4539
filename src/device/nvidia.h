// NVIDIA's part of device code: which code runs on a GPU, and whether as machine code or as PTX.
#pragma once

#include "planning.h"

namespace xaas::device {

// Plans the code of each NVIDIA GPU for `host_units`, which have code for NVIDIA, and the contents of files.
Result<void> plan_for_nvidia(const image::Bundle& bundle, const std::set<Digest>& host_units,
                             const std::map<std::string, link::DeviceFile>& files,
                             const std::vector<system::Gpu>& gpus, std::optional<Assembler> assembler,
                             DevicePlan& plan);

} // namespace xaas::device
