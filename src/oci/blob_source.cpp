#include "file_descriptor.h"
#include "image_json.h"
#include "raw_locale.h"
#include "stored_source.h"

#include <xaas/base/text.h>

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <mutex>

namespace xaas::oci {

namespace {

class Layout : public StoredSource {
public:
  explicit Layout(fs::path path) : path_(std::move(path)) {}

  Result<std::string> index() const override { return read_file(path_ / "index.json", manifest_limit); }

protected:
  Result<std::string> fetch(const Descriptor& blob) const override {
    const fs::path file = path_ / "blobs" / "sha256" / blob.digest.hex();
    std::error_code code;
    const fs::file_status status = fs::status(file, code);
    if (fs::exists(status) && !fs::is_regular_file(status)) // a pipe would keep us waiting
      return make_error(ErrorKind::integrity, file.string() + ": not a regular file");
    return read_file(file, blob.size);
  }

private:
  fs::path path_;
};

using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

// A tar file of which only the places of the members are kept; blobs are read where they lie.
class Archive : public StoredSource {
public:
  Archive(fs::path path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  // Notes where every regular file begins.
  Result<void> scan() {
    const RawLocale raw;
    XAAS_TRY(const Reader reader, open_at(0));
    while (true) {
      archive_entry* entry = nullptr;
      const int status = archive_read_next_header(reader.get(), &entry);
      if (status == ARCHIVE_EOF)
        return {};
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
        return damaged(reader.get());
      const char* name = archive_entry_pathname(entry);
      if (!name || archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
        continue;
      const std::string path = starts_with(name, "./") ? name + 2 : name;
      if (members_.size() == member_limit)
        return make_error(ErrorKind::integrity, path_.string() + ": too many members");
      if (!members_.emplace(path, archive_read_header_position(reader.get())).second)
        return make_error(ErrorKind::integrity, path_.string() + ": two members are named '" + path + "'");
    }
  }

  bool empty() const { return members_.empty(); }
  bool has(const std::string& name) const { return members_.contains(name); }
  bool has_blobs() const {
    const auto first = members_.lower_bound("blobs/");
    return first != members_.end() && starts_with(first->first, "blobs/");
  }

  // A member's first `limit` + 1 bytes.
  Result<std::string> member(const std::string& name, uint64_t limit) const {
    const auto found = members_.find(name);
    if (found == members_.end())
      return make_error(ErrorKind::not_found, path_.string() + ": it has no member '" + name + "'");
    const std::lock_guard<std::mutex> one_reader(reading_); // there is one file position
    const RawLocale raw;
    XAAS_TRY(const Reader reader, open_at(found->second));
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(reader.get(), &entry);
    if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
      return damaged(reader.get());
    std::string content;
    std::vector<char> buffer(256 * 1024);
    while (content.size() <= limit) {
      const la_ssize_t count = archive_read_data(reader.get(), buffer.data(), buffer.size());
      if (count < 0)
        return damaged(reader.get());
      if (count == 0)
        return content;
      const uint64_t wanted = limit - content.size();
      const uint64_t taken = std::min<uint64_t>(static_cast<uint64_t>(count), wanted);
      content.append(buffer.data(), static_cast<size_t>(taken));
      if (taken < static_cast<uint64_t>(count))
        return make_error(ErrorKind::integrity, path_.string() + ": the member '" + name +
                                                    "' is larger than the " + std::to_string(limit) +
                                                    " bytes expected");
    }
    return content;
  }

  Result<std::string> index() const override { return member("index.json", manifest_limit); }

protected:
  Result<std::string> fetch(const Descriptor& blob) const override {
    return member("blobs/sha256/" + blob.digest.hex(), blob.size);
  }

private:
  static constexpr size_t member_limit = 100'000;

  Result<Reader> open_at(int64_t offset) const {
    Reader reader(archive_read_new(), archive_read_free);
    archive_read_support_format_tar(reader.get());
    if (lseek(file_.get(), offset, SEEK_SET) < 0)
      return errno_error(errno, "reading " + path_.string());
    if (archive_read_open_fd(reader.get(), file_.get(), 64 * 1024) != ARCHIVE_OK)
      return damaged(reader.get());
    return reader;
  }

  Error damaged(archive* reader) const {
    const char* text = archive_error_string(reader);
    return make_error(ErrorKind::integrity,
                      path_.string() + ": damaged archive: " + (text ? text : "no reason given"));
  }

  fs::path path_;
  FileDescriptor file_;
  mutable std::mutex reading_;
  std::map<std::string, int64_t> members_;
};

Error no_image(const Reference& reference, const std::string& what) {
  return make_error(ErrorKind::usage, reference.text + ": " + reference.path.string() + " is no OCI " + what,
                    "images are named oci:DIR[:TAG] or oci-archive:FILE[:TAG]");
}

Error without_version(const Reference& reference) {
  return make_error(ErrorKind::integrity,
                    reference.path.string() + ": damaged image: the file oci-layout is missing");
}

Result<std::unique_ptr<StoredSource>> open_layout(const Reference& reference) {
  const fs::path& path = reference.path;
  std::error_code code;
  if (!fs::is_directory(path, code))
    return no_image(reference, "layout: it is a file");
  if (!fs::exists(path / "oci-layout", code))
    return fs::exists(path / "index.json", code) ? without_version(reference)
                                                 : no_image(reference, "layout: it has no file oci-layout");
  XAAS_TRY(const std::string version, read_file(path / "oci-layout", manifest_limit));
  XAAS_CHECK(check_layout_version(version, (path / "oci-layout").string()));
  return std::unique_ptr<StoredSource>(std::make_unique<Layout>(path));
}

// Whether a file begins like a tar: then what libarchive cannot read is a damaged archive, not something
// else.
bool looks_like_tar(int file) {
  char magic[5];
  return pread(file, magic, sizeof(magic), 257) == 5 && std::string_view(magic, 5) == "ustar";
}

Result<std::unique_ptr<StoredSource>> open_archive(const Reference& reference) {
  std::error_code code;
  if (!fs::is_regular_file(reference.path, code))
    return no_image(reference, "archive: it is not a regular file");
  FileDescriptor file(open(reference.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return errno_error(errno, "reading " + reference.path.string());
  const bool tar = looks_like_tar(file.get());
  auto archive = std::make_unique<Archive>(reference.path, std::move(file));
  if (auto scanned = archive->scan(); !scanned) {
    if (!tar && archive->empty())
      return no_image(reference, "archive: it is no uncompressed tar file");
    return std::move(scanned).error();
  }
  if (!archive->has("oci-layout"))
    return archive->has_blobs() || archive->has("index.json")
               ? without_version(reference)
               : no_image(reference, "archive: it has no member oci-layout");
  XAAS_TRY(const std::string version, archive->member("oci-layout", manifest_limit));
  XAAS_CHECK(check_layout_version(version, reference.path.string() + ": oci-layout"));
  return std::unique_ptr<StoredSource>(std::move(archive));
}

} // namespace

Result<std::string> BlobSource::read(const Descriptor& descriptor, uint64_t limit) const {
  const std::string name = "blob " + descriptor.digest.to_string();
  const auto mismatch = [&](const std::string& what) {
    return make_error(ErrorKind::integrity, name + ": " + what);
  };
  if (descriptor.size > limit)
    return mismatch(std::to_string(descriptor.size) + " bytes, more than the " + std::to_string(limit) +
                    " allowed");
  auto bytes = fetch(descriptor);
  if (!bytes) {
    Error error = std::move(bytes).error().in(name);
    if (error.kind == ErrorKind::not_found) // of an image that says that it has it
      error.kind = ErrorKind::integrity;
    return error;
  }
  if (bytes->size() != descriptor.size)
    return mismatch(std::to_string(bytes->size()) + " bytes, where " + std::to_string(descriptor.size) +
                    " are expected");
  if (const Digest found = digest_of(*bytes); found != descriptor.digest)
    return mismatch("damaged: its content has the digest " + found.to_string());
  checked(descriptor, *bytes);
  return bytes;
}

Result<std::unique_ptr<StoredSource>> open_source(const Reference& reference) {
  if (reference.transport == Transport::rootfs)
    return make_error(ErrorKind::usage, reference.text + ": rootfs: can be written, not read",
                      "images are named oci:DIR[:TAG] or oci-archive:FILE[:TAG]");
  if (reference.transport == Transport::registry)
    return make_error(ErrorKind::usage, reference.text + ": an image in a registry is not read here");
  std::error_code code;
  if (!fs::exists(reference.path, code))
    return make_error(ErrorKind::not_found,
                      reference.text + ": " + reference.path.string() +
                          (code ? ": " + code.message() : ": no such file or directory"));
  return reference.transport == Transport::layout ? open_layout(reference) : open_archive(reference);
}

} // namespace xaas::oci
