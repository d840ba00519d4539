// The packages in an image, as run-time files or linked into programs. A deployed image lists them in the
// annotation `dev.xaas.packages`.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/image/bundle.h>
#include <xaas/oci/image.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::image {

namespace annotation {
inline constexpr const char* packages = "dev.xaas.packages";
} // namespace annotation

// One package, or a single file without a known package.
struct PackageUse {
  Package package;                // without `files`; a single file only has a name, that of the file
  std::optional<Digest> file;     // content of a single file
  std::vector<std::string> files; // run-time files, absolute; sorted
  bool files_known = true;        // false: there are some, but too many to list
  std::vector<std::string>
      linked;          // installed files that were linked with its archives and objects, absolute; sorted
  bool shared = false; // its run-time files include a shared library
};

// The packages of a configuration: of its run-time closure, and of the archives and objects that its links
// read. A link may have taken nothing from an archive. Sorted by package. Integrity error as for usage_of.
Result<std::vector<PackageUse>> package_uses(const Bundle& bundle, const BundleConfiguration& configuration);
// The same for all configurations together.
Result<std::vector<PackageUse>> package_uses(const Bundle& bundle);

// Compact JSON, an array. If it would be longer than `package_limit` bytes, names of files are left out
// (`files` is null), because a manifest may have at most 4 MiB.
std::string to_annotation(const std::vector<PackageUse>& uses);
inline constexpr size_t package_limit = 512 * 1024;

// Of a deployed image; nothing without the annotation. Integrity error if malformed.
Result<std::optional<std::vector<PackageUse>>> package_uses(const oci::Manifest& manifest);

Json to_json(const Package& package);
Result<Package> parse_package(const JsonReader& reader);

} // namespace xaas::image
