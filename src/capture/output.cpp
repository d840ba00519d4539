#include "output.h"

#include <cerrno>
#include <fstream>

namespace xaas::capture {

Result<void> write_output(const fs::path& path, std::string_view content, unsigned mode) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (!fs::exists(status) || fs::is_regular_file(status))
    return write_file(path, content, mode, false);
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file)
    return errno_error(errno, "writing " + path.string());
  return {};
}

} // namespace xaas::capture
