#include "log.h"

#include <xaas/base/text.h>

#include <cerrno>
#include <fcntl.h>
#include <sstream>
#include <unistd.h>

namespace xaas::capture {

namespace {

fs::path compiles_path(const Session& session) {
  return session.directory / "compiles";
}

fs::path differences_path(const Session& session) {
  return session.directory / "differences";
}

Result<void> append(const fs::path& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return errno_error(errno, "writing " + path.string());
  const ssize_t written = write(file, line.data(), line.size());
  const int error = written < 0 ? errno : ENOSPC;
  close(file);
  if (written != static_cast<ssize_t>(line.size()))
    return errno_error(error, "writing " + path.string());
  return {};
}

} // namespace

Result<void> log_compile(const Session& session, const LoggedCompile& compile) {
  if (compile.names_places)
    XAAS_CHECK(write_file(session.directory / "leaks" / compile.unit.hex(), compile.source, 0644, false));
  if (compile.vector_returns)
    XAAS_CHECK(write_file(session.directory / "vectors" / compile.unit.hex(),
                          std::to_string(compile.vector_returns) + " " + compile.source, 0644, false));
  return append(compiles_path(session), (compile.reused ? "reused " : "compiled ") +
                                            compile.unit.to_string() + " " +
                                            (compile.text ? compile.text->to_string() : "-") + "\n");
}

Result<void> log_difference(const Session& session, const std::string& difference) {
  return append(differences_path(session), difference + "\n");
}

// The lines of a file; none if it is not there.
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

} // namespace xaas::capture
