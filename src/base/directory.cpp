#include <xaas/base/directory.h>

#include <algorithm>

namespace xaas {

Result<std::vector<fs::path>> list_directory(const fs::path& directory, IfMissing if_missing) {
  std::vector<fs::path> entries;
  std::error_code code;
  for (fs::directory_iterator it(directory, code), end; !code && it != end; it.increment(code))
    entries.push_back(it->path());
  if (code == std::errc::no_such_file_or_directory && if_missing == IfMissing::empty)
    return std::vector<fs::path>();
  if (code)
    return errno_error(code.value(), "reading " + directory.string());
  std::sort(entries.begin(), entries.end());
  return entries;
}

} // namespace xaas
