// What an image, or several under one index, consist of wherever they are stored: blobs, and documents that
// name them. Writers of layouts, archives and registries take this.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/oci/blob_source.h>
#include <xaas/oci/image.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xaas::oci {

struct NewBlob {
  Descriptor descriptor;
  std::function<Result<BlobPtr>()> open; // unchecked; called when it is written, at most once
  std::optional<Reference> origin;       // an image that has the blob
};

// A manifest or an index.
struct Document {
  std::string media_type, text;
  Digest digest; // of the text
};

struct Publication {
  std::vector<NewBlob> blobs;      // each once
  std::vector<Document> documents; // each after what it names; the last is what the tag stands for
  Digest source;                   // of what the root was read from, if it was read
  const Document& root() const { return documents.back(); }
  uint64_t bytes() const; // of the blobs
};

Publication publication_of(const NewImage& image);

// An index over images for several architectures, in their order. Annotations that are the same in all of
// them are those of the index, too.
Publication publication_of(const std::vector<NewImage>& images);

// What `root` stands for in a source, whatever it is: images of others, artifacts, indexes with all that they
// list. With `architecture` only its image. With `as_oci` documents of Docker's formats become those of OCI
// (layers and configurations stay as they are), which changes their digests.
struct ReadOptions {
  std::optional<std::string> architecture;
  bool as_oci = false;
};
Result<Publication> read_publication(const std::shared_ptr<const BlobSource>& source, const Descriptor& root,
                                     const Reference& reference, const ReadOptions& options);

// Writes to a layout or an archive, as write_image says; `transfers` blobs at a time where that is possible.
// Progress is in bytes, of blobs that are there already, too; phases are the caller's.
Result<Digest> write_publication(const Reference& reference, const Publication& publication,
                                 unsigned transfers = 1, Progress& progress = no_progress());

} // namespace xaas::oci
