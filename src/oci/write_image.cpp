#include "file_descriptor.h"
#include "image_json.h"
#include "layout_lock.h"
#include "tar_writer.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>

namespace xaas::oci {

namespace {

// A blob to be written, in order of its digest.
struct Pending {
  uint64_t size = 0;
  std::function<Result<std::string>()> bytes;
};
using Blobs = std::map<Digest, Pending>;

Blobs blobs_of(const NewImage& image, const Rendered& rendered) {
  Blobs blobs;
  for (const NewLayer& layer : image.layers)
    blobs.try_emplace(layer.descriptor.digest, Pending{layer.descriptor.size, layer.bytes});
  for (const std::string* text : {&rendered.config, &rendered.manifest})
    blobs.try_emplace(digest_of(*text),
                      Pending{text->size(), [text]() -> Result<std::string> { return *text; }});
  return blobs;
}

// The bytes of a blob, which must be what its descriptor says: a wrong one is found here, not when it is
// read.
Result<std::string> bytes_of(const Digest& digest, const Pending& blob) {
  const std::string name = "blob " + digest.to_string();
  XAAS_TRY(std::string bytes, blob.bytes().in(name));
  if (bytes.size() != blob.size || digest_of(bytes) != digest)
    return make_error(ErrorKind::integrity, name + ": its bytes do not match its descriptor");
  return bytes;
}

Json index_entry(const Rendered& rendered, const std::string& tag) {
  return descriptor_json(
      {media_type::manifest, rendered.manifest_digest, rendered.manifest.size(), {{tag_annotation, tag}}});
}

bool has_tag(const Json& entry, const std::string& tag) {
  const auto annotations = entry.find("annotations");
  if (annotations == entry.end() || !annotations->is_object())
    return false;
  const auto name = annotations->find(tag_annotation);
  return name != annotations->end() && name->is_string() && *name == tag;
}

// A directory that is neither a layout nor empty is somebody's data. Files of writers at work do not count.
Result<void> check_layout_directory(const Reference& reference) {
  const fs::path& path = reference.path;
  std::error_code code;
  if (fs::exists(path / "oci-layout", code)) {
    XAAS_TRY(const std::string version, read_file(path / "oci-layout", manifest_limit));
    return check_layout_version(version, (path / "oci-layout").string());
  }
  for (fs::directory_iterator it(path, code), end; !code && it != end; it.increment(code))
    if (!starts_with(it->path().filename().string(), ".xaas-") && !fs::exists(path / "oci-layout", code))
      return make_error(ErrorKind::usage,
                        reference.text + ": the directory " + path.string() +
                            " is neither empty nor an image layout",
                        "choose another directory");
  return {};
}

Result<void> write_blob(const fs::path& file, const Digest& digest, const Pending& blob) {
  std::error_code code;
  if (fs::is_regular_file(file, code) && fs::file_size(file, code) == blob.size)
    if (const auto found = digest_of_file(file); found && *found == digest)
      return {};
  XAAS_TRY(const std::string bytes, bytes_of(digest, blob));
  return write_file(file, bytes);
}

// Puts the tag's new entry where the old one was, and leaves everything else as it is.
Result<void> update_index(const fs::path& layout, const Json& entry, const std::string& tag) {
  XAAS_TRY(const LayoutLock lock, LayoutLock::acquire(layout));
  const fs::path file = layout / "index.json";
  Json index = new_index();
  if (auto text = read_file(file, manifest_limit)) {
    XAAS_TRY(index, parse_index(*text, file.string()));
  } else if (text.error().kind != ErrorKind::not_found) {
    return std::move(text).error();
  }
  Json manifests = Json::array();
  bool placed = false;
  for (const Json& old : index["manifests"]) {
    if (!has_tag(old, tag))
      manifests.push_back(old);
    else if (!std::exchange(placed, true))
      manifests.push_back(entry);
  }
  if (!placed)
    manifests.push_back(entry);
  index["manifests"] = std::move(manifests);
  if (!lock.held())
    return make_error(ErrorKind::failed,
                      "writing " + file.string() + ": this process was stopped for too long",
                      "run the command again");
  return write_file(file, to_bytes(index));
}

Result<void> write_layout(const Reference& reference, const Blobs& blobs, const Json& entry,
                          const std::string& tag) {
  const fs::path& path = reference.path;
  XAAS_CHECK(make_directories(path));
  XAAS_CHECK(check_layout_directory(reference));
  std::error_code code;
  if (!fs::exists(path / "oci-layout", code))
    XAAS_CHECK(write_file(path / "oci-layout", layout_file()));
  const fs::path directory = path / "blobs" / "sha256";
  XAAS_CHECK(make_directories(directory));
  for (const auto& [digest, blob] : blobs) {
    XAAS_CHECK(check_interrupt());
    XAAS_CHECK(write_blob(directory / digest.hex(), digest, blob));
  }
  return update_index(path, entry, tag);
}

// A file that appears under its name only when it is whole.
class ArchiveFile {
public:
  static Result<ArchiveFile> create(const fs::path& path) {
    const fs::path parent = path.parent_path();
    if (!parent.empty())
      XAAS_CHECK(make_directories(parent));
    std::string temporary = (parent / ".xaas-tmp-XXXXXX").string();
    FileDescriptor file(mkostemp(temporary.data(), O_CLOEXEC));
    if (!file)
      return errno_error(errno, "writing " + path.string());
    return ArchiveFile(path, std::move(temporary), std::move(file));
  }
  ArchiveFile(ArchiveFile&& other) noexcept
      : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})),
        file_(std::move(other.file_)) {}
  ArchiveFile& operator=(ArchiveFile&&) = delete;
  ~ArchiveFile() {
    if (!temporary_.empty())
      unlink(temporary_.c_str());
  }

  Result<void> add_directory(const std::string& name) {
    return write(tar_header({.type = TarMember::Type::directory, .path = name, .mode = 0755}));
  }

  Result<void> add(const std::string& name, std::string_view content) {
    XAAS_CHECK(write(tar_header({.path = name, .size = content.size()})));
    XAAS_CHECK(write(content));
    return write(tar_padding(content.size()));
  }

  Result<void> finish() {
    XAAS_CHECK(write(tar_end()));
    if (fchmod(file_.get(), 0644) != 0 || fsync(file_.get()) != 0 ||
        std::rename(temporary_.c_str(), path_.c_str()) != 0)
      return errno_error(errno, "writing " + path_.string());
    temporary_.clear();
    return {};
  }

