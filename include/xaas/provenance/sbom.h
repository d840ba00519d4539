// The SBOM of an image: what it consists of, as SPDX 2.3 (ISO/IEC 5962:2021 is 2.2.1) in JSON. A function of
// the image alone.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/image/application_image.h>
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
  std::string sha1; // hex; SPDX wants it of every file
  Digest sha256;
};
FileHash hash_file(const std::string& path, std::string_view content);

// The regular files of an image, as its layers give them, one over the other.
class FileList {
public:
  // The next entry of a layer, from the lowest layer on.
  void take(const oci::LayerEntry& entry);
  // The same for a regular file; the path is relative to the root.
  void take_file(const std::string& path, std::string_view content);
  std::vector<FileHash> finish() const; // sorted by path

private:
  void remove(const std::string& path);
  std::map<std::string, FileHash> files_;
};

// What an SBOM says.
struct Inventory {
  std::string kind; // ir, deployed
  Digest image;     // of the manifest
  std::map<std::string, std::string> annotations;
  std::vector<image::PackageUse> packages;
  std::vector<FileHash> files; // of a deployed image; in any order
};

// Of a deployed image reads its layers; their special files, and a file that is there twice, are left as the
// last layer has them. Of an IR image the bundle says everything, and files are not listed. An image of
// another kind, or one that does not say what packages it has: usage error.
Result<Inventory> take_inventory(const oci::Image& deployed);
Result<Inventory> take_inventory(const image::ApplicationImage& ir);

// The SBOM. Dated as the image, named by its digest; equal inventories give equal bytes.
Json to_spdx(const Inventory& inventory);
// Its bytes, where it is kept as a file or an artifact.
std::string to_text(const Json& spdx);

} // namespace xaas::provenance
