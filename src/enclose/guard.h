// Keeping what runs inside within its limits: see guard.cpp.
#pragma once

#include <xaas/enclose/enclose.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <sys/types.h>

namespace xaas::enclose {

// What runs below one process.
struct Usage {
  uint64_t tasks = 0;                  // processes and their threads
  uint64_t resident = 0;               // bytes; a page that several have is counted for each
  uint64_t ticks = 0;                  // of CPU time, of those that are there
  bool working = false;                // one waits for a disk
  std::map<pid_t, uint64_t> processes; // and when each was started
};
// Those that are at least `depth` below `root`: its children are at 1. From /proc, which is read whole.
Usage usage_below(pid_t root, unsigned depth);

// The tasks of this user.
uint64_t own_tasks();

class Guard {
public:
  // `writable`: files and directories of the host.
  Guard(const BuildLimits& limits, const std::vector<fs::path>& writable, unsigned depth);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();
  // Before the command's first check; `root` is a process above all of it.
  void begin(pid_t root);
  // An error of kind failed that names the limit which was passed. Ask often.
  Result<void> check();
  // After the command: only the disk can tell any more.
  Result<void> finish();

private:
  using Clock = std::chrono::steady_clock;
  Result<void> check_memory(const Usage& usage);
  Result<void> check_idle(const Usage& usage);
  Result<void> check_disk();
  Result<void> judge_disk(uint64_t bytes);
  uint64_t free_bytes() const;
  uint64_t disk_bytes(const std::map<pid_t, uint64_t>& processes) const;

  BuildLimits limits_;
  std::vector<fs::path> writable_;
  unsigned depth_;
  pid_t root_ = -1;
  Clock::time_point start_, next_usage_, next_memory_, last_activity_;
  Usage last_;
  uint64_t disk_before_ = 0, grown_ = 0, free_then_ = 0;
  Clock::time_point walk_start_, soonest_walk_, latest_walk_;
  std::atomic<bool> stop_ = false; // asks the walk to end
  std::future<uint64_t> walk_;
};

} // namespace xaas::enclose
