#include "package_url.h"

#include <cctype>
#include <string_view>

namespace xaas::provenance {

namespace {

std::string escaped(const std::string& text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view(".-_~:").find(c) != std::string_view::npos)
      result += c;
    else
      result += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return result;
}

} // namespace

std::string package_url(const image::Package& package) {
  if (package.manager != "deb")
    return {};
  const std::string vendor = package.distribution.substr(0, package.distribution.rfind('-'));
  std::string url = "pkg:deb/" + escaped(vendor.empty() ? "debian" : vendor) + "/" + escaped(package.name) +
                    "@" + escaped(package.version) + "?arch=" + escaped(package.arch);
  if (!package.distribution.empty())
    url += "&distro=" + escaped(package.distribution);
  if (!package.source.empty())
    url += "&upstream=" + escaped(package.source);
  return url;
}

std::string package_url(const std::string& name, const Digest& digest) {
  return "pkg:oci/" + escaped(name) + "@sha256%3A" + digest.hex();
}

} // namespace xaas::provenance
