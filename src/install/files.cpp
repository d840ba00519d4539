#include "files.h"

#include <xaas/base/process.h>

#include <algorithm>

namespace xaas::install {

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
