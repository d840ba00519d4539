#include "image_json.h"
#include "layout_lock.h"
#include "stored_source.h"
#include "tar_writer.h"

#include <xaas/base/parallel.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/base/umask.h>
#include <xaas/oci/publication.h>
#include <xaas/oci/referrers.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sys/stat.h>

namespace xaas::oci {

namespace {

// An entry of index.json.
struct IndexEntry {
  Json json;
  std::string tag;                      // may be empty
  const Document* signatures = nullptr; // to be united with those under the tag
};

// The referrers first, so that a reader who finds the image finds them, too.
Result<std::vector<IndexEntry>> index_entries(const Publication& publication, const std::string& tag) {
  std::vector<IndexEntry> entries;
  for (const Document& document : publication.documents) {
    const auto add = [&](const std::string& name, const Document* signatures) {
      entries.push_back(
          {descriptor_json(
               {document.media_type, document.digest, document.text.size(), {{tag_annotation, name}}}),
           name, signatures});
    };
    const bool root = &document == &publication.root();
    const size_t before = entries.size();
    for (const auto& [name, digest] : publication.tags)
      if (digest == document.digest)
        add(name, &document);
    if (root)
      add(tag, nullptr);
    if (entries.size() > before)
      continue;
    XAAS_TRY(std::optional<Referrer> referrer, as_referrer(document.media_type, document.text));
    if (!referrer)
      continue;
    if (referrer->type.empty()) // an entry without one would be an image
      referrer->type = document.media_type;
    entries.push_back({to_json(*referrer), ""});
  }
  return entries;
}

bool has_tag(const Json& entry, const std::string& tag) {
  const auto annotations = entry.find("annotations");
  if (annotations == entry.end() || !annotations->is_object())
    return false;
  const auto name = annotations->find(tag_annotation);
  return name != annotations->end() && name->is_string() && *name == tag;
}

// A directory that is neither a layout nor empty contains someone's data. Ignores files of concurrent
// writers.
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

// Whether the blob exists undamaged. A damaged one is written again.
bool is_there(const fs::path& file, const Digest& digest, uint64_t size) {
  std::error_code code;
  if (!fs::is_regular_file(file, code) || fs::file_size(file, code) != size)
    return false;
  const auto found = digest_of_file(file);
  return found && *found == digest;
}

// Detects a wrong blob now rather than when it is read.
Result<void> write_blob(const fs::path& file, const NewBlob& blob, Progress& progress) {
  if (is_there(file, blob.descriptor.digest, blob.descriptor.size)) {
    progress.advance(blob.descriptor.size);
    return {};
  }
  XAAS_TRY(const BlobPtr bytes, blob.open().in(name_of(blob.descriptor)));
  XAAS_TRY(FileWriter writer, FileWriter::create(file));
  XAAS_CHECK(read_checked(*bytes, blob.descriptor, [&](std::string_view piece) -> Result<void> {
    XAAS_CHECK(writer.write(piece));
    progress.advance(piece.size());
    return {};
  }));
  return writer.commit();
}

// Replaces the entry of the same tag in place, or adds one. Without a tag, does nothing if the index lists
// the document already.
void put_entry(Json& manifests, const IndexEntry& entry) {
  const auto same = [&](const Json& old) {
    return entry.tag.empty() ? old.contains("digest") && old["digest"] == entry.json["digest"]
                             : has_tag(old, entry.tag);
  };
  const auto place = std::find_if(manifests.begin(), manifests.end(), same);
  if (place == manifests.end()) {
    manifests.push_back(entry.json);
    return;
  }
  if (entry.tag.empty())
    return;
  *place = entry.json;
  Json kept = Json::array();
  for (Json::iterator it = manifests.begin(); it != manifests.end(); ++it)
    if (it <= place || !same(*it))
      kept.push_back(std::move(*it));
  manifests = std::move(kept);
}

// The entry for the union of our signatures and those that the layout has under the tag, perhaps repeatedly.
Result<Json> united_entry(const Reference& layout, const Json& manifests, const IndexEntry& entry,
                          Progress& progress) {
  Document document = *entry.signatures;
  std::vector<const Json*> old;
  for (const Json& each : manifests)
    if (has_tag(each, entry.tag))
      old.push_back(&each);
  if (old.empty())
    return entry.json;
  XAAS_TRY(const std::unique_ptr<StoredSource> source, open_source(layout));
  const fs::path directory = layout.path / "blobs" / "sha256";
  Digest theirs;
  for (const Json* each : old) {
    XAAS_TRY(const Descriptor descriptor,
             parse_descriptor(JsonReader(*each, "index.json, tag " + entry.tag)));
    theirs = descriptor.digest;
    Document there{descriptor.media_type, {}, descriptor.digest};
    XAAS_TRY(there.text, source->read(descriptor, manifest_limit));
    XAAS_TRY(Signatures united, unite_signatures(entry.tag, document, there, *source).in("tag " + entry.tag));
    if (united.config)
      XAAS_CHECK(
          write_blob(directory / united.config->descriptor.digest.hex(), *united.config, no_progress()));
    document = std::move(united.document);
  }
  if (entry.tag.ends_with(".sbom") && document.digest != entry.signatures->digest)
    progress.note(layout.text + ": the SBOM under the tag " + entry.tag +
                  " is kept, and not replaced by ours");
  if (old.size() == 1 && document.digest == theirs)
    return *old.front();
  if (const fs::path file = directory / document.digest.hex();
      !is_there(file, document.digest, document.text.size()))
    XAAS_CHECK(write_file(file, document.text));
  return descriptor_json(
      {document.media_type, document.digest, document.text.size(), {{tag_annotation, entry.tag}}});
}

// Leaves everything else unchanged.
Result<void> update_index(const Reference& layout, const std::vector<IndexEntry>& entries,
                          Progress& progress) {
  XAAS_TRY(const LayoutLock lock, LayoutLock::acquire(layout.path));
  const fs::path file = layout.path / "index.json";
  Json index = new_index();
  if (auto text = read_file(file, manifest_limit)) {
    XAAS_TRY(index, parse_index(*text, file.string()));
  } else if (text.error().kind != ErrorKind::not_found) {
    return std::move(text).error();
  }
  for (IndexEntry entry : entries) {
    if (entry.signatures) {
      XAAS_TRY(entry.json, united_entry(layout, index["manifests"], entry, progress));
    }
    put_entry(index["manifests"], entry);
  }
  if (!lock.held())
    return make_error(ErrorKind::failed,
                      "writing " + file.string() + ": this process was stopped for too long",
                      "run the command again");
  return write_file(file, to_bytes(index));
}

// Removes partial files that killed writers left in the directory. Those of active writers are younger.
void remove_leftovers(const fs::path& directory) {
  constexpr auto abandoned = std::chrono::hours(1);
  const fs::file_time_type now = fs::file_time_type::clock::now();
  std::error_code code;
  for (fs::directory_iterator it(directory, code), end; !code && it != end; it.increment(code)) {
    std::error_code ignored;
    if (it->path().filename().string().starts_with(".xaas-tmp-") && it->is_regular_file(ignored) &&
        now - it->last_write_time(ignored) > abandoned)
      fs::remove(it->path(), ignored);
  }
}

Result<void> write_layout(const Reference& reference, const Publication& publication,
                          const std::vector<IndexEntry>& entries, unsigned transfers, Progress& progress) {
  const fs::path& path = reference.path;
  XAAS_CHECK(make_directories(path));
  XAAS_CHECK(check_layout_directory(reference));
  std::error_code code;
  if (!fs::exists(path / "oci-layout", code))
    XAAS_CHECK(write_file(path / "oci-layout", layout_file()));
  const fs::path directory = path / "blobs" / "sha256";
  XAAS_CHECK(make_directories(directory));
  remove_leftovers(path); // of index.json and oci-layout
  remove_leftovers(directory);
  XAAS_CHECK(run_parallel(publication.blobs.size(), transfers, [&](size_t i) -> Result<void> {
    XAAS_CHECK(check_interrupt());
    const NewBlob& blob = publication.blobs[i];
    return write_blob(directory / blob.descriptor.digest.hex(), blob, progress);
  }));
  for (const Document& document : publication.documents)
    if (const fs::path file = directory / document.digest.hex();
        !is_there(file, document.digest, document.text.size()))
      XAAS_CHECK(write_file(file, document.text));
  return update_index(reference, entries, progress);
}

// A tar file that appears under its name only when it is complete.
class ArchiveFile {
public:
  static Result<ArchiveFile> create(const fs::path& path) {
    if (const fs::path parent = path.parent_path(); !parent.empty())
      XAAS_CHECK(make_directories(parent));
    XAAS_TRY(FileWriter writer, FileWriter::create(path));
    return ArchiveFile(std::move(writer));
  }

