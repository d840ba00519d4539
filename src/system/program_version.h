// Asks programs for their version without ever waiting long for them.
#pragma once

#include <xaas/base/file.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace xaas::system {

class ProgramVersions {
public:
  // What runs `limit` after this is ended, with its children.
  explicit ProgramVersions(std::chrono::milliseconds limit);
  ~ProgramVersions();

  // Starts a command and does not wait for it. Returns its place in what finish() returns.
  size_t ask(std::vector<std::string> command);

  // For each command the version number in what it printed: "4.3.1", or nothing if it printed none, failed,
  // or was not done in time.
  std::vector<std::string> finish();

private:
  struct Child;
  std::chrono::steady_clock::time_point deadline_;
  std::vector<std::unique_ptr<Child>> children_;
};

} // namespace xaas::system
