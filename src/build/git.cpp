#include "git.h"

#include <xaas/base/text.h>

#include <chrono>
#include <cstdlib>
#include <set>

namespace xaas::build {

namespace {

constexpr std::chrono::seconds time_limit{120};

} // namespace

Git::Git(fs::path directory, const fs::path& repository) : directory_(std::move(directory)) {
  if (!repository.empty())
    options_ = {"--git-dir=" + repository.string(), "--work-tree=" + directory_.string()};
}

Result<ProcessResult> Git::run(const std::vector<std::string>& arguments) const {
  Command command;
  command.arguments = {"git",
                       "--no-pager",
                       "--no-optional-locks",
                       "--literal-pathspecs",
                       "-c",
                       "safe.directory=*", // whoever owns it, because nothing of it is run
                       "-c",
                       "core.fsmonitor=false",
                       "-c",
                       "core.hooksPath=/dev/null",
                       "-c",
                       "protocol.allow=never"};
  command.arguments.insert(command.arguments.end(), options_.begin(), options_.end());
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
      return make_error(ErrorKind::failed, "git does not finish in " + directory_.string());
    return {};
  };
  return xaas::run_process(command);
}

Result<void> Git::disarm() {
  XAAS_TRY(const ProcessResult result,
           run({"config", "--includes", "--name-only", "-z", "--get-regexp", "^filter\\."}));
  std::set<std::string> keys;
  if (result.exit_code == 0)
    for (const std::string& key : split(result.output, '\0'))
      if (!key.empty())
        keys.insert(key);
  for (const std::string& key : keys) {
    if (key.find('=') != std::string::npos) // it cannot be set on a command line
      return make_error(ErrorKind::failed,
                        "git's configuration in " + directory_.string() +
                            " has a filter with an unusual name",
                        give_revision);
    options_.insert(options_.end(), {"-c", key + (key.ends_with(".required") ? "=false" : "=")});
  }
  return {};
}

// Whether there is a repository to ask. Runs nothing.
bool lies_in_repository(const fs::path& source) {
  std::error_code code;
  for (fs::path directory = fs::weakly_canonical(source, code);; directory = directory.parent_path()) {
    if (fs::exists(directory / ".git", code))
      return true;
    if (directory == directory.parent_path())
      return false;
  }
}

} // namespace xaas::build