  Result<void> add_directory(const std::string& name) {
    return writer_.write(tar_header({.type = TarMember::Type::directory, .path = name, .mode = 0755}));
  }

  Result<void> add(const std::string& name, std::string_view content) {
    XAAS_CHECK(writer_.write(tar_header({.path = name, .size = content.size()})));
    XAAS_CHECK(writer_.write(content));
    return writer_.write(tar_padding(content.size()));
  }

  Result<void> add(const std::string& name, const NewBlob& blob, Progress& progress) {
    const uint64_t size = blob.descriptor.size;
    XAAS_TRY(const BlobPtr bytes, blob.open().in(name_of(blob.descriptor)));
    XAAS_CHECK(writer_.write(tar_header({.path = name, .size = size})));
    XAAS_CHECK(read_checked(*bytes, blob.descriptor, [&](std::string_view piece) -> Result<void> {
      XAAS_CHECK(writer_.write(piece));
      progress.advance(piece.size());
      return {};
    }));
    return writer_.write(tar_padding(size));
  }

  Result<void> finish() {
    XAAS_CHECK(writer_.write(tar_end()));
    return writer_.commit();
  }

private:
  explicit ArchiveFile(FileWriter writer) : writer_(std::move(writer)) {}
  FileWriter writer_;
};

// Members are sorted by name, whatever the order in the image.
Result<void> write_archive(const Reference& reference, const Publication& publication,
                           const std::vector<IndexEntry>& entries, Progress& progress) {
  remove_leftovers(fs::absolute(reference.path).parent_path());
  XAAS_TRY(ArchiveFile archive, ArchiveFile::create(reference.path));
  // Without these two members, skopeo creates the directories itself, owned by root, which fails for other
  // users.
  XAAS_CHECK(archive.add_directory("blobs"));
  XAAS_CHECK(archive.add_directory("blobs/sha256"));
  std::map<Digest, std::function<Result<void>(const std::string& name)>> members;
  for (const NewBlob& blob : publication.blobs)
    members[blob.descriptor.digest] = [&](const std::string& name) {
      return archive.add(name, blob, progress);
    };
  for (const Document& document : publication.documents)
    members[document.digest] = [&](const std::string& name) { return archive.add(name, document.text); };
  for (const auto& [digest, add] : members) {
    XAAS_CHECK(check_interrupt());
    XAAS_CHECK(add("blobs/sha256/" + digest.hex()));
  }
  Json index = new_index();
  for (const IndexEntry& entry : entries)
    index["manifests"].push_back(entry.json);
  XAAS_CHECK(archive.add("index.json", to_bytes(index)));
  XAAS_CHECK(archive.add("oci-layout", layout_file()));
  return archive.finish();
}

// The directory to write to, or its nearest existing parent.
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
                      "writing to " + wanted.string() + ": " + path.string() + " is not a directory");
  if (access(path.c_str(), W_OK | X_OK) != 0)
    return errno_error(errno, "writing to " + path.string());
  return {};
}

} // namespace

