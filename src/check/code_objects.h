// The code for AMD's GPUs inside a program.
#pragma once

#include <xaas/base/result.h>

#include <string_view>

namespace xaas::check {

// Nothing if each code object in a program's section `.hip_fatbin` is whole and for the architecture that it
// is filed under; a program without that section has none. Compressed ones are not looked at: deploying makes
// none. Else an integrity error. Reads what may be hostile: call in a worker.
Result<void> check_code_objects(std::string_view elf);

} // namespace xaas::check
