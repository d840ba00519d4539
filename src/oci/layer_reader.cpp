// Reading the layers of others.
//
// A layer is hostile until proven otherwise. Decompression is ours, so that the limit and the digest of the
// uncompressed bytes hold whatever the tar inside says; libarchive parses the tar; every name is checked
// here, before anything acts on it. What depends on the tree that is being unpacked (a path through a
// symlink) is checked by unpack.

#include "compression.h"
#include "raw_locale.h"

#include <xaas/base/text.h>

#include <archive.h>
#include <archive_entry.h>

#include <optional>
#include <vector>

namespace xaas::oci {

namespace {

// A layer of empty entries can be small and yet exhaust the inodes of a file system.
constexpr uint64_t entry_limit = uint64_t(1) << 22;

Error damaged(const std::string& what) {
  return make_error(ErrorKind::integrity, what);
}

Result<std::string> normalised(const std::string& name, const std::string& what) {
  if (!name.empty() && name.front() == '/')
    return damaged(what + " '" + name + "' is absolute");
  std::vector<std::string> parts;
  for (const std::string& part : split(name, '/')) {
    if (part == "..")
      return damaged(what + " '" + name + "' leaves the root");
    if (!part.empty() && part != ".")
      parts.push_back(part);
  }
  return join(parts, "/");
}

// A symlink may be absolute (it is then relative to the root), but not climb out of the root.
Result<void> check_symlink(const std::string& path, const std::string& destination) {
  if (destination.empty())
    return damaged("the symlink '" + path + "' has no destination");
  if (destination.front() == '/')
    return {};
  std::ptrdiff_t depth = static_cast<std::ptrdiff_t>(split(path, '/').size()) - 1;
  for (const std::string& part : split(destination, '/')) {
    if (part == "..")
      --depth;
    else if (!part.empty() && part != ".")
      ++depth;
    if (depth < 0)
      return damaged("the symlink '" + path + "' to '" + destination + "' leaves the root");
  }
  return {};
}

Result<void> check_whiteout(const std::string& path) {
  const std::vector<std::string> parts = split(path, '/');
  for (size_t i = 0; i + 1 < parts.size(); ++i)
    if (parts[i].starts_with(whiteout_prefix))
      return damaged("'" + path + "' lies below a whiteout");
  if (!is_whiteout(path))
    return {};
  const std::string& name = parts.back();
  const std::string removed = name.substr(whiteout_prefix.size());
  if (removed.empty() || removed == "." || removed == "..")
    return damaged("'" + path + "' is not a valid whiteout");
  if (parts[0] == ".xaas" || path == ".wh..xaas" || path == opaque_whiteout)
    return damaged("the whiteout '" + path + "' removes /.xaas");
  return {};
}

// What libarchive reads from: the decompressed layer, counted and hashed.
class Feed {
public:
  Feed(Decompressor& source, bool hash, uint64_t limit) : source_(source), hash_(hash), limit_(limit) {}

  Result<std::string_view> next() {
    XAAS_TRY(const std::string_view piece, source_.next());
    total_ += piece.size();
    if (total_ > limit_)
      return damaged("the layer expands to more than the " + std::to_string(limit_) + " bytes allowed");
    if (hash_)
      hasher_.update(piece);
    return piece;
  }

  static la_ssize_t read(archive* reader, void* data, const void** buffer) {
    Feed& feed = *static_cast<Feed*>(data);
    auto piece = feed.next();
    if (!piece) {
      archive_set_error(reader, EIO, "%s", piece.error().message.c_str());
      feed.error_ = std::move(piece).error();
      return ARCHIVE_FATAL;
    }
    *buffer = piece->data();
    return static_cast<la_ssize_t>(piece->size());
  }

  // The error behind the one that libarchive reports, which is ours if reading its input failed.
  Error error(archive* reader) const {
    if (error_)
      return *error_;
    const char* text = archive_error_string(reader);
    return damaged(std::string("damaged tar: ") + (text ? text : "no reason given"));
  }

  // Reads on to the end and gives the digest of everything.
  Result<Digest> finish() {
    while (true) {
      XAAS_TRY(const std::string_view piece, next());
      if (piece.empty())
        return hasher_.finish();
    }
  }

private:
  Decompressor& source_;
  bool hash_;
  uint64_t limit_;
  uint64_t total_ = 0;
  Hasher hasher_;
  std::optional<Error> error_;
};

class Content : public LayerContent {
public:
  Content(archive* reader, const Feed& feed, uint64_t limit) : reader_(reader), feed_(feed), left_(limit) {}

  // The next entry, of this many bytes.
  void start(int64_t size) { expected_ = static_cast<uint64_t>(size), read_ = 0; }

