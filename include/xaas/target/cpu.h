// Instruction sets, as LLVM names them: architectures, CPUs, features and ISA levels.
//
// ISA levels are those of the x86-64 psABI ("Micro-Architecture Levels": x86-64, x86-64-v2, -v3, -v4) and, on
// AArch64, the architecture versions of LLVM's target parser. A feature is a name of LLVM's back end, without
// sign
// ("avx2", "sse4.1"). Features decide; a CPU's name only tunes and labels.
#pragma once

#include <xaas/base/result.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::target {

// A CPU that code is generated for.
struct Cpu {
  std::string arch; // "x86_64" or "aarch64"
  std::string name; // LLVM's name: "sapphirerapids", "x86-64-v3"; "generic" where LLVM knows no better
                    // (an AArch64 level is no CPU of LLVM's: its name is "generic")
  std::vector<std::string> features; // all features that are on, sorted, each once
  bool operator==(const Cpu&) const = default;
};

// The architecture that this program was compiled for.
std::string host_arch();

// The CPU that this program runs on, as LLVM's host detection sees it. Features that the operating system
// does not enable (AVX without XSAVE, for example) are off.
Cpu host_cpu();

// What host_cpu() makes of LLVM's detection: a name, and features that are on or off; what is not in the map
// was not looked at. A feature is off where one that it is built on is off (a virtual machine that hides avx2
// and shows avx512f): LLVM would switch the hidden one on again.
Cpu cpu_from_detection(const std::string& arch, const std::string& name,
                       const std::map<std::string, bool>& detected);

// The ISA levels of an architecture, weakest first. Unknown architecture: empty.
std::vector<std::string> isa_levels(const std::string& arch);

// A CPU by LLVM name or ISA level, with all features LLVM gives it. Unknown: usage error with a suggestion.
Result<Cpu> cpu_by_name(const std::string& arch, const std::string& name);

// Every name that cpu_by_name takes, sorted, without AArch64's `armv8.N-a+extension` forms other than the
// levels.
std::vector<std::string> cpu_names(const std::string& arch);

// The names by which LLVM knows the CPU of this name ("skylake-avx512" is also "skx"): itself first, then the
// others, sorted. A name that LLVM does not know, or that is no CPU's, stands alone.
std::vector<std::string> names_of_same_cpu(const std::string& arch, const std::string& name);

// The highest ISA level all of whose features are in `features` (sorted or not); the lowest level if none is.
// Not asked for is what every CPU of the architecture has and, on AArch64, what detection cannot see (an
// architecture version, RAS).
std::string isa_level(const std::string& arch, const std::vector<std::string>& features);

// True if `name` is a feature of the architecture that LLVM knows.
bool is_feature(const std::string& arch, const std::string& name);

// `features` and all that they are built on (avx2 is built on avx), sorted; names that LLVM does not know
// stay.
std::vector<std::string> with_implied(const std::string& arch, const std::vector<std::string>& features);

// Those of `features` that LLVM knows and that it can use without switching on others that are not listed,
// and what every CPU of the architecture has; sorted.
std::vector<std::string> usable_features(const std::string& arch, const std::vector<std::string>& features);

// The features as LLVM takes them beside the CPU's name: "+" and each that is on, then "-" and each that LLVM
// would add because of the name and that is not on.
std::vector<std::string> signed_features(const Cpu& cpu);

// The features that an ISA level or CPU name stands for; usage error if unknown.
Result<std::vector<std::string>> features_of(const std::string& arch, const std::string& name);

// The features of `required` that are not in `available`, in the order of `required`.
std::vector<std::string> missing_features(const std::vector<std::string>& required,
                                          const std::vector<std::string>& available);

// The LLVM target triple that applications of this architecture are compiled for: "x86_64-pc-linux-gnu".
std::string triple(const std::string& arch);

// The OCI name of an architecture (GOARCH): "amd64", "arm64".
std::string oci_architecture(const std::string& arch);

} // namespace xaas::target
