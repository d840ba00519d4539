// Where an x86-64 CPU says which instructions it has.
#pragma once

#include <cstdint>
#include <span>

namespace xaas::target {

enum class CpuidWord : uint32_t { eax, ebx, ecx, edx };

struct CpuidBit {
  uint32_t leaf, subleaf;
  CpuidWord word;
  uint32_t bit;
  uint32_t state;   // bits of XCR0 that the operating system must have set; 0: none
  const char* name; // LLVM's name of the feature
};

// The features that code generation may use of its own accord, those of every x86-64 CPU aside. Instructions
// that only an intrinsic gives (random numbers, SHA, AES, those of the system) are used by functions that ask
// for them, which they do after asking the CPU. Sorted by leaf and subleaf. Sources: Intel SDM, volume 2,
// CPUID; AMD64 APM, volume 3, appendix E.
std::span<const CpuidBit> cpuid_bits();

} // namespace xaas::target
