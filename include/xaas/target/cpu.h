// Instruction sets, as LLVM names them: architectures, CPUs, features and ISA levels.
//
// ISA levels are those of the x86-64 psABI ("Micro-Architecture Levels": x86-64, x86-64-v2, -v3, -v4) and, on
// AArch64, the architecture versions of LLVM's target parser. A feature is a name of LLVM's back end, without sign
// ("avx2", "sse4.1"). Features decide; a CPU's name only tunes and labels.
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <vector>

namespace xaas::target {

// A CPU that code is generated for.
struct Cpu {
  std::string arch;                  // "x86_64" or "aarch64"
  std::string name;                  // LLVM's name: "sapphirerapids", "x86-64-v3"; "generic" where LLVM knows no better
  std::vector<std::string> features; // all features that are on, sorted, each once
  bool operator==(const Cpu&) const = default;
};

// The architecture that this program was compiled for.
std::string host_arch();

// The CPU that this program runs on, as LLVM's host detection sees it. Features that the operating system does not
// enable (AVX without XSAVE, for example) are off.
Cpu host_cpu();

// The ISA levels of an architecture, weakest first. Unknown architecture: empty.
std::vector<std::string> isa_levels(const std::string& arch);

// A CPU by LLVM name or ISA level, with all features LLVM gives it. Unknown: usage error with a suggestion.
Result<Cpu> cpu_by_name(const std::string& arch, const std::string& name);

// The highest ISA level all of whose features are in `features` (sorted or not); the lowest level if none is.
std::string isa_level(const std::string& arch, const std::vector<std::string>& features);

// True if `name` is a feature of the architecture that LLVM knows.
bool is_feature(const std::string& arch, const std::string& name);

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
