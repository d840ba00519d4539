// Selection: specialization points x system description -> one configuration, with a reason for every choice
// and every rejection.
//
// For each point, the first of these decides: the value set by the user; the first satisfied value of a
// matching `prefer`; if any value requires a CPU or GPU, the last satisfied value (values are listed weakest
// first); the default, if satisfied; the first satisfied value. Among the configurations that were built, the
// one with the best value for the first point wins, then for the second, and so on.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/spec/application.h>
#include <xaas/system/system.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::select {

// One requirement of a value, and whether it is met. Requirements that the image itself provides are always
// met: the build checks them, not the system.
struct Need {
  enum class Kind { cpu, gpu, mpi, library };
  using From = spec::Requirement::From;
  Kind kind = Kind::cpu;
  From from = From::host;
  std::string what;  // "nvidia GPU, driver 530 or later"
  bool met = false;  // if not, `lacks` says why, in one line: "this CPU (haswell) lacks avx512f"
  std::string found; // what was found for it, with the evidence; may be empty
  std::string lacks;
  bool by_cpu = false; // a GPU's: kernels run on the CPU in its place
};
const char* name_of(Need::Kind kind);
const char* name_of(Need::From from);

// Every need of `required`, except `requires.values`. `brought`: files of the image by library name.
std::vector<Need> needs_of(const spec::Requirement& required, const system::SystemDescription& system,
                           const std::map<std::string, std::string>& brought = {});

// One sentence per unmet need of `required` ("this CPU (haswell) lacks avx512f"); empty if all are met.
std::vector<std::string> unmet(const spec::Requirement& required, const system::SystemDescription& system);

// For each value whose CPU this system lacks, a line with every missing feature: "isa=x86-64-v4 needs
// avx512bw, avx512cd, which this CPU (haswell) lacks".
std::vector<std::string> missing_features(const std::vector<spec::SpecializationPoint>& points,
                                          const system::SystemDescription& system);

// Keys "kind", "from", "what", "met", "found" and "lacks"; the last two null if empty.
Json to_json(const Need& need);
// "nvidia GPU, driver 530 or later: NVIDIA H200, sm_90, driver 550.54.15 (/proc/driver/nvidia/...)"
std::string text_of(const Need& need);

struct Choice {
  std::string point, value, reason;
};

struct Rejection {
  std::string configuration; // its id
  std::string reason;
};

// The result for one value.
struct Outcome {
  std::string point, value;
  bool chosen = false;
  bool possible = false; // the system meets all its needs
  bool built = false;    // a configuration of the image contains it
  std::string reason;    // why it was chosen, or why not
  std::vector<Need> needs;
};

struct Selection {
  spec::Configuration configuration;
  std::vector<Choice> choices;     // one per point, in point order
  std::vector<Rejection> rejected; // all other configurations, with the reason against each
  std::vector<Outcome> values;     // every value of every point, in the order of the spec
};

// Chooses among the `available` configurations, whatever their order. `set` has the values that the user set.
// Errors: usage with a suggestion for an unknown point or value in `set`; unsatisfied for a value in `set`
// that this system does not satisfy or that no available configuration contains ("configuration simd=AVX_512:
// this CPU (haswell) lacks avx512f", with a hint); unsatisfied if nothing fits, with the reason against each
// configuration.
Result<Selection> select(const std::vector<spec::SpecializationPoint>& points,
                         const std::vector<spec::Configuration>& available,
                         const system::SystemDescription& system,
                         const std::map<std::string, std::string>& set,
                         const std::map<std::string, std::string>& brought = {});

// The selection as text: tables of choices, of values, of needs beyond the CPU, and of rejections.
std::string explain(const Selection& selection);

} // namespace xaas::select
