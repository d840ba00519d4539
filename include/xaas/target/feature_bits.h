// Where a CPU and its system report features, for code that asks before a program starts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace xaas::target {

enum class CpuidWord : uint32_t { eax, ebx, ecx, edx };

struct FeatureBit {
  // x86-64: of CPUID. AArch64: `leaf` is the type of an entry in the auxiliary vector (AT_HWCAP, AT_HWCAP2),
  // the rest is 0.
  uint32_t leaf, subleaf;
  CpuidWord word;
  uint32_t bit;
  uint32_t state;   // x86-64: bits of XCR0 that the operating system must set; 0: none
  const char* name; // LLVM's name of the feature
};

// The features that code generation may use on its own, except those that every CPU of the architecture has.
// Instructions that only intrinsics emit (random numbers, SHA, AES, system instructions) appear in functions
// that request them, which check the CPU first. Sorted by leaf and subleaf. Empty for other architectures.
// Sources: Intel SDM, volume 2, CPUID; AMD64 APM, volume 3, appendix E; Linux,
// Documentation/arch/arm64/elf_hwcaps.rst.
std::span<const FeatureBit> feature_bits(const std::string& arch);

// Those of `features` that have a bit, in its order, with those that a version of the architecture among them
// implies: a program checks them before it starts.
std::vector<std::string> guarded_features(const std::string& arch, const std::vector<std::string>& features);

} // namespace xaas::target
