#include "commit.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>

namespace xaas::install {

Result<void> put_in_place(const fs::path& made, const fs::path& prefix) {
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, prefix.c_str(), RENAME_NOREPLACE) == 0)
    return {};
  // NFS and others know no flags. An empty directory may be replaced then.
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
  if (std::rename(prefix.c_str(), old.c_str()) != 0)
    return errno_error(errno, "moving " + prefix.string());
  if (std::rename(made.c_str(), prefix.c_str()) == 0) {
    remove_tree(old);
    return {};
  }
  const int code = errno;
  if (std::rename(old.c_str(), prefix.c_str()) != 0)
    return errno_error(errno, prefix.string() + " is now " + old.string() + "; moving it back");
  return errno_error(code, "writing " + prefix.string());
}

} // namespace xaas::install
