// What the front door writes down of its compiles, for the build's report.
#pragma once

#include <xaas/capture/session.h>

#include <optional>
#include <string>

namespace xaas::capture {

struct LoggedCompile {
  Digest unit;
  std::optional<Digest> text; // of its tokens, where they were looked at
  bool reused = false;
  std::string source;          // portable name
  bool names_places = false;   // a directory of the build is in its data
  unsigned vector_returns = 0; // functions whose ABI was written out
};

// Appended in one write: any number of compilers write to one log.
Result<void> log_compile(const Session& session, const LoggedCompile& compile);
Result<void> log_difference(const Session& session, const std::string& difference);

} // namespace xaas::capture
