// The content of an image, or of several under one index, independent of where it is stored: blobs, and
// documents that name them. Writers of layouts, archives and registries take this.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/oci/blob_source.h>
#include <xaas/oci/image.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xaas::oci {

struct NewBlob {
  Descriptor descriptor;
  std::function<Result<BlobPtr>()> open; // unchecked; called at most once, when the blob is written
  std::optional<Reference> origin;       // an image that has the blob
};

// A manifest or an index.
struct Document {
  std::string media_type, text;
  Digest digest; // of the text
};

struct Publication {
  std::vector<NewBlob> blobs;         // each once
  std::vector<Document> documents;    // each after what it names; the tag refers to the last one
  std::map<std::string, Digest> tags; // of documents with signatures: united with what the destination has
  Digest source;                      // the digest of the root as it was read, if it was
  const Document& root() const { return documents.back(); }
  uint64_t bytes() const; // of the blobs
};

Publication publication_of(const NewImage& image);

// An index of images for several architectures, in this order. Annotations that they all share are also those
// of the index.
Publication publication_of(const std::vector<NewImage>& images);

// An image that an index lists.
struct ListedImage {
  Publication image;                              // its root is a manifest
  std::string architecture, variant;              // OCI names; an empty variant is left out
  std::map<std::string, std::string> annotations; // of the entry
};

// An index of published images, in this order; likewise.
Publication index_of(std::vector<ListedImage> images);

// Everything that `root` refers to in a source: any image, artifact, or index with everything that it lists.
// With `architecture` only its image. With `as_oci`, documents in Docker's formats are converted to those of
// OCI (layers and configurations stay unchanged), which changes their digests.
struct ReadOptions {
  std::optional<std::string> architecture;
  bool as_oci = false;
};
Result<Publication> read_publication(const std::shared_ptr<const BlobSource>& source, const Descriptor& root,
                                     const Reference& reference, const ReadOptions& options);

// Writes to a layout or an archive as write_image() does, `transfers` blobs at a time if possible. Documents
// that name a subject get entries in the index without a tag, as attach() makes them. Reports
// progress in bytes, including those of existing blobs, in a phase that the caller starts.
Result<Digest> write_publication(const Reference& reference, const Publication& publication,
                                 unsigned transfers = 1, Progress& progress = no_progress());

} // namespace xaas::oci
