#include "files.h"

#include <xaas/base/directory.h>
#include <xaas/base/process.h>
#include <xaas/base/umask.h>
#include <xaas/base/utf8.h>

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>

namespace xaas::install {

Result<void> own_files(const fs::path& path) {
  XAAS_CHECK(check_interrupt());
  const std::string name = path.filename();
  if (!is_utf8(name))
    return make_error(ErrorKind::failed, escape_bytes(path.string()) + ": the name is not UTF-8",
                      "rename the file in the application; `xaas run` runs the image as it is");
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0)
    return errno_error(errno, "reading " + path.string());
  if (S_ISLNK(status.st_mode))
    return {};
  const bool is_directory = S_ISDIR(status.st_mode);
  const mode_t mode = (status.st_mode & 0777 & ~mode_t(022)) | (is_directory ? 0700 : 0600);
  if (chmod(path.c_str(), with_umask(mode)) != 0)
    return errno_error(errno, "writing " + path.string());
  if (!is_directory)
    return {};
  XAAS_TRY(const std::vector<fs::path> entries, list_directory(path));
  for (const fs::path& entry : entries)
    XAAS_CHECK(own_files(entry));
  return {};
}

Result<std::vector<File>> files_below(const fs::path& directory) {
  std::vector<File> files;
  std::error_code code;
  fs::recursive_directory_iterator it(directory, code);
  for (const fs::recursive_directory_iterator end; !code && it != end; it.increment(code)) {
    XAAS_CHECK(check_interrupt());
    File file{.path = it->path().lexically_relative(directory)};
    const fs::file_status status = it->symlink_status(code);
    if (code)
      break;
    file.type = status.type();
    file.mode = status.permissions();
    if (file.type == fs::file_type::symlink)
      file.link = fs::read_symlink(it->path(), code);
    else if (file.type == fs::file_type::regular)
      file.size = it->file_size(code);
    if (code)
      break;
    files.push_back(std::move(file));
  }
  if (code)
    return errno_error(code.value(), "reading " + directory.string());
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.path < b.path; });
  return files;
}

} // namespace xaas::install
