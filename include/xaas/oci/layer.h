// Layers: deterministic tar archives, and reading hostile ones. Sources: OCI image specification (layer.md);
// pax(1).
#pragma once

#include <xaas/oci/blob.h>
#include <xaas/oci/image.h>

#include <cstdint>
#include <string_view>

namespace xaas::oci {

enum class Compression { gzip, zstd };

// Builds a layer. Entries are sorted by path, owned by 0:0, dated `time` (seconds since 1970); parent
// directories that were not added are added with mode 0755. Paths are relative, normalised, without `..`
// (else a usage error). Adding a path twice is a failed error, unless both are directories (their modes are
// joined); so is a path below a file. A name
// `.wh.*` is a usage error: it would be a whiteout. The compressed bytes are a function of the entries alone:
// gzip level 6 without name and time, zstd level 10.
class LayerBuilder {
public:
  explicit LayerBuilder(int64_t time = 0) : time_(time) {}
  Result<void> add_file(const std::string& path, std::string content, unsigned mode = 0644);
  Result<void> add_symlink(const std::string& path, const std::string& destination);
  Result<void> add_directory(const std::string& path, unsigned mode = 0755);
  bool empty() const { return entries_.empty(); }
  // The finished layer. `created_by` goes into the image's history.
  Result<NewLayer> finish(Compression compression, const std::string& created_by,
                          std::map<std::string, std::string> annotations = {}) const;

private:
  struct Entry {
    enum class Kind { directory, file, symlink } kind;
    unsigned mode;
    std::string content; // or a link's destination
  };
  Result<void> add(const std::string& path, Entry entry);
  int64_t time_;
  std::map<std::string, Entry> entries_;
};

// The layer of a tar archive as it is, however large: compressed into the file `compressed`, which must stay
// until the layer has been written.
Result<NewLayer> layer_of_tar(const fs::path& tar, const fs::path& compressed, Compression compression,
                              const std::string& created_by);

// One entry of a layer that is read.
struct LayerEntry {
  enum class Kind { directory, file, symlink, hard_link, other } kind = Kind::other;
  std::string path; // relative, normalised, checked: no `..`, no absolute name
  unsigned mode = 0;
  int64_t time = 0;    // of the last change, in seconds since 1970
  std::string link;    // destination: of a symlink as stored, of a hard link normalised
  std::string content; // of a file
};

// The limit of a layer's bytes, where nothing smaller is asked for.
inline constexpr uint64_t layer_limit = uint64_t(64) << 30;

// Reads a layer's entries in their order. The blob must have been checked against its digest. A layer that is
// damaged, has a path or link that leaves the root or a whiteout of /.xaas, expands to more than `limit`
// bytes, or whose uncompressed digest is not `diff_id` (if given) is an integrity error; an unknown media
// type is unsatisfied. Whiteouts are given as the files that they are. The callback's error ends the reading.
Result<void> read_layer(const BlobPtr& blob, const std::string& media_type, const Digest* diff_id,
                        const std::function<Result<void>(LayerEntry)>& entry, uint64_t limit = layer_limit);

// The content of the entry at hand.
class LayerContent {
public:
  virtual ~LayerContent() = default;
  // The next piece, valid until the next call; empty at the end.
  virtual Result<std::string_view> next() = 0;
};

// As read_layer, but an entry comes without its content, which may be larger than memory. `limit` counts the
// uncompressed layer and, apart from it, the contents that are read (a sparse file can be larger than its
// layer).
Result<void> stream_layer(const BlobPtr& blob, const std::string& media_type, const Digest* diff_id,
                          uint64_t limit,
                          const std::function<Result<void>(LayerEntry&, LayerContent&)>& entry);

// Whether a path is that of a whiteout (OCI image specification, layer.md, "Whiteouts").
bool is_whiteout(const std::string& path);
inline constexpr std::string_view opaque_whiteout = ".wh..wh..opq";
inline constexpr std::string_view whiteout_prefix = ".wh.";

// A layer whose stored bytes were checked, with what its image says of it.
struct Layer {
  BlobPtr blob;
  Descriptor descriptor;
  Digest diff_id; // of the uncompressed bytes, as the config says: not checked yet
};
using Layers = std::vector<Layer>;

// All layers of an image, or some (`indices` into manifest().layers), each checked as a whole; those behind a
// network several at a time. Progress in bytes, in a phase of the caller's.
Result<Layers> open_layers(const Image& image, Progress& progress);
Result<Layers> open_layers(const Image& image, const std::vector<size_t>& indices, Progress& progress);

// Unpacks layers, in order, into a directory that is absent or empty: whiteouts applied, nothing written
// outside it whatever the layers say. A path through a symlink of an earlier layer (merged /usr) is resolved
// inside the tree; through one of the same layer it is refused, as are special files: integrity errors. Those
// below /dev, which is the runtime's, are left out. More than 64 GiB of content is one, too, and so is a
// layer whose uncompressed bytes are not those of its `diff_id`. The directory appears at the end, whole; an
// error leaves nothing behind. Modes are kept (without setuid, setgid and sticky bits), and so are the times
// of files; owners are those of the caller. With `add`, places for mounts are added (see tree.h).
enum class MountPoints { none, add };
Result<void> unpack(const Layers& layers, const fs::path& directory,
                    MountPoints mount_points = MountPoints::none);

} // namespace xaas::oci
