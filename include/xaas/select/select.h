// Selection: specialization points x system description -> one configuration, with a reason for every choice
// and every rejection.
//
// Per point: a value that was set; else the first satisfied value of a matching `prefer`; else, if any value
// has `requires` on cpu or gpu, the last listed satisfied value (values are listed weakest first); else the
// default if it is satisfied; else the first satisfied value. Among complete configurations that were built,
// the first in point order wins: the candidate whose value for the first point ranks best, then for the
// second, and so on.
#pragma once

#include <xaas/base/result.h>
#include <xaas/spec/application.h>
#include <xaas/system/system.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::select {

struct Choice {
  std::string point, value, reason;
};

struct Rejection {
  std::string configuration; // its id
  std::string reason;
};

struct Selection {
  spec::Configuration configuration;
  std::vector<Choice> choices;     // one per point, in point order
  std::vector<Rejection> rejected; // every other configuration, with the reason against it
};

// What `required` lacks on this system: one sentence per unmet need ("this CPU (haswell) lacks avx512f");
// empty if satisfied. `requires.values` is not looked at here.
std::vector<std::string> unmet(const spec::Requirement& required, const system::SystemDescription& system);

// Chooses among `available` configurations. `set` gives values by hand: an unknown point or value is a usage
// error with a suggestion; a value that this system does not satisfy, or that no available configuration has,
// is unsatisfied (the message has the form "configuration simd=AVX_512: this CPU (haswell) lacks avx512f",
// with a hint). Nothing fits: unsatisfied, and the message lists the reason against each configuration.
Result<Selection> select(const std::vector<spec::SpecializationPoint>& points,
                         const std::vector<spec::Configuration>& available,
                         const system::SystemDescription& system,
                         const std::map<std::string, std::string>& set);

// The selection for people: a table of choices and of rejections.
std::string explain(const Selection& selection);

} // namespace xaas::select
