// Layers: writing deterministic ones and reading hostile ones. Sources: OCI image specification (layer.md);
// pax(1).
#pragma once

#include <xaas/oci/blob.h>
#include <xaas/oci/image.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::oci {

enum class Compression { gzip, zstd };

// Compressed layers of earlier runs. Compressing costs many times more than digesting.
class CompressedLayers {
public:
  virtual ~CompressedLayers() = default;
  // The bytes that LayerBuilder made for this uncompressed digest, if they are known.
  virtual std::optional<std::string> find(Compression compression, const Digest& diff_id) const = 0;
  virtual void keep(Compression compression, const Digest& diff_id, std::string_view compressed) const = 0;
};

// A directory of the layers below, which an entry of the same name replaces: its mode and owner are those of
// the uppermost layer that has an entry for it.
struct Directory {
  unsigned mode = 0755;
  uint64_t user = 0, group = 0;
  bool operator==(const Directory&) const = default;
};
using Directories = std::map<std::string, Directory>; // by path, relative and normalized

// Builds a layer. Entries are sorted by path, owned by 0:0, and have the time `time` (seconds since 1970);
// missing parent directories are added with mode 0755. Directories in `below` keep their modes and owners. A
// path that is not relative and normalized, or that contains `..`, is a usage error, and so is a name
// `.wh.*`, which would be a whiteout. Adding a path twice is a failed error, unless both are directories,
// whose modes are combined; so is a path below a file. The compressed bytes are a function of the entries
// alone: gzip level 6 without name and time, zstd level 10.
class LayerBuilder {
public:
  explicit LayerBuilder(int64_t time = 0, Directories below = {}) : time_(time), below_(std::move(below)) {}
  Result<void> add_file(const std::string& path, std::string content, unsigned mode = 0644);
  // Another name of the file that was added as `to`, which is sorted before it (else a failed error).
  Result<void> add_hard_link(const std::string& path, const std::string& to);
  Result<void> add_symlink(const std::string& path, const std::string& destination);
  Result<void> add_directory(const std::string& path, unsigned mode = 0755);
  bool empty() const { return entries_.empty(); }
  // The finished layer. `created_by` is for the image's history. Takes the compressed bytes from `known`,
  // if it is not null and has them, and keeps them there otherwise.
  Result<NewLayer> finish(Compression compression, const std::string& created_by,
                          std::map<std::string, std::string> annotations = {},
                          const CompressedLayers* known = nullptr) const;

private:
  struct Entry {
    enum class Kind { directory, file, hard_link, symlink } kind;
    unsigned mode;
    std::string content; // or the destination of a link
  };
  Result<void> add(const std::string& path, Entry entry);
  Result<void> write_tar(const std::function<Result<void>(std::string_view)>& write) const;
  int64_t time_;
  Directories below_;
  std::map<std::string, Entry> entries_;
};

// A layer from an existing tar archive of any size, compressed into the file `compressed`, which must exist
// until the layer has been written.
Result<NewLayer> layer_of_tar(const fs::path& tar, const fs::path& compressed, Compression compression,
                              const std::string& created_by);

// One entry of a layer that is being read.
struct LayerEntry {
  enum class Kind { directory, file, symlink, hard_link, other } kind = Kind::other;
  std::string path; // relative, normalized, checked: no `..`, no absolute name
  unsigned mode = 0;
  uint64_t user = 0, group = 0; // of the owner
  int64_t time = 0;             // of the last change, in seconds since 1970
  std::string link;             // destination, normalized for a hard link
  std::string content;          // of a file
};

// The default limit on a layer's bytes.
inline constexpr uint64_t layer_limit = uint64_t(64) << 30;

// Reads a layer's entries in order. The blob must have been checked against its digest. A layer is an
// integrity error if it is damaged, has a path or link that leaves the root or a whiteout of /.xaas, expands
// to more than `limit` bytes, or if its uncompressed digest is not `diff_id` (if given). An unknown media
// type is unsatisfied. Whiteouts appear as plain files. An error of the callback stops the reading.
Result<void> read_layer(const BlobPtr& blob, const std::string& media_type, const Digest* diff_id,
                        const std::function<Result<void>(LayerEntry)>& entry, uint64_t limit = layer_limit);

// The content of the current entry.
class LayerContent {
public:
  virtual ~LayerContent() = default;
  // The next bytes, valid until the next call; empty at the end.
  virtual Result<std::string_view> next() = 0;
  // The number of bytes that the entry claims to have. It may be a lie until next() has reached the end.
  virtual uint64_t claimed_size() const = 0;
};

// As read_layer(), but entries come without their content, which may be larger than memory. `limit` applies
// to the uncompressed layer, and separately to the contents that are read (a sparse file can be larger than
// its layer).
Result<void> stream_layer(const BlobPtr& blob, const std::string& media_type, const Digest* diff_id,
                          uint64_t limit,
                          const std::function<Result<void>(LayerEntry&, LayerContent&)>& entry);

// Whether a path denotes a whiteout (OCI image specification, layer.md, "Whiteouts").
bool is_whiteout(const std::string& path);
inline constexpr std::string_view opaque_whiteout = ".wh..wh..opq";
inline constexpr std::string_view whiteout_prefix = ".wh.";

// A layer whose stored bytes have been checked, with its entry in the image.
struct Layer {
  BlobPtr blob;
  Descriptor descriptor;
  Digest diff_id; // of the uncompressed bytes according to the config, not checked yet
};
using Layers = std::vector<Layer>;

// All layers of an image, or some of them (`indices` into manifest().layers), each checked completely; remote
// ones are fetched several at a time. Reports progress in bytes, in a phase that the caller starts.
Result<Layers> open_layers(const Image& image, Progress& progress);
Result<Layers> open_layers(const Image& image, const std::vector<size_t>& indices, Progress& progress);

// Unpacks layers in order into a directory that is absent or empty. It applies whiteouts and never writes
// outside the directory. A path through a symlink of an earlier layer (merged /usr) is resolved inside the
// tree. Integrity errors: a path through a symlink of the same layer, a special file outside /dev (those in
// /dev, which belongs to the runtime, are skipped), more than 64 GiB of content, and a layer whose
// uncompressed bytes do not match its `diff_id`. The directory appears at the end, complete; an error leaves
// nothing behind. Keeps modes (without setuid, setgid and sticky bits) and file times; the caller owns
// everything.
Result<void> unpack(const Layers& layers, const fs::path& directory);

// The same, with the missing mount points (see tree.h) and these files. They replace those of the layers,
// unless `if_missing`.
struct AddedFile {
  std::string path, content;
  unsigned mode = 0644;
  bool if_missing = false;
};
Result<void> unpack_with(const Layers& layers, const fs::path& directory,
                         const std::vector<AddedFile>& files);

} // namespace xaas::oci
