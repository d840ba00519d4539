// The SBOM of an image as SPDX 2.3 in JSON (ISO/IEC 5962:2021 is 2.2.1). It is a function of the image alone.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/image/application_image.h>
#include <xaas/image/deployed.h>
#include <xaas/image/packages.h>
#include <xaas/oci/image.h>
#include <xaas/oci/layer.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::provenance {

inline constexpr const char* spdx_media_type = "application/spdx+json";

// One regular file of an image.
struct FileHash {
  std::string path; // absolute
  std::string sha1; // hex; SPDX requires it for every file
  Digest sha256;
};
FileHash hash_file(const std::string& path, std::string_view content);

// The regular files of an image, from its layers one above the other.
class FileList {
public:
  // Adds the next entry of a layer, starting with the lowest layer. Reads the content of a file, piece by
  // piece.
  Result<void> take(const oci::LayerEntry& entry, oci::LayerContent& content);
  // The same for a regular file, with a path relative to the root.
  void take_file(const std::string& path, std::string_view content);
  void take_other(const std::string& path); // not a regular file
  std::vector<FileHash> finish() const;     // sorted by path

private:
  void remove(const std::string& path);
  std::map<std::string, FileHash> files_;
};

// The content of an SBOM.
struct Inventory {
  std::string kind; // ir, source, deployed
  Digest image;     // of the manifest
  std::map<std::string, std::string> annotations;
  std::vector<image::PackageUse> packages;
  std::vector<FileHash> files;                 // of a deployed image, without those of its base; in any order
  std::vector<image::UsedPlugin> plugins = {}; // of a deployed image
};

// For a deployed image, reads its layers; the last layer decides about special files and about files that
// occur more than once. For an IR image, the bundle has all the information, and files are not listed. An
// image of another kind, or one that does not list its packages, is a usage error.
Result<Inventory> take_inventory(const oci::Image& deployed);
Result<Inventory> take_inventory(const image::ApplicationImage& ir);

// The SBOM, with the date of the image and named by its digest. Equal inventories give equal bytes.
Json to_spdx(const Inventory& inventory);
// Its bytes for a file or an artifact.
std::string to_text(const Json& spdx);

} // namespace xaas::provenance
