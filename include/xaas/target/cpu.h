// Instruction sets, as LLVM names them: architectures, CPUs, features and ISA levels.
//
// ISA levels are those of the x86-64 psABI ("Micro-Architecture Levels": x86-64, x86-64-v2, -v3, -v4) and, on
// AArch64, the architecture versions of LLVM's target parser. A feature is a name of LLVM's back end without
// a sign ("avx2", "sse4.1"). Features decide; a CPU's name only affects tuning and labels.
#pragma once

#include <xaas/base/result.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace xaas::target {

// A CPU to generate code for.
struct Cpu {
  std::string arch; // "x86_64" or "aarch64"
  std::string name; // LLVM's name: "sapphirerapids", "x86-64-v3"; "generic" if LLVM has no better one
                    // (an AArch64 level is not a CPU of LLVM's, so its name is "generic")
  std::vector<std::string> features; // all enabled features, sorted, each once
  bool operator==(const Cpu&) const = default;
};

// The architecture that this program was compiled for.
std::string host_arch();

// The CPU that this program runs on, according to LLVM's host detection. Features that the operating system
// does not enable (such as AVX without XSAVE) are off.
Cpu host_cpu();

// Interprets LLVM's detection for host_cpu(): a name, and features that are on or off; features missing from
// the map were not examined. A feature is off if one that it depends on is off (as in a virtual machine that
// hides avx2 and shows avx512f), because LLVM would enable the hidden one again.
Cpu cpu_from_detection(const std::string& arch, const std::string& name,
                       const std::map<std::string, bool>& detected);

// The ISA levels of an architecture, weakest first; empty for an unknown architecture.
std::vector<std::string> isa_levels(const std::string& arch);

// The level whose instructions stand for those of the architecture's machines where no target is known yet:
// that of Haswell, Zen and later CPUs on x86-64, the lowest on AArch64. Empty for an unknown architecture.
std::string common_level(const std::string& arch);

// A CPU by LLVM name or ISA level, with all its features in LLVM. An unknown name is a usage error with a
// suggestion.
Result<Cpu> cpu_by_name(const std::string& arch, const std::string& name);

// Every name that cpu_by_name() accepts, sorted. Of AArch64's `armv8.N-a+extension` forms, only the levels.
std::vector<std::string> cpu_names(const std::string& arch);

// All LLVM names of the CPU with this name ("skylake-avx512" is also "skx"): this one first, then the others,
// sorted. For anything but an LLVM CPU name, just the name itself.
std::vector<std::string> names_of_same_cpu(const std::string& arch, const std::string& name);

// The highest ISA level all of whose features are in `features` (sorted or not); the lowest level if none is.
// It ignores the features that every CPU of the architecture has and, on AArch64, those that detection cannot
// see (an architecture version, RAS).
std::string isa_level(const std::string& arch, const std::vector<std::string>& features);

// True if `name` is a feature of the architecture that LLVM knows.
bool is_feature(const std::string& arch, const std::string& name);

// The feature that provides vector registers of `bits` bits: the narrowest that suffice, else the widest that
// exist. Empty if every CPU of the architecture has them, or the architecture is unknown.
std::string vector_feature(const std::string& arch, uint64_t bits);

// `features` and everything they depend on (avx2 depends on avx), sorted. Names unknown to LLVM stay.
std::vector<std::string> with_implied(const std::string& arch, const std::vector<std::string>& features);

// Those of `features` that LLVM knows and can use without enabling others that are not listed, and those that
// every CPU of the architecture has; sorted.
std::vector<std::string> usable_features(const std::string& arch, const std::vector<std::string>& features);

// The feature list for LLVM, in addition to the CPU's name: "+" and each enabled feature, then "-" and each
// feature that LLVM would add because of the name but that is not enabled.
std::vector<std::string> signed_features(const Cpu& cpu);

// The features of an ISA level or CPU name; a usage error if unknown.
Result<std::vector<std::string>> features_of(const std::string& arch, const std::string& name);

// The features of `required` that are not in `available`, in the order of `required`.
std::vector<std::string> missing_features(const std::vector<std::string>& required,
                                          const std::vector<std::string>& available);

// The LLVM target triple for applications of this architecture: "x86_64-pc-linux-gnu".
std::string triple(const std::string& arch);

// The OCI name of an architecture (GOARCH): "amd64", "arm64".
std::string oci_architecture(const std::string& arch);
std::optional<std::string> arch_of_oci(const std::string& architecture); // nothing: it is not known

} // namespace xaas::target
