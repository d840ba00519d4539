// The front door's log of its compiles, for the build's report.
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
  std::optional<Digest> text; // digest of its tokens, if they were read
  bool reused = false;
  std::string source;          // portable name
  bool names_places = false;   // its data contains a directory of the build
  unsigned vector_returns = 0; // functions whose ABI was written out
};

// Appends one line in one write, because many compilers write to the same log.
Result<void> log_compile(const Session& session, const LoggedCompile& compile);
Result<void> log_difference(const Session& session, const std::string& difference);

// The log, as read back.
struct CompileLog {
  uint64_t compiled = 0; // by the front end
  uint64_t reused = 0;   // found in the cache
  // The digest of each unit's preprocessed text, if known.
  std::map<Digest, Digest> texts;
  // With `check_sharing`: known outcomes that compiling contradicts, as `source: known module, compiled
  // module`.
  std::vector<std::string> differences;
};
Result<CompileLog> read_compile_log(const Session& session);

// Records that a command would do something else at another ISA level. The first reason stays.
Result<void> note_other_level(const Session& session, const std::string& level, const std::string& reason);
// Those of session.other_levels without such a note.
std::vector<std::string> equal_levels(const Session& session);
// The notes, by level.
Result<std::map<std::string, std::string>> level_differences(const Session& session);

// Marks that a command has begun to compare itself with other levels, and that it has done so. A command that
// is killed leaves its mark.
class ComparedCommand {
public:
  static Result<ComparedCommand> begin(const Session& session);
  void end() const;

private:
  explicit ComparedCommand(fs::path mark) : mark_(std::move(mark)) {}
  fs::path mark_; // empty: there is nothing to compare with
};
// True if no command has begun and not ended.
bool all_compared(const Session& session);

// Records why an object has no IR. `object` is the finished file.
void note_native_object(const Session& session, const fs::path& object, const std::string& reason);
// Why contents with this digest have no IR; nothing if the front door recorded no reason.
std::optional<std::string> native_reason(const Session& session, const Digest& content);

} // namespace xaas::session
