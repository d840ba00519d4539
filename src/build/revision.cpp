// The sources come from strangers, and so may the repository in which they lie: its configuration can name
// programs that git runs (a file-system monitor, hooks, filters of file contents), and reading what is
// missing in a partial clone opens connections. So git sees no environment and no configuration of the user's
// or the machine's, and of the repository's every key that names a program is set to nothing. Rejected:
// reading `.git` without git. Whether a file was changed needs the index, packed objects and the conversion
// of line ends.
#include "revision.h"

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <vector>

namespace xaas::build {

namespace {

constexpr const char* way_out = "give `revision` in the application spec";
constexpr unsigned max_depth = 8; // of submodules
constexpr std::chrono::seconds time_limit{120};

// git in one directory.
class Git {
public:
  explicit Git(fs::path directory) : directory_(std::move(directory)) {}

  Result<ProcessResult> run(const std::vector<std::string>& arguments) const {
    Command command;
    command.arguments = {"git",
                         "--no-pager",
                         "--no-optional-locks",
                         "--literal-pathspecs",
                         "-c",
                         "safe.directory=*", // whoever owns it: nothing of it is run
                         "-c",
                         "core.fsmonitor=false",
                         "-c",
                         "core.hooksPath=/dev/null",
                         "-c",
                         "protocol.allow=never"};
    command.arguments.insert(command.arguments.end(), disarmed_.begin(), disarmed_.end());
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.directory = directory_;
    command.inherit_environment = false;
    const char* path = std::getenv("PATH");
    command.environment = {{"PATH", path ? path : "/usr/bin:/bin"},
                           {"LC_ALL", "C"},
                           {"HOME", "/nonexistent"},
                           {"GIT_CONFIG_NOSYSTEM", "1"},
                           {"GIT_CONFIG_GLOBAL", "/dev/null"},
                           {"GIT_ATTR_NOSYSTEM", "1"},
                           {"GIT_NO_LAZY_FETCH", "1"},
                           {"GIT_TERMINAL_PROMPT", "0"}};
    const auto end = std::chrono::steady_clock::now() + time_limit;
    command.watch = [this, end]() -> Result<void> {
      if (std::chrono::steady_clock::now() > end)
        return make_error(ErrorKind::failed, "git does not end in " + directory_.string(), way_out);
      return {};
    };
    return xaas::run(command);
  }

  // Filters have names of the repository's choosing. Reading the configuration runs nothing.
  Result<void> disarm() {
    XAAS_TRY(const ProcessResult result,
             run({"config", "--includes", "--name-only", "-z", "--get-regexp", "^filter\\."}));
    std::set<std::string> keys;
    if (result.exit_code == 0)
      for (const std::string& key : split(result.output, '\0'))
        if (!key.empty())
          keys.insert(key);
    for (const std::string& key : keys) {
      if (key.find('=') != std::string::npos) // it cannot be set on a command line
        return make_error(
            ErrorKind::failed,
            "git's configuration in " + directory_.string() + " has a filter with an unusual name", way_out);
      disarmed_.insert(disarmed_.end(), {"-c", key + (key.ends_with(".required") ? "=false" : "=")});
    }
    return {};
  }

private:
  fs::path directory_;
  std::vector<std::string> disarmed_;
};

std::string only_line(const ProcessResult& result) {
  return result.exit_code == 0 ? trim(result.output) : std::string();
}

bool is_commit(const std::string& text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<bool> is_dirty(const Git& git, const fs::path& directory, unsigned depth);

// Submodules are looked at one by one: git would look with their configuration as it is.
Result<bool> has_dirty_submodule(const Git& git, const fs::path& directory, unsigned depth) {
  XAAS_TRY(const ProcessResult files, git.run({"ls-files", "--stage", "-z", "--", "."}));
  if (files.exit_code != 0)
    return make_error(ErrorKind::failed, "git ls-files in " + directory.string() + " failed", way_out)
        .with_output(files.output);
  for (const std::string& line : split(files.output, '\0')) {
    const size_t tab = line.find('\t');
    if (!line.starts_with("160000 ") || tab == std::string::npos)
      continue;
    const fs::path below = directory / line.substr(tab + 1);
    std::error_code code;
    if (!fs::exists(below / ".git", code) || fs::is_symlink(below, code)) // it is not checked out
      continue;
    Git inner(below);
    XAAS_CHECK(inner.disarm());
    XAAS_TRY(const bool dirty, is_dirty(inner, below, depth + 1));
    if (dirty)
      return true;
  }
  return false;
}

Result<bool> is_dirty(const Git& git, const fs::path& directory, unsigned depth) {
  if (depth > max_depth)
    return make_error(ErrorKind::failed, directory.string() + ": submodules are nested too deeply", way_out);
  XAAS_TRY(const ProcessResult status, git.run({"status", "--porcelain", "--untracked-files=no",
                                                "--no-renames", "--ignore-submodules=dirty", "--", "."}));
  if (status.exit_code != 0)
    return make_error(ErrorKind::failed, "git status in " + directory.string() + " failed", way_out)
        .with_output(status.output);
  if (!trim(status.output).empty())
    return true;
  return has_dirty_submodule(git, directory, depth);
}

// Whether there is a repository to ask about, without running anything.
bool lies_in_repository(const fs::path& source) {
  std::error_code code;
  for (fs::path directory = fs::weakly_canonical(source, code);; directory = directory.parent_path()) {
    if (fs::exists(directory / ".git", code))
      return true;
    if (directory == directory.parent_path())
      return false;
  }
}

} // namespace

Result<std::string> read_revision(const fs::path& source) {
  if (!lies_in_repository(source) || !find_program("git"))
    return std::string();
  Git git(source);
  XAAS_TRY(const ProcessResult head, git.run({"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}));
  const std::string commit = only_line(head);
  if (!is_commit(commit))
    return std::string();
  // Sources that were unpacked inside somebody's repository are none of it.
  XAAS_TRY(const ProcessResult known, git.run({"ls-files", "-z", "--", "."}));
  if (known.exit_code != 0 || known.output.empty())
    return std::string();
  XAAS_CHECK(git.disarm());
  XAAS_TRY(const bool dirty, is_dirty(git, source, 0));
  return commit + (dirty ? "-dirty" : "");
}

} // namespace xaas::build
