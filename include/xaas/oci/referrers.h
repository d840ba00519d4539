// Artifacts that refer to an image, such as its SBOM, and their storage in layouts. Source: OCI image
// specification 1.1, manifest.md ("Guidelines for Artifact Usage") and annotations of descriptors.
#pragma once

#include <xaas/oci/image.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::oci {

// An artifact with one blob.
struct Artifact {
  std::string type; // of the artifact and of its blob: a media type
  std::string content;
  Descriptor subject; // the manifest of the image
  std::map<std::string, std::string> annotations;
};

struct RenderedArtifact {
  std::string manifest; // canonical JSON bytes
  Descriptor descriptor;
};
RenderedArtifact render(const Artifact& artifact);
inline constexpr const char* empty_config = "{}"; // the content of an artifact's config

// Something that refers to an image.
struct Referrer {
  std::string type; // of the artifact
  Descriptor descriptor;
};

// An entry of an index that lists referrers, to and from JSON.
Json to_json(const Referrer& referrer);
Result<Referrer> parse_referrer(const JsonReader& reader);

// Adds an artifact to a layout: its blobs, and an entry without a tag in index.json, which is replaced as in
// write_image(). Returns the digest of its manifest. Anything but a layout is a usage error.
Result<Digest> attach(const Reference& layout, const Artifact& artifact);

// What refers to the manifest `subject` in a layout or an archive, in the order of its index. An empty type
// means any. Skips entries that are not manifests.
Result<std::vector<Referrer>> referrers(const Reference& reference, const Digest& subject,
                                        const std::string& type);

} // namespace xaas::oci
