// Problem: a build that forks without end, uses up the memory or fills the disk takes the machine from
// everybody. The kernel's means are not available to users: cgroups must be delegated; RLIMIT_NPROC counts a
// user's processes on the whole machine and does not limit root; RLIMIT_AS limits the address space of one
// process, not memory; disk quotas are the administrator's.
//
// Approach: watch and kill. /proc is read several times a second, and less often where reading takes long: it
// may use a tenth of the time. Expensive questions are asked only when cheap ones say that they matter.
// Shared pages are told apart (smaps_rollup) when the processes' resident pages together exceed the limit.
// The disk is walked when its free space has shrunk by the allowance that is left, and now and then. A thread
// does that, because the walk can take minutes on a network file system, and the processes must be watched
// meanwhile.
//
// The processes that hold the enclosure together are forks of this one, or the runtime's. Their depth
// excludes them. Sources: proc(5), lstat(2) (st_blocks are 512 bytes).
#include "guard.h"

#include <xaas/base/file.h>
#include <xaas/base/space.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::enclose {

namespace {

struct Seen {
  pid_t parent = 0;
  char state = 0;
  uint64_t ticks = 0, tasks = 0, started = 0, pages = 0;
};

// A small file of /proc; empty if the process is gone.
std::string proc_file(pid_t process, const char* name) {
  const std::string path = "/proc/" + std::to_string(process) + "/" + name;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  char text[4096];
  const ssize_t count = read(file, text, sizeof(text));
  close(file);
  return {text, count > 0 ? static_cast<size_t>(count) : 0};
}

// proc(5), /proc/pid/stat. The name, in parentheses, can contain any character.
bool read_stat(pid_t process, Seen& seen) {
  const std::string text = proc_file(process, "stat");
  const size_t name = text.rfind(')');
  if (name == std::string::npos)
    return false;
  std::istringstream fields(text.substr(name + 1));
  uint64_t number[25] = {}; // as the manual page numbers them
  std::string field;
  fields >> seen.state;
  for (int i = 4; i <= 24 && fields >> field; ++i)
    number[i] = std::strtoull(field.c_str(), nullptr, 10);
  seen.parent = static_cast<pid_t>(number[4]);
  seen.ticks = number[14] + number[15];
  seen.tasks = number[20];
  seen.started = number[22];
  seen.pages = number[24];
  return static_cast<bool>(fields);
}

template <typename Visit> void each_process(const Visit& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr)
    if (const pid_t process = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)); process > 0)
      visit(process);
}

// The level of a process below the root; 0: it is not below.
unsigned depth_of(pid_t process, pid_t root, const std::map<pid_t, Seen>& all,
                  std::map<pid_t, unsigned>& known) {
  if (const auto found = known.find(process); found != known.end())
    return found->second;
  known[process] = 0; // process IDs are reused, so entries read at different times can form a cycle
  const auto seen = all.find(process);
  if (seen == all.end())
    return 0;
  const pid_t parent = seen->second.parent;
  const unsigned above = parent == root ? 0 : depth_of(parent, root, all, known);
  return known[process] = parent == root || above > 0 ? above + 1 : 0;
}

// Bytes; each page is divided by the number of processes that share it. If that may not be read: all bytes
// except those of mapped files.
uint64_t proportional_bytes(pid_t process) {
  const std::string text = proc_file(process, "smaps_rollup");
  if (const size_t at = text.find("\nPss:"); at != std::string::npos)
    return std::strtoull(text.c_str() + at + 5, nullptr, 10) << 10;
  std::istringstream fields(proc_file(process, "statm"));
  uint64_t size = 0, resident = 0, shared = 0;
  fields >> size >> resident >> shared;
  return (resident - std::min(resident, shared)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

using Links = std::set<std::pair<dev_t, ino_t>>; // files with several names that were counted already

uint64_t file_bytes(const fs::path& path, Links& links) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0)
    return 0;
  if (!S_ISDIR(status.st_mode) && status.st_nlink > 1 && !links.emplace(status.st_dev, status.st_ino).second)
    return 0;
  return static_cast<uint64_t>(status.st_blocks) * 512;
}

