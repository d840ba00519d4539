// A container runtime may hang: on a dead file system, a daemon, a lock in the home directory. So a helper
// process runs each program and waits for it, and this process waits for the helpers only until the deadline.
#include "program_version.h"

#include <xaas/base/process.h>

#include <algorithm>

namespace xaas::system {

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t most_output = uint64_t(1) << 20;

// In the helper: what the command prints, if it succeeds.
std::string output_of(const std::vector<std::string>& arguments) {
  Command command;
  command.arguments = arguments;
  command.most_output = most_output;
  const Result<ProcessResult> result = run_process(command);
  return result && result->exit_code == 0 ? result->output : std::string();
}

// The first word with a dot between digits: "4.3.1" in "podman version 4.3.1", "0.8.0" in "bubblewrap 0.8.0".
std::string version_in(const std::string& text) {
  const auto digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  for (size_t start = 0; start < text.size(); ++start) {
    if (!digit(start) || (start && digit(start - 1)))
      continue;
    size_t end = start;
    while (digit(end))
      ++end;
    if (end < text.size() && text[end] == '.' && digit(end + 1))
      return text.substr(start, text.find_first_of(" \t\r\n,;()\"'", start) - start);
    start = end;
  }
  return {};
}

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<long long>(left, 0));
}

} // namespace

ProgramVersions::ProgramVersions(std::chrono::milliseconds limit) : deadline_(Clock::now() + limit) {}

size_t ProgramVersions::ask(const std::vector<std::string>& command) {
  helpers_.push_back(std::make_unique<HelperProcess>([command] { return output_of(command); }));
  return helpers_.size() - 1;
}

std::vector<std::string> ProgramVersions::finish() {
  std::vector<std::string> versions;
  for (const std::unique_ptr<HelperProcess>& helper : helpers_) {
    // After the deadline, still take what has arrived.
    do
      helper->wait(milliseconds_until(deadline_));
    while (!helper->ended() && Clock::now() < deadline_);
    versions.push_back(helper->succeeded() ? version_in(helper->text()) : "");
  }
  helpers_.clear();
  return versions;
}

} // namespace xaas::system