Result<Digest> write_publication(const Reference& reference, const Publication& publication,
                                 unsigned transfers, Progress& progress) {
  if (reference.transport != Transport::layout && reference.transport != Transport::archive)
    return make_error(ErrorKind::usage,
                      reference.text + ": this transport writes neither a layout nor an archive");
  const std::string tag = reference.tag.empty() ? "latest" : reference.tag;
  const std::string what = "writing " + reference.text;
  XAAS_TRY(const std::vector<IndexEntry> entries, index_entries(publication, tag).in(what));
  const UserUmask users;
  if (reference.transport == Transport::layout)
    XAAS_CHECK(write_layout(reference, publication, entries, transfers, progress).in(what));
  else
    XAAS_CHECK(write_archive(reference, publication, entries, progress).in(what));
  return publication.root().digest;
}

Result<Digest> write_image(const Reference& reference, const NewImage& image) {
  return write_publication(reference, publication_of(image));
}

// A mistyped name must not destroy a file: only an empty file or one of this kind may be replaced. Nor may a
// device or a pipe, because the final rename would put a file in the place of `/dev/null`.
static bool is_replaceable(const fs::path& path, std::string_view magic, size_t offset) {
  std::error_code code;
  if (!fs::is_regular_file(path, code))
    return false;
  std::ifstream stream(path, std::ios::binary);
  char header[512] = {};
  stream.read(header, sizeof(header));
  return stream.gcount() == 0 ||
         std::string_view(header, sizeof(header)).substr(offset, magic.size()) == magic;
}

Result<void> check_writable(const Reference& reference) {
  if (reference.transport == Transport::registry)
    return make_error(ErrorKind::usage, reference.text + ": an image in a registry is not written here");
  std::error_code code;
  const fs::path& path = reference.path;
  if (reference.transport == Transport::archive) {
    if (fs::is_directory(path, code))
      return make_error(ErrorKind::usage, reference.text + ": " + path.string() + " is a directory");
    if (fs::exists(path, code) && !is_replaceable(path, "ustar", 257))
      return make_error(ErrorKind::usage,
                        reference.text + ": " + path.string() + " exists and is not an archive",
                        "remove it, or choose another file");
    return check_directory(fs::absolute(path).parent_path());
  }
  if (reference.transport == Transport::squashfs) {
    if (!find_program("mksquashfs"))
      return make_error(
          ErrorKind::missing_tool, reference.text + ": mksquashfs is missing",
          "install the package squashfs-tools, or use rootfs:DIR or oci-archive:FILE, which need no tool");
    if (fs::is_directory(path, code))
      return make_error(ErrorKind::usage, reference.text + ": " + path.string() + " is a directory");
    if (fs::exists(path, code) && !is_replaceable(path, "hsqs", 0))
      return make_error(ErrorKind::usage,
                        reference.text + ": " + path.string() + " exists and is not a squashfs file",
                        "remove it, or choose another file");
    return check_directory(fs::absolute(path).parent_path());
  }
  XAAS_CHECK(check_directory(path));
  if (reference.transport == Transport::layout)
    return check_layout_directory(reference);
  if (fs::exists(path, code) && !fs::is_empty(path, code))
    return make_error(ErrorKind::usage, reference.text + ": the directory " + path.string() + " is not empty",
                      "the destination must be absent or empty");
  return {};
}

} // namespace xaas::oci