private:
  ArchiveFile(fs::path path, std::string temporary, FileDescriptor file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)) {}

  Result<void> write(std::string_view data) {
    while (!data.empty()) {
      const ssize_t count = ::write(file_.get(), data.data(), data.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return errno_error(errno, "writing " + path_.string());
      data.remove_prefix(static_cast<size_t>(count));
    }
    return {};
  }

  fs::path path_;
  std::string temporary_;
  FileDescriptor file_;
};

Result<void> write_archive(const Reference& reference, const Blobs& blobs, const Json& entry) {
  XAAS_TRY(ArchiveFile archive, ArchiveFile::create(reference.path));
  // Without these two members skopeo makes the directories itself, gives them to root, and fails where it is
  // not root.
  XAAS_CHECK(archive.add_directory("blobs"));
  XAAS_CHECK(archive.add_directory("blobs/sha256"));
  for (const auto& [digest, blob] : blobs) {
    XAAS_CHECK(check_interrupt());
    XAAS_TRY(const std::string bytes, bytes_of(digest, blob));
    XAAS_CHECK(archive.add("blobs/sha256/" + digest.hex(), bytes));
  }
  Json index = new_index();
  index["manifests"].push_back(entry);
  XAAS_CHECK(archive.add("index.json", to_bytes(index)));
  XAAS_CHECK(archive.add("oci-layout", layout_file()));
  return archive.finish();
}

// The directory that is to be written in, or the nearest one above it that exists.
Result<void> check_directory(const fs::path& wanted) {
  fs::path path = fs::absolute(wanted);
  struct stat status{};
  while (stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR)
      return errno_error(errno, "writing to " + wanted.string());
    path = path.parent_path();
  }
  if (!S_ISDIR(status.st_mode))
    return make_error(ErrorKind::usage,
                      "writing to " + wanted.string() + ": " + path.string() + " is no directory");
  if (access(path.c_str(), W_OK | X_OK) != 0)
    return errno_error(errno, "writing to " + path.string());
  return {};
}

} // namespace

Result<Digest> write_image(const Reference& reference, const NewImage& image) {
  if (reference.transport == Transport::rootfs || reference.transport == Transport::registry)
    return make_error(ErrorKind::usage,
                      reference.text + ": this is written neither as a layout nor as an archive");
  const Rendered rendered = render(image);
  const Blobs blobs = blobs_of(image, rendered);
  const std::string tag = reference.tag.empty() ? "latest" : reference.tag;
  const Json entry = index_entry(rendered, tag);
  if (reference.transport == Transport::layout)
    XAAS_CHECK(write_layout(reference, blobs, entry, tag).in("writing " + reference.text));
  else
    XAAS_CHECK(write_archive(reference, blobs, entry).in("writing " + reference.text));
  return rendered.manifest_digest;
}

// A mistyped name must not cost a file: only a tar archive, an empty file or a device is written over.
static bool is_replaceable(const fs::path& path) {
  std::error_code code;
  if (!fs::is_regular_file(path, code))
    return true;
  std::ifstream stream(path, std::ios::binary);
  char header[512] = {};
  stream.read(header, sizeof(header));
  return stream.gcount() == 0 || std::string_view(header + 257, 5) == "ustar";
}

Result<void> check_writable(const Reference& reference) {
  if (reference.transport == Transport::registry)
    return make_error(ErrorKind::usage, reference.text + ": an image in a registry is not written here");
  std::error_code code;
  const fs::path& path = reference.path;
  if (reference.transport == Transport::archive) {
    if (fs::is_directory(path, code))
      return make_error(ErrorKind::usage, reference.text + ": " + path.string() + " is a directory");
    if (fs::exists(path, code) && !is_replaceable(path))
      return make_error(ErrorKind::usage, reference.text + ": " + path.string() + " exists and is no archive",
                        "remove it, or choose another file");
    return check_directory(fs::absolute(path).parent_path());
  }
  XAAS_CHECK(check_directory(path));
  if (reference.transport == Transport::layout)
    return check_layout_directory(reference);
  if (fs::exists(path, code) && !fs::is_empty(path, code))
    return make_error(ErrorKind::usage, reference.text + ": the directory " + path.string() + " is not empty",
                      "an image is unpacked into a directory that is absent or empty");
  return {};
}

} // namespace xaas::oci
