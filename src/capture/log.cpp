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
  return append(compiles_path(session), (compile.reused ? "reused " : "compiled ") +
                                            compile.unit.to_string() + " " +
                                            (compile.text ? compile.text->to_string() : "-") + "\n");
}

Result<void> log_difference(const Session& session, const std::string& difference) {
  return append(differences_path(session), difference + "\n");
}

Result<CompileLog> read_compile_log(const Session& session) {
  CompileLog log;
  std::error_code code;
  if (fs::exists(differences_path(session), code)) {
    XAAS_TRY(const std::string differences, read_file(differences_path(session)));
    std::istringstream lines(differences);
    for (std::string line; std::getline(lines, line);)
      log.differences.push_back(line);
  }
  if (!fs::exists(compiles_path(session), code))
    return log;
  XAAS_TRY(const std::string compiles, read_file(compiles_path(session)));
  std::istringstream words(compiles);
  for (std::string outcome, unit, text; words >> outcome >> unit >> text;) {
    ++(outcome == "reused" ? log.reused : log.compiled);
    if (text == "-")
      continue;
    XAAS_TRY(const Digest id, Digest::parse(unit));
    XAAS_TRY(log.texts[id], Digest::parse(text));
  }
  return log;
}

} // namespace xaas::capture
