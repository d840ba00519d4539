#include "certificates.h"

#include <xaas/base/file.h>

#include <algorithm>
#include <vector>

namespace xaas::registry {

namespace {

constexpr uint64_t certificate_limit = uint64_t(16) << 20;

Result<http::Tls> read_directory(const fs::path& directory) {
  std::vector<fs::path> files;
  std::error_code code;
  for (fs::directory_iterator it(directory, code), end; !code && it != end; it.increment(code))
    files.push_back(it->path());
  if (code)
    return errno_error(code.value(), "reading " + directory.string());
  std::sort(files.begin(), files.end());
  http::Tls tls;
  for (const fs::path& file : files) {
    const std::string extension = file.extension();
    if (extension == ".crt") {
      XAAS_TRY(const std::string text, read_file(file, certificate_limit));
      tls.authorities += text + "\n";
    } else if (extension == ".cert" || extension == ".key") {
      fs::path other = file;
      other.replace_extension(extension == ".cert" ? ".key" : ".cert");
      if (!fs::exists(other, code))
        return make_error(ErrorKind::usage, file.string() + ": " + other.filename().string() + " is missing");
      if (extension == ".cert" && tls.certificate.empty()) {
        tls.certificate = file;
        tls.key = other;
      }
    }
  }
  return tls;
}

} // namespace

Result<http::Tls> find_certificates(const std::string& directory, const std::string& host,
                                    const std::function<std::string(const char*)>& environment) {
  if (!directory.empty())
    return read_directory(directory);
  std::string config = environment("XDG_CONFIG_HOME");
  if (const std::string home = environment("HOME"); config.empty() && !home.empty())
    config = home + "/.config";
  std::vector<fs::path> roots = {"/etc/containers/certs.d", "/etc/docker/certs.d"};
  if (!config.empty())
    roots.insert(roots.begin(), fs::path(config) / "containers/certs.d");
  std::error_code code;
  for (const fs::path& root : roots)
    if (fs::is_directory(root / host, code))
      return read_directory(root / host);
  return http::Tls();
}

} // namespace xaas::registry
