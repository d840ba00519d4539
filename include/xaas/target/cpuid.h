// Where CPUID reports the features of an x86-64 CPU.
#pragma once

#include <cstdint>
#include <span>

namespace xaas::target {

enum class CpuidWord : uint32_t { eax, ebx, ecx, edx };

struct CpuidBit {
  uint32_t leaf, subleaf;
  CpuidWord word;
  uint32_t bit;
  uint32_t state;   // bits of XCR0 that the operating system must set; 0: none
  const char* name; // LLVM's name of the feature
};

// The features that code generation may use on its own, except those that every x86-64 CPU has. Instructions
// that only intrinsics emit (random numbers, SHA, AES, system instructions) appear in functions that request
// them, which check the CPU first. Sorted by leaf and subleaf. Sources: Intel SDM, volume 2, CPUID; AMD64
// APM, volume 3, appendix E.
std::span<const CpuidBit> cpuid_bits();

} // namespace xaas::target
