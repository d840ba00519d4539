// What the front door writes down of its compiles, for the build's report.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/result.h>
#include <xaas/session/session.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace xaas::session {

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

// What the front door did, as it writes it down.
struct CompileLog {
  uint64_t compiled = 0; // by the front end
  uint64_t reused = 0;   // known from the cache
  // The preprocessed text of each unit, where it is known.
  std::map<Digest, Digest> texts;
  // Of `check_sharing`: known outcomes that compiling contradicts, as `source: known module, compiled
  // module`.
  std::vector<std::string> differences;
};
Result<CompileLog> read_compile_log(const Session& session);

// Writes down why an object has no IR. `object` is the finished file.
void note_native_object(const Session& session, const fs::path& object, const std::string& reason);
// Why contents with this digest have no IR; nothing where the front door does not know.
std::optional<std::string> native_reason(const Session& session, const Digest& content);

} // namespace xaas::session
