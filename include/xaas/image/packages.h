// What other people's packages are in an image: as run-time files, and linked into programs. A deployed image
// says it in the annotation `dev.xaas.packages`.
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

// One package, or a single file of which no package is known.
struct PackageUse {
  Package package;                 // without `files`; of a single file only the name, which is the file's
  std::optional<Digest> file;      // content of a single file
  std::vector<std::string> files;  // run-time files, absolute; sorted
  bool files_known = true;         // false: there are some, which were too many to be named
  std::vector<std::string> linked; // what was linked with its archives and objects, absolute; sorted
  bool shared = false;             // a shared library is among its run-time files
};

// What a configuration has of packages: its run-time closure, and the archives and objects that its links
// read. A link may have taken nothing of an archive. Sorted by package. Integrity error as usage_of.
Result<std::vector<PackageUse>> package_uses(const Bundle& bundle, const BundleConfiguration& configuration);
// Of all configurations together.
Result<std::vector<PackageUse>> package_uses(const Bundle& bundle);

// Compact JSON, an array. Where it would be longer than `package_limit` bytes, it has no names of files
// (`files` null), because a manifest may have 4 MiB.
std::string to_annotation(const std::vector<PackageUse>& uses);
inline constexpr size_t package_limit = 512 * 1024;

// Of a deployed image; nothing where it does not say. Malformed: integrity error.
Result<std::optional<std::vector<PackageUse>>> package_uses(const oci::Manifest& manifest);

Json to_json(const Package& package);
Result<Package> parse_package(const JsonReader& reader);

} // namespace xaas::image
