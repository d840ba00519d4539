// Trying a draft: builds it, learns from what fails, and leaves a spec that builds.
#pragma once

#include <xaas/build/build.h>
#include <xaas/discover/draft.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace xaas::trial {

struct Request {
  build::Request build;          // of one configuration; application, configurations and output are ignored
  bool values = true;            // also try every other value of every point
  std::chrono::seconds limit{0}; // of all builds together; 0: none
};

// One build.
struct Attempt {
  std::string configuration; // its id
  std::string changed;       // "threads=on", where it differs from the first one; empty: the first one
  bool built = false;
  std::string step;    // the build system's step that failed; empty if none did
  std::string error;   // the first line that explains the failure
  fs::path log;        // of a failed build; empty: it could not be kept
  std::string learned; // what was changed in the draft because of this attempt; empty: nothing
  Seconds seconds;
};

struct Report {
  std::vector<Attempt> attempts;
  std::optional<Error> error; // why the first configuration cannot be built; absent: it was built
  bool out_of_time = false;   // some values were not tried
  Seconds seconds;
};

// Builds the first configuration of the draft, changes the draft where a failure shows what it lacks, and
// repeats that until the configuration builds or nothing more is learned. Then builds it once for each other
// value of each point, and leaves out the values that do not build. Sets the entry point if it is clear.
// Every change is recorded as a remark or an omission. Builds use a copy of the sources. Errors: interrupted.
Result<Report> try_draft(const Request& request, const discover::Findings& findings, discover::Draft& draft,
                         Progress& progress);

} // namespace xaas::trial
