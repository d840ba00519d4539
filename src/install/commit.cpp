#include "commit.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace xaas::install {

Result<void> put_in_place(const fs::path& made, const fs::path& prefix) {
  rmdir(prefix.c_str()); // an empty directory
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, prefix.c_str(), RENAME_NOREPLACE) == 0)
    return {};
  // NFS and others know no flags. A directory that has files is not replaced in either way.
  if ((errno == EINVAL || errno == ENOSYS) && std::rename(made.c_str(), prefix.c_str()) == 0)
    return {};
  if (errno == EEXIST || errno == ENOTEMPTY)
    return make_error(ErrorKind::usage, prefix.string() + ": exists",
                      "`--replace` replaces an installation; another version goes to another prefix");
  return errno_error(errno, "writing " + prefix.string());
}

Result<void> exchange(const fs::path& made, const fs::path& prefix) {
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, prefix.c_str(), RENAME_EXCHANGE) == 0)
    return {};
  if (errno != EINVAL && errno != ENOSYS)
    return errno_error(errno, "writing " + prefix.string());
  const fs::path old = prefix.string() + ".xaas-old";
  std::error_code code;
  if (fs::exists(fs::symlink_status(old, code)))
    return make_error(ErrorKind::usage,
                      old.string() + ": exists; it was " + prefix.string() +
                          " before a replacement that was interrupted",
                      "remove it, or move it back");
  if (std::rename(prefix.c_str(), old.c_str()) != 0)
    return errno_error(errno, "moving " + prefix.string());
  if (std::rename(made.c_str(), prefix.c_str()) == 0)
    return std::rename(old.c_str(), made.c_str()) == 0 ? Result<void>()
                                                       : errno_error(errno, "moving " + old.string());
  const int number = errno;
  if (std::rename(old.c_str(), prefix.c_str()) != 0)
    return errno_error(errno, prefix.string() + " is now " + old.string() + "; moving it back");
  return errno_error(number, "writing " + prefix.string());
}

} // namespace xaas::install
