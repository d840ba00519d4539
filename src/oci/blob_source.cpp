#include "blob.h"
#include "image_json.h"
#include "raw_locale.h"
#include "stored_source.h"

#include <xaas/base/file_descriptor.h>
#include <xaas/base/text.h>

#include <archive.h>
#include <archive_entry.h>

#include <cerrno>
#include <fcntl.h>

namespace xaas::oci {

namespace {

class Layout : public StoredSource {
public:
  explicit Layout(fs::path path) : path_(std::move(path)) {}

  Result<std::string> index() const override { return read_file(path_ / "index.json", manifest_limit); }

protected:
  Result<BlobPtr> find(const Descriptor& blob) const override {
    return blob_in_file(path_ / "blobs" / "sha256" / blob.digest.hex());
  }

private:
  fs::path path_;
};

using Reader = std::unique_ptr<archive, decltype(&archive_read_free)>;

// A tar file. Keeps only the positions of its members; blobs are read in place.
class Archive : public StoredSource {
public:
  Archive(fs::path path, FileDescriptor file)
      : path_(std::move(path)), file_(std::make_shared<FileDescriptor>(std::move(file))) {}

  // Records the position of every regular file.
  Result<void> scan() {
    const RawLocale raw;
    const Reader reader(archive_read_new(), archive_read_free);
    archive_read_support_format_tar(reader.get());
    if (archive_read_open_fd(reader.get(), file_->get(), 64 * 1024) != ARCHIVE_OK)
      return damaged(reader.get());
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
      if (archive_entry_sparse_count(entry) > 0)
        return make_error(ErrorKind::integrity, path_.string() + ": the member '" + path + "' has holes");
      // At this point libarchive has read the headers up to the member's content.
      const Member member{static_cast<uint64_t>(archive_filter_bytes(reader.get(), 0)),
                          static_cast<uint64_t>(archive_entry_size(entry))};
      if (!members_.emplace(path, member).second)
        return make_error(ErrorKind::integrity, path_.string() + ": two members are named '" + path + "'");
    }
  }

  bool empty() const { return members_.empty(); }
  bool has(const std::string& name) const { return members_.contains(name); }
  bool has_blobs() const {
    const auto first = members_.lower_bound("blobs/");
    return first != members_.end() && starts_with(first->first, "blobs/");
  }

  Result<BlobPtr> member(const std::string& name) const {
    const auto found = members_.find(name);
    if (found == members_.end())
      return make_error(ErrorKind::not_found, path_.string() + ": it has no member '" + name + "'");
    return blob_in(path_, file_, found->second.begin, found->second.size);
  }

  Result<std::string> text(const std::string& name) const {
    XAAS_TRY(const BlobPtr found, member(name));
    return read_whole(*found, manifest_limit).in(path_.string() + ": the member '" + name + "'");
  }

  Result<std::string> index() const override { return text("index.json"); }

protected:
  Result<BlobPtr> find(const Descriptor& blob) const override {
    return member("blobs/sha256/" + blob.digest.hex());
  }

private:
  static constexpr size_t member_limit = 100'000;
  struct Member {
    uint64_t begin, size;
  };

  Error damaged(archive* reader) const {
    const char* text = archive_error_string(reader);
    return make_error(ErrorKind::integrity,
                      path_.string() + ": damaged archive: " + (text ? text : "no reason given"));
  }

