// AMD's part of device code: which code object runs on a GPU, and how it is made.
#pragma once

#include "planning.h"

namespace xaas::device {

// True for a host unit whose device code is for AMD's GPUs.
bool is_for_amd(const ir::Unit& host);
bool is_for_amd(const DeviceJob& job);

// Plans the code of each AMD GPU for `host_units`, which have code for AMD. Code for one architecture runs on
// no other, and no driver asks for a version, so a GPU gets the code for its own architecture, or there is
// none (unsatisfied). The settings of a GPU in a system description (gfx90a:xnack-) do not matter, because
// the code runs with all of them.
Result<void> plan_for_amd(const image::Bundle& bundle, const std::set<Digest>& host_units,
                          const std::vector<system::Gpu>& gpus, DevicePlan& plan);

// Links an object that was lowered for `arch` into a code object.
Result<std::string> make_code_object(const std::string& object, const std::string& arch);

} // namespace xaas::device