  Result<std::string_view> next() override {
    const la_ssize_t count = archive_read_data(reader_, buffer_.data(), buffer_.size());
    if (count < 0)
      return feed_.error(reader_);
    if (static_cast<uint64_t>(count) > left_)
      return damaged("the layer's files expand to more than the limit");
    left_ -= static_cast<uint64_t>(count);
    read_ += static_cast<uint64_t>(count);
    if (count == 0 && read_ != expected_) // libarchive does not fill a hole at the end of a sparse file
      return damaged("an entry of " + std::to_string(expected_) + " bytes has only " + std::to_string(read_));
    return std::string_view(buffer_.data(), static_cast<size_t>(count));
  }

private:
  archive* reader_;
  const Feed& feed_;
  uint64_t left_;
  uint64_t expected_ = 0, read_ = 0;
  std::vector<char> buffer_ = std::vector<char>(256 * 1024);
};

LayerEntry::Kind kind_of(archive_entry* from) {
  if (archive_entry_hardlink(from))
    return LayerEntry::Kind::hard_link;
  switch (archive_entry_filetype(from)) {
  case AE_IFREG:
    return LayerEntry::Kind::file;
  case AE_IFDIR:
    return LayerEntry::Kind::directory;
  case AE_IFLNK:
    return LayerEntry::Kind::symlink;
  default:
    return LayerEntry::Kind::other;
  }
}

Result<LayerEntry> checked_entry(archive_entry* from) {
  const char* name = archive_entry_pathname(from);
  if (!name || !*name)
    return damaged("an entry without a name");
  LayerEntry entry;
  entry.kind = kind_of(from);
  entry.mode = archive_entry_perm(from);
  entry.time = archive_entry_mtime(from);
  XAAS_TRY(entry.path, normalised(name, "the entry"));
  XAAS_CHECK(check_whiteout(entry.path));
  if (entry.path.empty() && entry.kind != LayerEntry::Kind::directory)
    return damaged("the root is not a directory");
  if (entry.kind == LayerEntry::Kind::hard_link) {
    XAAS_TRY(entry.link, normalised(archive_entry_hardlink(from), "'" + entry.path + "': the hard link to"));
    if (entry.link.empty())
      return damaged("'" + entry.path + "' is a hard link to the root");
  } else if (entry.kind == LayerEntry::Kind::symlink) {
    const char* destination = archive_entry_symlink(from);
    entry.link = destination ? destination : "";
    XAAS_CHECK(check_symlink(entry.path, entry.link));
  }
  return entry;
}

} // namespace

bool is_whiteout(const std::string& path) {
  return path.substr(path.rfind('/') + 1).starts_with(whiteout_prefix);
}

Result<void> stream_layer(const BlobPtr& blob, const std::string& media_type, const Digest* diff_id,
                          uint64_t limit,
                          const std::function<Result<void>(LayerEntry&, LayerContent&)>& entry) {
  XAAS_TRY(const std::unique_ptr<Decompressor> source, make_decompressor(blob, media_type));
  const RawLocale raw;
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(), archive_read_free);
  if (!reader)
    return make_error(ErrorKind::failed, "reading a layer: out of memory");
  Feed feed(*source, diff_id != nullptr, limit);
  archive_read_support_format_tar(reader.get());
  if (archive_read_open(reader.get(), &feed, nullptr, Feed::read, nullptr) != ARCHIVE_OK)
    return feed.error(reader.get());
  Content content(reader.get(), feed, limit);
  for (uint64_t count = 0;; ++count) {
    archive_entry* from = nullptr;
    const int status = archive_read_next_header(reader.get(), &from);
    if (status == ARCHIVE_EOF)
      break;
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
      return feed.error(reader.get());
    if (count == entry_limit)
      return damaged("the layer has more than " + std::to_string(entry_limit) + " entries");
    XAAS_TRY(LayerEntry next, checked_entry(from));
    content.start(archive_entry_size(from));
    if (!next.path.empty()) // "./", the root itself, says nothing
      XAAS_CHECK(entry(next, content));
  }
  XAAS_TRY(const Digest found, feed.finish());
  if (diff_id && found != *diff_id)
    return damaged("the uncompressed layer has the digest " + found.to_string() +
                   ", the configuration says " + diff_id->to_string());
  return {};
}

Result<void> read_layer(const BlobPtr& blob, const std::string& media_type, const Digest* diff_id,
                        const std::function<Result<void>(LayerEntry)>& entry, uint64_t limit) {
  return stream_layer(blob, media_type, diff_id, limit,
                      [&](LayerEntry& next, LayerContent& content) -> Result<void> {
                        while (next.kind == LayerEntry::Kind::file) {
                          XAAS_TRY(const std::string_view piece, content.next());
                          if (piece.empty())
                            break;
                          next.content += piece;
                        }
                        return entry(std::move(next));
                      });
}

} // namespace xaas::oci