  fs::path path_;
  std::shared_ptr<const FileDescriptor> file_;
  std::map<std::string, Member> members_;
};

Error no_image(const Reference& reference, const std::string& what) {
  return make_error(ErrorKind::usage,
                    reference.text + ": " + reference.path.string() + " is not an OCI " + what,
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

// Whether a file begins like a tar. If so, libarchive's failure to read it means a damaged archive, not
// another kind of file.
bool looks_like_tar(int file) {
  char magic[5];
  return pread(file, magic, sizeof(magic), 257) == 5 && std::string_view(magic, 5) == "ustar";
}

Result<std::unique_ptr<StoredSource>> open_archive(const Reference& reference) {
  std::error_code code;
  if (!fs::is_regular_file(reference.path, code))
    return no_image(reference, "archive: it is not a regular file");
  XAAS_TRY(FileDescriptor file, open_file(reference.path));
  const bool tar = looks_like_tar(file.get());
  auto archive = std::make_unique<Archive>(reference.path, std::move(file));
  if (auto scanned = archive->scan(); !scanned) {
    if (!tar && archive->empty())
      return no_image(reference, "archive: it is not an uncompressed tar file");
    return std::move(scanned).error();
  }
  if (!archive->has("oci-layout"))
    return archive->has_blobs() || archive->has("index.json")
               ? without_version(reference)
               : no_image(reference, "archive: it has no member oci-layout");
  XAAS_TRY(const std::string version, archive->text("oci-layout"));
  XAAS_CHECK(check_layout_version(version, reference.path.string() + ": oci-layout"));
  return std::unique_ptr<StoredSource>(std::move(archive));
}

} // namespace

namespace {

// The image lists this blob, so it must exist.
Error missing(Error error, const Descriptor& descriptor) {
  error = std::move(error).in(name_of(descriptor));
  if (error.kind == ErrorKind::not_found)
    error.kind = ErrorKind::integrity;
  return error;
}

} // namespace

Result<std::string> BlobSource::read(const Descriptor& descriptor, uint64_t limit) const {
  const auto mismatch = [&](const std::string& what) {
    return make_error(ErrorKind::integrity, name_of(descriptor) + ": " + what);
  };
  if (descriptor.size > limit)
    return mismatch(std::to_string(descriptor.size) + " bytes, more than the " + std::to_string(limit) +
                    " allowed");
  auto bytes = fetch(descriptor);
  if (!bytes)
    return missing(std::move(bytes).error(), descriptor);
  if (bytes->size() != descriptor.size)
    return mismatch(std::to_string(bytes->size()) + " bytes, where " + std::to_string(descriptor.size) +
                    " are expected");
  if (const Digest found = digest_of(*bytes); found != descriptor.digest)
    return mismatch("damaged: its content has the digest " + found.to_string());
  checked(descriptor, *bytes);
  return bytes;
}

Result<BlobPtr> BlobSource::open(const Descriptor& descriptor) const {
  auto blob = find_checked(descriptor);
  return blob ? std::move(blob) : missing(std::move(blob).error(), descriptor);
}

Result<BlobPtr> BlobSource::stream(const Descriptor& descriptor) const {
  auto blob = find(descriptor);
  return blob ? std::move(blob) : missing(std::move(blob).error(), descriptor);
}

// Local files need no prefetching.
Result<void> BlobSource::prefetch(const std::vector<Descriptor>& blobs, Progress& progress) const {
  for (const Descriptor& blob : blobs)
    progress.advance(blob.size);
  return {};
}

Result<BlobPtr> BlobSource::find_checked(const Descriptor& descriptor) const {
  XAAS_TRY(BlobPtr blob, find(descriptor));
  XAAS_CHECK(read_checked(*blob, descriptor));
  return blob;
}

Result<std::string> BlobSource::fetch(const Descriptor& descriptor) const {
  XAAS_TRY(const BlobPtr blob, find(descriptor));
  if (blob->size() != descriptor.size)
    return make_error(ErrorKind::integrity, std::to_string(blob->size()) + " bytes, where " +
                                                std::to_string(descriptor.size) + " are expected");
  return read_whole(*blob);
}

Result<std::unique_ptr<StoredSource>> open_source(const Reference& reference) {
  if (reference.transport == Transport::rootfs || reference.transport == Transport::squashfs)
    return make_error(ErrorKind::usage, reference.text + ": a file tree can be written, not read",
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
