// The CPU features that an x86-64 instruction needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::check {

// The encoding of an instruction, by its bytes after legacy prefixes.
enum class Encoding { legacy, rex2, vex, evex, evex_map4, xop };
Encoding encoding_of(const uint8_t* bytes, size_t size);

// Features by LLVM's names, for LLVM's name of the opcode ("VPADDBZ256rr"). Empty if every x86-64 CPU has the
// instruction, or if it does nothing on other CPUs (hints). APX is "egpr".
std::vector<std::string> x86_features(std::string_view opcode, Encoding encoding);

} // namespace xaas::check