// The directory changes while it is walked; vanished entries are skipped.
uint64_t tree_bytes(const fs::path& root, Links& links, const std::atomic<bool>& stop) {
  uint64_t bytes = file_bytes(root, links);
  std::vector<fs::path> left;
  std::error_code code;
  if (fs::symlink_status(root, code).type() == fs::file_type::directory)
    left.push_back(root);
  while (!left.empty() && !stop) {
    const fs::path directory = std::move(left.back());
    left.pop_back();
    for (fs::directory_iterator it(directory, code), end; !code && it != end; it.increment(code)) {
      bytes += file_bytes(it->path(), links);
      if (it->symlink_status(code).type() == fs::file_type::directory)
        left.push_back(it->path());
    }
  }
  return bytes;
}

uint64_t all_bytes(const std::vector<fs::path>& roots, Links& links, const std::atomic<bool>& stop) {
  uint64_t bytes = 0;
  for (const fs::path& root : roots)
    bytes += tree_bytes(root, links, stop);
  return bytes;
}

// Open files without a name on the disks of the roots.
uint64_t nameless_bytes(const std::vector<fs::path>& roots, const std::map<pid_t, uint64_t>& processes,
                        Links& links, const std::atomic<bool>& stop) {
  std::set<dev_t> disks;
  struct stat status{};
  for (const fs::path& root : roots)
    if (stat(root.c_str(), &status) == 0)
      disks.insert(status.st_dev);
  uint64_t bytes = 0;
  std::error_code code;
  for (const auto& [process, started] : processes) {
    const fs::path open = "/proc/" + std::to_string(process) + "/fd";
    for (fs::directory_iterator it(open, code), end; !stop && !code && it != end; it.increment(code))
      if (stat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0 &&
          disks.count(status.st_dev) > 0 && links.emplace(status.st_dev, status.st_ino).second)
        bytes += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

// Without roots that lie below another one.
std::vector<fs::path> separate(std::vector<fs::path> paths) {
  std::error_code code;
  for (fs::path& path : paths)
    if (const fs::path real = fs::canonical(path, code); !code)
      path = real;
  std::sort(paths.begin(), paths.end());
  std::vector<fs::path> roots;
  for (const fs::path& path : paths)
    if (std::none_of(roots.begin(), roots.end(), [&](const fs::path& root) {
          return root == path || !relative_under(path, root).empty();
        }))
      roots.push_back(path);
  return roots;
}

// "90" and "0.5": seconds in the form in which users give them.
std::string number_text(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

constexpr auto disk_pause = std::chrono::seconds(2);

} // namespace

Usage usage_below(pid_t root, unsigned depth) {
  std::map<pid_t, Seen> all;
  each_process([&](pid_t process) {
    if (Seen seen; read_stat(process, seen))
      all[process] = seen;
  });
  Usage usage;
  std::map<pid_t, unsigned> known;
  for (const auto& [process, seen] : all) {
    if (const unsigned at = depth_of(process, root, all, known); at == 0 || at < depth)
      continue;
    usage.tasks += std::max<uint64_t>(1, seen.tasks);
    usage.resident += seen.pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    usage.ticks += seen.ticks;
    usage.working = usage.working || seen.state == 'D';
    usage.processes[process] = seen.started;
  }
  return usage;
}

uint64_t own_tasks() {
  uint64_t tasks = 0;
  const uid_t user = getuid();
  each_process([&](pid_t process) {
    struct stat status{};
    Seen seen;
    if (stat(("/proc/" + std::to_string(process)).c_str(), &status) == 0 && status.st_uid == user &&
        read_stat(process, seen))
      tasks += seen.tasks;
  });
  return tasks;
}

Guard::Guard(const BuildLimits& limits, const std::vector<fs::path>& writable, unsigned depth)
    : limits_(limits), writable_(separate(writable)), depth_(depth) {
  if (limits_.memory == 0)
    limits_.memory = memory_limit() / 16 * 15; // stop before the kernel kills a process of its choice
  if (limits_.disk > 0) {
    disk_before_ = disk_bytes({});
    free_then_ = free_bytes();
  }
}

Guard::~Guard() {
  stop_ = true; // the future's destructor waits for it
}

void Guard::begin(pid_t root) {
  root_ = root;
  start_ = last_activity_ = Clock::now();
  latest_walk_ = start_ + disk_pause;
}

Result<void> Guard::check() {
  const Clock::time_point now = Clock::now();
  if (limits_.seconds > 0 && now - start_ > std::chrono::duration<double>(limits_.seconds))
    return make_error(ErrorKind::failed, "took more than " + number_text(limits_.seconds) + " seconds",
                      "raise the limit on time");
  if (now >= next_usage_) {
    const Usage usage = usage_below(root_, depth_);
    next_usage_ = Clock::now() + 9 * (Clock::now() - now);
    if (limits_.processes > 0 && usage.tasks > limits_.processes)
      return make_error(ErrorKind::failed,
                        "had more than " + std::to_string(limits_.processes) +
                            " processes and threads at one time",
                        "raise the limit on processes, or build with fewer jobs");
    XAAS_CHECK(check_memory(usage));
    XAAS_CHECK(check_idle(usage));
  }
  return check_disk();
}

Result<void> Guard::check_memory(const Usage& usage) {
  const Clock::time_point now = Clock::now();
  if (usage.resident <= limits_.memory || now < next_memory_)
    return {};
  uint64_t bytes = 0;
  for (const auto& [process, started] : usage.processes)
    bytes += proportional_bytes(process);
  next_memory_ = Clock::now() + 9 * (Clock::now() - now);
  if (bytes <= limits_.memory)
    return {};
  return make_error(ErrorKind::failed, "used more than " + bytes_for_people(limits_.memory) + " of memory",
                    "raise the limit on memory, or build with fewer jobs");
}

Result<void> Guard::check_idle(const Usage& usage) {
  const Clock::time_point now = Clock::now();
  if (usage.working || usage.ticks != last_.ticks || usage.processes != last_.processes)
    last_activity_ = now;
  last_ = usage;
  if (limits_.idle_seconds <= 0 ||
      now - last_activity_ <= std::chrono::duration<double>(limits_.idle_seconds))
    return {};
  return make_error(ErrorKind::failed,
                    "did nothing for " + number_text(limits_.idle_seconds) +
                        " seconds; it may be waiting for a network or for input",
                    "raise the limit on idle time");
}

uint64_t Guard::free_bytes() const {
  std::map<uint64_t, uint64_t> free; // by file system
  for (const fs::path& path : writable_)
    if (const Result<FileSystem> system = file_system_of(path))
      free[system->id] = system->free;
  uint64_t bytes = 0;
  for (const auto& [id, each] : free)
    bytes += std::min(each, UINT64_MAX - bytes);
  return bytes;
}

uint64_t Guard::disk_bytes(const std::map<pid_t, uint64_t>& processes) const {
  Links links;
  return all_bytes(writable_, links, stop_) + nameless_bytes(writable_, processes, links, stop_);
}

Result<void> Guard::check_disk() {
  if (limits_.disk == 0)
    return {};
  const Clock::time_point now = Clock::now();
  if (walk_.valid()) {
    if (walk_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return {};
    const Clock::duration pause = 9 * (now - walk_start_);
    soonest_walk_ = now + pause;
    latest_walk_ = now + std::max<Clock::duration>(disk_pause, pause);
    return judge_disk(walk_.get());
  }
  // What others write on that disk only starts the walk sooner than necessary.
  const uint64_t free = free_bytes();
  const uint64_t left = limits_.disk - std::min(limits_.disk, grown_);
  const bool may_have_passed = free_then_ - std::min(free_then_, free) > left;
  if (now < latest_walk_ && (!may_have_passed || now < soonest_walk_))
    return {};
  walk_start_ = now;
  free_then_ = free;
  walk_ =
      std::async(std::launch::async, [this, processes = last_.processes] { return disk_bytes(processes); });
  return {};
}

Result<void> Guard::judge_disk(uint64_t bytes) {
  grown_ = bytes - std::min(bytes, disk_before_);
  if (grown_ <= limits_.disk)
    return {};
  return make_error(ErrorKind::failed, "wrote more than " + bytes_for_people(limits_.disk) + " to disk",
                    "raise the limit on disk space");
}

Result<void> Guard::finish() {
  return limits_.disk == 0 ? Result<void>() : judge_disk(disk_bytes({}));
}

} // namespace xaas::enclose
