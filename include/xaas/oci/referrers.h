// Artifacts that refer to an image, such as its SBOM, and those of a layout. Source: OCI image specification
// 1.1, manifest.md ("Guidelines for Artifact Usage") and annotations of descriptors.
#pragma once

#include <xaas/oci/image.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::oci {

// An artifact of one blob.
struct Artifact {
  std::string type; // of the artifact and of its blob: a media type
  std::string content;
  Descriptor subject; // the image's manifest
  std::map<std::string, std::string> annotations;
};

struct RenderedArtifact {
  std::string manifest; // canonical JSON bytes
  Descriptor descriptor;
};
RenderedArtifact render(const Artifact& artifact);
inline constexpr const char* empty_config = "{}"; // the content of an artifact's config

// What refers to an image.
struct Referrer {
  std::string type; // of the artifact
  Descriptor descriptor;
};

// An entry of an index that lists referrers, as JSON and back.
Json to_json(const Referrer& referrer);
Result<Referrer> parse_referrer(const JsonReader& reader);

// The artifact in a layout: its blobs, and an entry without a tag in index.json, which is changed as
// write_image does. Returns the digest of its manifest. What is no layout is a usage error.
Result<Digest> attach(const Reference& layout, const Artifact& artifact);

// What refers to the manifest `subject` in a layout or an archive, in the order of its index. An empty type:
// of every type. Entries that are no manifests are left out.
Result<std::vector<Referrer>> referrers(const Reference& reference, const Digest& subject,
                                        const std::string& type);

} // namespace xaas::oci
