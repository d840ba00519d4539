// Asks programs for their version without waiting long for any of them.
#pragma once

#include <xaas/base/helper_process.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace xaas::system {

class ProgramVersions {
public:
  // Programs that still run `limit` after this are killed, with their children.
  explicit ProgramVersions(std::chrono::milliseconds limit);

  // Starts a command without waiting for it. Returns its index in the result of finish(). As with all
  // helpers, this process must have one thread.
  size_t ask(const std::vector<std::string>& command);

  // For each command the version number in its output, such as "4.3.1"; empty if it printed none, failed, or
  // did not finish in time.
  std::vector<std::string> finish();

private:
  std::chrono::steady_clock::time_point deadline_;
  std::vector<std::unique_ptr<HelperProcess>> helpers_;
};

} // namespace xaas::system
