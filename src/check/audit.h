// Which instructions of an ELF file a CPU lacks.
#pragma once

#include <xaas/check/check.h>
#include <xaas/target/cpu.h>

#include <map>
#include <string>
#include <string_view>

namespace xaas::check {

// Disassembles the executable sections: function by function where there are symbols, otherwise from the
// beginning. Bytes that are not an instruction are skipped. At most `max_functions` functions are named for
// each feature. Also takes relocatable files. Integrity error for damaged ELF. The input is untrusted: call
// it in a worker.
Result<std::map<std::string, Use>> instructions_beyond(std::string_view elf, const target::Cpu& cpu,
                                                       size_t max_functions = 5);

} // namespace xaas::check
