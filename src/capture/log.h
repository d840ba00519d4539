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
  std::string places_in; // the source whose data name a directory of the build; empty: none
};

// Appended in one write: any number of compilers write to one log.
Result<void> log_compile(const Session& session, const LoggedCompile& compile);
Result<void> log_difference(const Session& session, const std::string& difference);

} // namespace xaas::capture
