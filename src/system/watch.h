// What a process that looks at the machine tells the one that watches it: where it is. A file system whose
// server is gone stops whoever touches it, in a way that no time limit inside the process can end.
#pragma once

#include <xaas/base/file.h>

#include <atomic>
#include <cstdint>
#include <string>

namespace xaas::system {

// In memory that the two processes share; written by the one, read by the other.
class Watch {
public:
  // Enters an access to the file system and leaves it.
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

  // Changes with every access that begins or ends.
  uint64_t steps() const { return steps_.load(std::memory_order_acquire); }
  // The path of the access that goes on, if one does.
  std::string current() const;

private:
  std::atomic<uint64_t> steps_{0}; // odd: within an access
  char path_[4096] = {};
};

} // namespace xaas::system
