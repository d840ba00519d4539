// Space on disk, asked for before long work starts.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xaas {

// What some part of the work will write, about. Estimates are low rather than high: work that could have
// been done is not refused, and what runs out of space all the same says so then.
struct SpaceNeed {
  std::string what; // "temporary files", "the image"
  fs::path where;   // a file or directory that is there or will be
  uint64_t bytes = 0;
};

struct FileSystem {
  uint64_t id = 0;   // of two paths on one file system the same
  uint64_t free = 0; // bytes that this user may still write
};

// Of a path, or of the nearest directory above it that is there. Quotas of a user or group are not in what
// the file system says (statvfs(3)); one that says nothing of its size has room without end.
Result<FileSystem> file_system_of(const fs::path& path);

// Storage error if some file system has less than all that is needed there together: it says what is needed,
// what is free, and where. `look` is a seam. A path that cannot be looked at is no error here.
Result<void> check_space(const std::vector<SpaceNeed>& needs,
                         const std::function<Result<FileSystem>(const fs::path&)>& look = file_system_of);

// "1.5 MiB": powers of 1024.
std::string bytes_for_people(uint64_t bytes);

} // namespace xaas
