#include "archive_entries.h"

#include <xaas/base/text.h>

#include <archive_entry.h>

#include <cerrno>
#include <vector>

namespace xaas::oci {

namespace {

// An archive of empty entries can be small and yet exhaust the inodes of a file system.
constexpr uint64_t entry_limit = uint64_t(1) << 22;

Result<std::string> normalized(const std::string& name, const std::string& what) {
  const bool is_root = name.find_first_not_of('/') == std::string::npos; // as umoci names it
  if (name.starts_with('/') && !is_root)
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

class Content : public LayerContent {
public:
  Content(archive* reader, const ArchiveInput& input, uint64_t limit)
      : reader_(reader), input_(input), left_(limit) {}

  // Starts the next entry, which has this many bytes.
  void start(int64_t size) { expected_ = static_cast<uint64_t>(size), read_ = 0; }

  Result<std::string_view> next() override {
    const la_ssize_t count = archive_read_data(reader_, buffer_.data(), buffer_.size());
    if (count < 0)
      return input_.error(reader_);
    if (static_cast<uint64_t>(count) > left_)
      return damaged("the files expand to more than the limit");
    left_ -= static_cast<uint64_t>(count);
    read_ += static_cast<uint64_t>(count);
    if (count == 0 && read_ != expected_) // libarchive does not fill in a hole at the end of a sparse file
      return damaged("an entry of " + std::to_string(expected_) + " bytes has only " + std::to_string(read_));
    return std::string_view(buffer_.data(), static_cast<size_t>(count));
  }

  uint64_t claimed_size() const override { return expected_; }

private:
  archive* reader_;
  const ArchiveInput& input_;
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

Result<LayerEntry> checked_entry(archive_entry* from, Whiteouts whiteouts) {
  const char* name = archive_entry_pathname(from);
  if (!name || !*name)
    return damaged("an entry without a name");
  LayerEntry entry;
  entry.kind = kind_of(from);
  entry.mode = archive_entry_perm(from);
  const auto id = [](la_int64_t number) { return number < 0 ? 0 : static_cast<uint64_t>(number); };
  entry.user = id(archive_entry_uid(from));
  entry.group = id(archive_entry_gid(from));
  entry.time = archive_entry_mtime(from);
  XAAS_TRY(entry.path, normalized(name, "the entry"));
  if (whiteouts == Whiteouts::checked)
    XAAS_CHECK(check_whiteout(entry.path));
  if (entry.path.empty() && entry.kind != LayerEntry::Kind::directory)
    return damaged("the root is not a directory");
  if (entry.kind == LayerEntry::Kind::hard_link) {
    XAAS_TRY(entry.link, normalized(archive_entry_hardlink(from), "'" + entry.path + "': the hard link to"));
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

Error damaged(const std::string& what) {
  return make_error(ErrorKind::integrity, what);
}

Error ArchiveInput::error(archive* reader) const {
  if (error_)
    return *error_;
  const char* text = archive_error_string(reader);
  return damaged(std::string("damaged archive: ") + (text ? text : "no reason given"));
}

int ArchiveInput::failed(archive* reader, Error error) {
  archive_set_error(reader, EIO, "%s", error.message.c_str());
  error_ = std::move(error);
  return ARCHIVE_FATAL;
}

Result<std::string_view> Feed::next() {
  XAAS_TRY(const std::string_view piece, source_.next());
  total_ += piece.size();
  if (total_ > limit_)
    return damaged("it expands to more than the " + std::to_string(limit_) + " bytes allowed");
  if (hash_)
    hasher_.update(piece);
  return piece;
}

la_ssize_t Feed::read(archive* reader, void* data, const void** buffer) {
  Feed& feed = *static_cast<Feed*>(data);
  auto piece = feed.next();
  if (!piece)
    return feed.failed(reader, std::move(piece).error());
  *buffer = piece->data();
  return static_cast<la_ssize_t>(piece->size());
}

Result<Digest> Feed::finish() {
  while (true) {
    XAAS_TRY(const std::string_view piece, next());
    if (piece.empty())
      return hasher_.finish();
  }
}

Result<void> read_entries(archive* reader, const ArchiveInput& input, Whiteouts whiteouts, uint64_t limit,
                          const OnEntry& entry) {
  Content content(reader, input, limit);
  for (uint64_t count = 0;; ++count) {
    archive_entry* from = nullptr;
    const int status = archive_read_next_header(reader, &from);
    if (status == ARCHIVE_EOF)
      return {};
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
      return input.error(reader);
    if (count == entry_limit)
      return damaged("there are more than " + std::to_string(entry_limit) + " entries");
    XAAS_TRY(LayerEntry next, checked_entry(from, whiteouts));
    content.start(archive_entry_size(from));
    if (!next.path.empty()) // "./" is the root itself
      XAAS_CHECK(entry(next, content));
  }
}

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

bool is_whiteout(const std::string& path) {
  return path.substr(path.rfind('/') + 1).starts_with(whiteout_prefix);
}

} // namespace xaas::oci
