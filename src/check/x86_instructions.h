// The CPU features that an x86-64 instruction needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::check {

// How the bytes begin, behind legacy prefixes.
enum class Encoding { legacy, rex2, vex, evex, evex_map4, xop };
Encoding encoding_of(const uint8_t* bytes, size_t size);

// Features by LLVM's names, of an instruction by LLVM's name of its opcode ("VPADDBZ256rr"); none where every
// x86-64 CPU has it, or where the instruction does nothing on others (hints). APX is "egpr".
std::vector<std::string> x86_features(std::string_view opcode, Encoding encoding);

} // namespace xaas::check
