// What the failure of a build teaches about its spec.
#pragma once

#include "failure.h"

#include <xaas/discover/draft.h>

#include <functional>
#include <string>

namespace xaas::trial {

// What a lesson may look at.
struct Classroom {
  const Failure& failure;
  const discover::Findings& findings;
  const fs::path& source;                                      // the tree
  std::function<bool(const std::string& program)> has_program; // on PATH
};

// Changes the draft where the failure shows what it lacks, and says how: "build.copy is set, because ...".
// Empty: nothing was learned. A change that the draft already has is never made again, so that repeating a
// build until nothing is learned ends.
std::string learn(const Classroom& room, discover::Draft& draft);

// Names the program that a container starts, if the installed programs leave no doubt. The same result.
std::string choose_entrypoint(const std::vector<std::string>& programs, discover::Draft& draft);

} // namespace xaas::trial
