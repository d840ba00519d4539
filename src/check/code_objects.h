// The code for AMD's GPUs in a program.
#pragma once

#include <xaas/base/result.h>

#include <string_view>

namespace xaas::check {

// Succeeds if every code object in a program's section `.hip_fatbin` is intact and made for the architecture
// that its entry names, or if the program has no such section. Compressed ones are not checked, because
// deploying makes none. Otherwise an integrity error. The input is untrusted: call it in a worker.
Result<void> check_code_objects(std::string_view elf);

} // namespace xaas::check
