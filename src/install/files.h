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
  std::string link;       // destination of a symlink
  bool of_base = false;   // it comes from the application's base image
  bool is_loaded = false; // such a library, which the application loads
  bool is_executable() const {
    return type == fs::file_type::regular && (mode & fs::perms::owner_exec) != fs::perms::none;
  }
};

// Gives the owner all that changing and removing the tree needs, and takes from others what the user's mask
// takes, and the right to write: an image decides nothing about who may change an installation. Failed error
// for a name that is not UTF-8, which no manifest can hold.
Result<void> own_files(const fs::path& path);

// All files, directories and symlinks below, sorted by path. Links are not followed.
Result<std::vector<File>> files_below(const fs::path& directory);

} // namespace xaas::install
