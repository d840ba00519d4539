// What a deployed image needs beyond the CPU (annotation `dev.xaas.needs`), and what it prefers to have from
// the host (`dev.xaas.host`).
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/image/bundle.h>
#include <xaas/image/targets.h>
#include <xaas/oci/image.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::image {

namespace annotation {
inline constexpr const char* needs = "dev.xaas.needs";
inline constexpr const char* host = "dev.xaas.host";
inline constexpr const char* gpu_code = "dev.xaas.gpu.code";
inline constexpr const char* checked_kernels = "dev.xaas.checked-kernels";
inline constexpr const char* profile = "dev.xaas.profile"; // profile_counts, or the digest of the profile
inline constexpr const char* plugins = "dev.xaas.plugins"; // pass plugins that ran: UsedPlugin
} // namespace annotation
inline constexpr const char* profile_counts = "counts"; // the programs have counters
inline constexpr const char* cold_for_size =
    " size"; // after the digest: what never ran is optimized for size

// A chosen value, and the GPU, MPI and libraries that it requires.
struct ChosenNeeds {
  std::string point, value;
  spec::Requirement required; // without `cpu` and `values`
};

// The values of a configuration with such requirements, in point order.
std::vector<ChosenNeeds> needs_of(const Bundle& bundle, const spec::Configuration& configuration);

// Compact JSON: [{"point", "value", "requires"}].
std::string to_annotation(const std::vector<ChosenNeeds>& needs);

// Of a deployed image; empty without the annotation. Integrity error if malformed.
Result<std::vector<ChosenNeeds>> needs_of(const oci::Image& image);

// Something that the image brings and that may come from the host instead. It describes no host, so the image
// does not depend on the machine that deploys it.
struct PreferredOfHost {
  std::string what;                 // "mpi", "fftw3"
  std::string abi;                  // of an MPI ("mpich-12"); otherwise empty
  std::vector<std::string> sonames; // of the image's files, without directories; sorted
  bool operator==(const PreferredOfHost&) const = default;
};

// Compact JSON: [{"what", "abi", "sonames"}], with `abi` only for an MPI.
std::string to_annotation(const std::vector<PreferredOfHost>& preferred);

// Of a deployed image; empty without the annotation. Integrity error if malformed, or if a name is a path.
Result<std::vector<PreferredOfHost>> preferred_of_host(const oci::Image& image);

// The code of a deployed image for one GPU that it was deployed for.
struct GpuCode {
  std::string gpu;  // its architecture: sm_90, gfx90a
  std::string arch; // that the code is for: the same, or the last one before it that LLVM knows
  std::string
      ptx; // version of PTX, which the driver makes machine code of: 8.4. Empty: there is machine code
  std::string assembler;        // version of the ptxas that made it: 13.0.88
  std::string runtime;          // release of the CUDA run-time library in the program: 12.4; empty: unknown
  std::string code_object = {}; // AMD's: version of its code object ABI: 5. The others are empty then
  bool in_file = false;         // alone in a file that programs load, so nothing else can replace it
  auto operator<=>(const GpuCode&) const = default;
};
std::string describe(const GpuCode& code); // "sm_90: PTX 8.4", "sm_90: machine code by ptxas 13.0.88",
                                           // "gfx90a: code object version 5"

// Compact JSON: [{"gpu", "arch", "ptx" or "assembler", "runtime", "file"}], the last two where they apply;
// for AMD: [{"gpu", "arch", "code_object"}].
std::string to_annotation(const std::vector<GpuCode>& code);

// Of a deployed image; empty without the annotation. Integrity error if malformed.
Result<std::vector<GpuCode>> gpu_code_of(const Annotations& annotations);

// A pass plugin that ran when the image was deployed.
struct UsedPlugin {
  std::string name, version;
  Digest digest;                        // of its file
  bool for_all = false;                 // on all units, although none asks for it
  uint64_t units = 0;                   // on how many
  uint64_t links = 0;                   // on the merged IR of how many links
  std::vector<std::string> options;     // that the user set: "name=value"
  std::optional<Digest> libraries = {}; // of the contents of libraries that it brings
  bool operator==(const UsedPlugin&) const = default;
};
// "3 units", "3 units and 1 link", for reports.
std::string units_and_links(uint64_t units, uint64_t links);
Json to_json(const std::vector<UsedPlugin>& plugins); // also the annotation: compact JSON, with these keys

// Of a deployed image; empty without the annotation. Integrity error if malformed.
Result<std::vector<UsedPlugin>> plugins_of(const Annotations& annotations);

} // namespace xaas::image
