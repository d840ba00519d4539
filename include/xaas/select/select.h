// Selection: specialization points x system description -> one configuration, with a reason for every choice
// and every rejection.
//
// Per point: a value that was set; else the first satisfied value of a matching `prefer`; else, if any value
// has `requires` on cpu or gpu, the last listed satisfied value (values are listed weakest first); else the
// default if it is satisfied; else the first satisfied value. Among complete configurations that were built,
// the first in point order wins: the candidate whose value for the first point ranks best, then for the
// second, and so on.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/spec/application.h>
#include <xaas/system/system.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::select {

// One thing that a value needs, and whether it is there. What the image brings is always there: building
// checks it, and the system is not asked.
struct Need {
  enum class Kind { cpu, gpu, mpi, library };
  using From = spec::Requirement::From;
  Kind kind = Kind::cpu;
  From from = From::host;
  std::string what;  // "nvidia GPU, driver 530 or later"
  bool met = false;  // if not, `lacks` has the sentence: "this CPU (haswell) lacks avx512f"
  std::string found; // what is there for it, and by which evidence; may be empty
  std::string lacks;
};
const char* name_of(Need::Kind kind);
const char* name_of(Need::From from);

// Every need of `required`. `requires.values` is not looked at here. `brought`: files of the image by the
// name of the library.
std::vector<Need> needs_of(const spec::Requirement& required, const system::SystemDescription& system,
                           const std::map<std::string, std::string>& brought = {});

// What `required` lacks on this system: one sentence per unmet need ("this CPU (haswell) lacks avx512f");
// empty if satisfied.
std::vector<std::string> unmet(const spec::Requirement& required, const system::SystemDescription& system);

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

// What became of one value.
struct Outcome {
  std::string point, value;
  bool chosen = false;
  bool possible = false; // the system has all that it needs
  bool built = false;    // a configuration of the image has it
  std::string reason;    // why it was chosen, or why not
  std::vector<Need> needs;
};

struct Selection {
  spec::Configuration configuration;
  std::vector<Choice> choices;     // one per point, in point order
  std::vector<Rejection> rejected; // every other configuration, with the reason against it
  std::vector<Outcome> values;     // every value of every point, as they are listed
};

// Chooses among `available` configurations; in which order they come does not matter. `set` gives values by
// hand: an unknown point or value is a usage error with a suggestion; a value that this system does not
// satisfy, or that no available configuration has, is unsatisfied (the message has the form "configuration
// simd=AVX_512: this CPU (haswell) lacks avx512f", with a hint). Nothing fits: unsatisfied, and the message
// lists the reason against each configuration.
Result<Selection> select(const std::vector<spec::SpecializationPoint>& points,
                         const std::vector<spec::Configuration>& available,
                         const system::SystemDescription& system,
                         const std::map<std::string, std::string>& set,
                         const std::map<std::string, std::string>& brought = {});

// The selection for people: a table of choices, of values, of needs beyond the CPU, and of rejections.
std::string explain(const Selection& selection);

} // namespace xaas::select
