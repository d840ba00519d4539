// Keeping a build step within its limits; see guard.cpp.
#pragma once

#include <xaas/enclose/enclose.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <sys/types.h>

namespace xaas::enclose {

// The processes below one process.
struct Usage {
  uint64_t tasks = 0;                  // processes and their threads
  uint64_t resident = 0;               // bytes; a shared page counts for each process
  uint64_t ticks = 0;                  // CPU time of the processes that exist
  bool working = false;                // one of them waits for a disk
  std::map<pid_t, uint64_t> processes; // with the time that each was started
};
// The processes at least `depth` levels below `root`, whose children are at level 1. Reads all of /proc.
Usage usage_below(pid_t root, unsigned depth);

// The number of tasks of this user.
uint64_t own_tasks();

class Guard {
public:
  // `writable`: files and directories of the host.
  Guard(const BuildLimits& limits, const std::vector<fs::path>& writable, unsigned depth);
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard();
  // Call this before the command's first check. `root` is a process above all of the command's.
  void begin(pid_t root);
  // A `failed` error that names the limit that was exceeded. Call it often.
  Result<void> check();
  // Call this after the command. Only the limit on disk space can still be exceeded.
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
