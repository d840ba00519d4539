// Artifacts that refer to an image, such as its SBOM and its signatures, and their storage in layouts and
// archives. There are two ways to refer:
//   - A manifest names the image as its `subject`. Source: OCI image specification 1.1, manifest.md
//     ("Guidelines for Artifact Usage") and annotations of descriptors.
//   - A manifest has a tag that is made from the image's digest, `sha256-<hex>.sig`. Source: sigstore/cosign,
//     specs/SIGNATURE_SPEC.md and specs/ATTESTATION_SPEC.md.
#pragma once

#include <xaas/oci/publication.h>

#include <functional>
#include <map>
#include <optional>
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
  Digest subject;  // of the document that it refers to
  std::string tag; // through which it refers; empty if its manifest names the subject
};

// The tag made from a digest: `sha256-<hex>` and a suffix. Without a suffix it lists the subject's referrers
// (OCI distribution specification 1.1, "Referrers Tag Schema").
std::string digest_tag(const Digest& digest, const std::string& suffix = "");
inline constexpr const char* cosign_suffixes[] = {".sig", ".att", ".sbom"};
// The digest in such a tag, without a suffix or with one of these; nothing for other tags.
std::optional<Digest> digest_in_tag(const std::string& tag);

// The subject that a document names, with its descriptor as lists of referrers have it; nothing if it names
// none, or one by another digest than SHA-256. The type is that of the artifact, else that of its
// configuration; an index may have none. Text that is not JSON is an integrity error.
Result<std::optional<Referrer>> as_referrer(const std::string& media_type, const std::string& text);

// An entry of an index that lists referrers, to and from JSON.
Json to_json(const Referrer& referrer);
Result<Referrer> parse_referrer(const JsonReader& reader);

// Adds an artifact to a layout: its blobs, and an entry without a tag in index.json, which is replaced as in
// write_image(). Returns the digest of its manifest. Anything but a layout is a usage error.
Result<Digest> attach(const Reference& layout, const Artifact& artifact);

// Finds the referrers of a document; with `tagged` also those that refer through tags. May repeat itself.
using FindReferrers = std::function<Result<std::vector<Referrer>>(const Digest& subject, bool tagged)>;

// Called with a line for users about a possible referrer that is not read or copied, with the reason.
using OnSkipped = std::function<void(const std::string& text)>;

// For a layout or an archive. Entries that cannot be read are skipped.
Result<FindReferrers> stored_referrers(const Reference& reference, const OnSkipped& skipped);

// Adds the referrers of the documents of a publication, and their own referrers, to it. Returns the added
// ones, each once. The root stays the root. A referrer that names another subject than it was found for is
// skipped, and so is one that is neither a manifest nor an index, with a line to `skipped`. An integrity
// error for more than a thousand.
Result<std::vector<Referrer>> add_referrers(Publication& publication, const FindReferrers& find,
                                            const std::shared_ptr<const BlobSource>& source,
                                            const Reference& reference, const OnSkipped& skipped);

// Unites the signatures, one per layer, of two documents that cosign stores under one tag, so that copying to
// a place with signatures of its own loses none: ours if it has all layers, else theirs if that has all, else
// theirs with what it lacks, for which there is a new configuration. Under a tag that ends in `.sbom` there
// is one SBOM, which stays as it is. Anything but such documents is an integrity error. `source` has the
// configuration of theirs.
struct Signatures {
  Document document;
  std::optional<NewBlob> config;
};
Result<Signatures> unite_signatures(const std::string& tag, const Document& ours, const Document& theirs,
                                    const BlobSource& source);

} // namespace xaas::oci
