// How a process that examines the machine tells its watcher which file it is accessing. A file system without
// its server blocks any process that touches it, and no time limit inside that process can help.
#pragma once

#include <xaas/base/file.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace xaas::system {

// In memory shared by the two processes, one of which writes it while the other reads it.
class Watch {
public:
  // Marks an access to the file system for the life of the object.
  class Access {
  public:
    Access(Watch* watch, const fs::path& path);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

  private:
    Watch* watch_;
    bool entered_;
  };

  // Changes whenever an access begins or ends.
  uint64_t steps() const { return steps_.load(std::memory_order_acquire); }
  // The path of the current access, if any.
  std::string current() const;

private:
  std::atomic<uint64_t> steps_{0}; // odd: within an access
  char path_[4096] = {};
};

} // namespace xaas::system
