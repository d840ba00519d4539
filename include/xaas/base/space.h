// Disk space, checked before long operations.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xaas {

// An estimate of what some part of the work will write. It errs on the low side, so that no feasible work is
// refused; work that runs out of space anyway reports that then.
struct SpaceNeed {
  std::string what; // "temporary files", "the image"
  fs::path where;   // a file or directory, which need not exist yet
  uint64_t bytes = 0;
};

struct FileSystem {
  uint64_t id = 0;   // equal for all paths on one file system
  uint64_t free = 0; // bytes that this user may still write
};

// The file system of a path, or of its nearest existing parent. statvfs(3) does not account for user or group
// quotas. A file system that does not report its size counts as unlimited.
Result<FileSystem> file_system_of(const fs::path& path);

// Storage error if a file system has less free space than its needs together. The message says what is
// needed, what is free, and where. `look` is a seam. Paths that cannot be examined are ignored.
Result<void> check_space(const std::vector<SpaceNeed>& needs,
                         const std::function<Result<FileSystem>(const fs::path&)>& look = file_system_of);

// "1.5 MiB": powers of 1024.
std::string bytes_for_people(uint64_t bytes);

} // namespace xaas
