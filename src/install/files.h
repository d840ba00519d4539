// The files of a directory, as a manifest lists them.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <string>
#include <vector>

namespace xaas::install {

struct File {
  std::string path; // relative to the directory
  fs::file_type type = fs::file_type::regular;
  fs::perms mode = fs::perms::none;
  uint64_t size = 0;
  std::string link; // destination of a symlink
  bool is_executable() const {
    return type == fs::file_type::regular && (mode & fs::perms::owner_exec) != fs::perms::none;
  }
};

// All files, directories and symlinks below, sorted by path. Links are not followed.
Result<std::vector<File>> files_below(const fs::path& directory);

} // namespace xaas::install
