// Which instructions an ELF file has that a CPU lacks.
#pragma once

#include <xaas/check/check.h>
#include <xaas/target/cpu.h>

#include <map>
#include <string>
#include <string_view>

namespace xaas::check {

// Disassembles the executable sections, from function to function where there are symbols, else from their
// beginnings; what is no instruction is passed over. At most `max_functions` are named for a feature.
// Relocatable files likewise. Damaged ELF: integrity error. Reads what may be hostile: call in a worker.
Result<std::map<std::string, Use>> instructions_beyond(std::string_view elf, const target::Cpu& cpu,
                                                       size_t max_functions = 5);

} // namespace xaas::check
