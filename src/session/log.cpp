#include <xaas/session/log.h>

#include <xaas/base/text.h>
#include <xaas/base/trace.h>

#include <chrono>
#include <sstream>
#include <unistd.h>

namespace xaas::session {

namespace {

fs::path compiles_path(const Session& session) {
  return session.directory / "compiles";
}

fs::path differences_path(const Session& session) {
  return session.directory / "differences";
}

fs::path native_path(const Session& session, const Digest& content) {
  return session.directory / "native" / content.hex();
}

} // namespace

Result<void> log_compile(const Session& session, const LoggedCompile& compile) {
  if (compile.names_places)
    XAAS_CHECK(write_file(session.directory / "leaks" / compile.unit.hex(), compile.source, 0644, false));
  if (compile.vector_returns)
    XAAS_CHECK(write_file(session.directory / "vectors" / compile.unit.hex(),
                          std::to_string(compile.vector_returns) + " " + compile.source, 0644, false));
  trace::Event event{"compile", compile.source, trace::last_end(), trace::now(), Json::object()};
  event.details["cache"] = compile.reused ? "hit" : "miss";
  trace::add(std::move(event));
  return append_file(compiles_path(session), (compile.reused ? "reused " : "compiled ") +
                                                 compile.unit.to_string() + " " +
                                                 (compile.text ? compile.text->to_string() : "-") + "\n");
}

Result<void> log_difference(const Session& session, const std::string& difference) {
  return append_file(differences_path(session), difference + "\n");
}

// The lines of a file; none if it does not exist.
static Result<std::vector<std::string>> lines_of(const fs::path& path) {
  std::vector<std::string> lines;
  std::error_code code;
  if (!fs::exists(path, code))
    return lines;
  XAAS_TRY(const std::string text, read_file(path));
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

Result<CompileLog> read_compile_log(const Session& session) {
  CompileLog log;
  XAAS_TRY(log.differences, lines_of(differences_path(session)));
  XAAS_TRY(const std::vector<std::string> compiles, lines_of(compiles_path(session)));
  for (const std::string& line : compiles) {
    std::istringstream words(line);
    std::string outcome, unit, text;
    words >> outcome >> unit >> text;
    ++(outcome == "reused" ? log.reused : log.compiled);
    if (text == "-")
      continue;
    XAAS_TRY(const Digest id, Digest::parse(unit));
    XAAS_TRY(log.texts[id], Digest::parse(text));
  }
  return log;
}

static fs::path marks_path(const Session& session) {
  return session.directory / "comparing";
}

Result<ComparedCommand> ComparedCommand::begin(const Session& session) {
  if (session.other_levels.empty())
    return ComparedCommand(fs::path());
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  fs::path mark = marks_path(session) / (std::to_string(getpid()) + "-" + std::to_string(now));
  XAAS_CHECK(write_file(mark, "", 0644, false));
  return ComparedCommand(std::move(mark));
}

void ComparedCommand::end() const {
  std::error_code code;
  if (!mark_.empty())
    fs::remove(mark_, code); // a mark that stays makes the levels differ
}

bool all_compared(const Session& session) {
  std::error_code code;
  return fs::is_empty(marks_path(session), code) && !code;
}

static fs::path other_level_path(const Session& session, const std::string& level) {
  return session.directory / "other-levels" / level;
}

Result<void> note_other_level(const Session& session, const std::string& level, const std::string& reason) {
  return write_file(other_level_path(session, level), reason + "\n", 0644, false);
}

std::vector<std::string> equal_levels(const Session& session) {
  std::vector<std::string> equal;
  for (const std::string& level : session.other_levels)
    if (std::error_code code; !fs::exists(other_level_path(session, level), code))
      equal.push_back(level);
  return equal;
}

Result<std::map<std::string, std::string>> level_differences(const Session& session) {
  std::map<std::string, std::string> differences;
  for (const std::string& level : session.other_levels) {
    XAAS_TRY(const std::vector<std::string> lines, lines_of(other_level_path(session, level)));
    if (!lines.empty())
      differences[level] = lines.front();
  }
  return differences;
}

void note_native_object(const Session& session, const fs::path& object, const std::string& reason) {
  std::error_code code;
  if (!fs::is_regular_file(object, code)) // not a pipe or /dev/null
    return;
  if (const Result<Digest> content = digest_of_file(object))
    static_cast<void>(write_file(native_path(session, *content), reason, 0644, false));
}

std::optional<std::string> native_reason(const Session& session, const Digest& content) {
  Result<std::string> reason = read_file(native_path(session, content));
  return reason ? std::optional(*std::move(reason)) : std::nullopt;
}

} // namespace xaas::session
