// What is AMD's own in device code: which code object serves a GPU, and how it is made.
#pragma once

#include "planning.h"

namespace xaas::device {

// True for a unit of the host whose device code is for AMD's GPUs.
bool is_for_amd(const ir::Unit& host);
bool is_for_amd(const DeviceJob& job);

// Plans what each of AMD's GPUs gets for `host_units`, which are for them. Code for one architecture runs on
// no other, and no driver asks for a version: a GPU gets the code of its own, or there is none (unsatisfied).
// The settings of a GPU in a system description (gfx90a:xnack-) do not matter: the code is for all of them.
Result<void> plan_for_amd(const image::Bundle& bundle, const std::set<Digest>& host_units,
                          const std::vector<system::Gpu>& gpus, DevicePlan& plan);

// The code object that an object lowered for `arch` is linked into.
Result<std::string> make_code_object(const std::string& object, const std::string& arch);

} // namespace xaas::device
