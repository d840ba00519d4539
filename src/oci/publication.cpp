#include "choose.h"
#include "image_json.h"

#include <xaas/base/text.h>
#include <xaas/oci/publication.h>
#include <xaas/oci/referrers.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace xaas::oci {

namespace {

// Limits for one index and everything below it: documents, and their total bytes.
constexpr size_t document_limit = 1000;
constexpr uint64_t document_bytes_limit = uint64_t(32) << 20;

Json config_json(const NewImage& image) {
  const ImageConfig& from = image.config;
  Json diff_ids = Json::array(), history = Json::array();
  for (const NewLayer& layer : image.layers) {
    diff_ids.push_back(layer.diff_id.to_string());
    Json step = Json::object();
    if (!from.created.empty())
      step["created"] = from.created;
    step["created_by"] = layer.created_by;
    history.push_back(std::move(step));
  }
  Json config = Json::object();
  if (!from.created.empty())
    config["created"] = from.created;
  config["architecture"] = from.architecture;
  config["os"] = from.os;
  config["config"] = process_json(from);
  config["rootfs"] = {{"type", "layers"}, {"diff_ids", std::move(diff_ids)}};
  config["history"] = std::move(history);
  return config;
}

Json manifest_json(const NewImage& image, const Descriptor& config) {
  Json layers = Json::array();
  for (const NewLayer& layer : image.layers)
    layers.push_back(descriptor_json(layer.descriptor));
  Json manifest = {{"schemaVersion", 2},
                   {"mediaType", media_type::manifest},
                   {"config", descriptor_json(config)},
                   {"layers", std::move(layers)}};
  if (!image.annotations.empty())
    manifest["annotations"] = image.annotations;
  return manifest;
}

Document document_of(const char* type, const Json& json) {
  Document document{type, to_bytes(json), {}};
  document.digest = digest_of(document.text);
  return document;
}

Descriptor descriptor_of(const Document& document) {
  return {document.media_type, document.digest, document.text.size(), {}};
}

// Assembles a publication, with every blob and document once.
class Collector {
public:
  Collector() = default;
  explicit Collector(Publication publication) : publication_(std::move(publication)) {
    for (const NewBlob& blob : publication_.blobs)
      known_.insert(blob.descriptor.digest);
    for (const Document& document : publication_.documents)
      known_.insert(document.digest);
  }
  void add(NewBlob blob) {
    if (known_.insert(blob.descriptor.digest).second)
      publication_.blobs.push_back(std::move(blob));
  }
  void add(Document document) {
    if (known_.insert(document.digest).second)
      publication_.documents.push_back(std::move(document));
  }
  Descriptor add(const NewImage& image) {
    for (const NewLayer& layer : image.layers)
      add(NewBlob{layer.descriptor, layer.open, layer.origin});
    std::string config = to_bytes(config_json(image));
    const Descriptor described{media_type::config, digest_of(config), config.size(), {}};
    add(NewBlob{described, [blob = blob_of(std::move(config))]() -> Result<BlobPtr> { return blob; }, {}});
    Document manifest = document_of(media_type::manifest, manifest_json(image, described));
    const Descriptor result = descriptor_of(manifest);
    add(std::move(manifest));
    return result;
  }
  const Publication& publication() const { return publication_; }
  Publication take() { return std::move(publication_); }

private:
  Publication publication_;
  std::set<Digest> known_;
};

// Docker's media types and OCI's names for the same bytes.
std::string oci_type(const std::string& type) {
  static const std::map<std::string, std::string> types = {
      {media_type::docker_manifest, media_type::manifest},
      {media_type::docker_index, media_type::index},
      {media_type::docker_config, media_type::config},
      {media_type::docker_layer_gzip, media_type::layer_gzip},
      {"application/vnd.docker.image.rootfs.diff.tar", media_type::layer_tar},
      {"application/vnd.docker.image.rootfs.diff.tar.zstd", media_type::layer_zstd},
      {"application/vnd.docker.image.rootfs.foreign.diff.tar",
       "application/vnd.oci.image.layer.nondistributable.v1.tar"},
      {"application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
       "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"}};
  const auto found = types.find(type);
  return found == types.end() ? type : found->second;
}

// Reads a manifest or an index and everything that it names.
class PublicationReader {
public:
  // What it reads is added to `start`.
  PublicationReader(std::shared_ptr<const BlobSource> source, const Reference& reference, bool as_oci,
                    Publication start = {})
      : source_(std::move(source)), reference_(reference), as_oci_(as_oci), collector_(std::move(start)) {}

  // The descriptor of the document in the publication.
  Result<Descriptor> read(const Descriptor& descriptor, unsigned depth = 0) {
    const bool index = is_index_type(descriptor.media_type);
    const std::string name = (index ? "index " : "manifest ") + descriptor.digest.to_string();
    if (depth > 4)
      return make_error(ErrorKind::integrity, name + ": indexes are nested too deeply");
    if (const auto known = known_.find(descriptor.digest); known != known_.end())
      return known->second;
    if (known_.size() == document_limit)
      return make_error(ErrorKind::integrity,
                        name + ": the index lists more than " + std::to_string(document_limit) + " images");
    XAAS_TRY(std::string text,
             source_->read(descriptor, std::min(manifest_limit, document_bytes_limit - bytes_)));
    bytes_ += text.size();
    XAAS_TRY(Json json, parse_json(text, name, false, ErrorKind::integrity));
    // A document with two meanings (CVE-2021-41190).
    if (!json.is_object() || json.contains("manifests") != index || json.contains("layers") == index)
      return make_error(ErrorKind::integrity, name + ": its content does not match its media type, " +
                                                  (index ? "an index" : "a manifest"));
    // A document that names converted content changes itself.
    XAAS_TRY(bool changed, index ? read_index(json, name, depth) : read_manifest(json, name));
    Document document{descriptor.media_type, std::move(text), {}};
    if (const std::string type = oci_type(document.media_type); as_oci_ && type != document.media_type) {
      json["mediaType"] = document.media_type = type;
      changed = true;
    }
    if (changed)
      document.text = to_bytes(json);
    document.digest = digest_of(document.text);
    const Descriptor result = descriptor_of(document);
    collector_.add(std::move(document));
    known_[descriptor.digest] = result;
    return result;
  }

  const Publication& publication() const { return collector_.publication(); }
  Publication take() { return collector_.take(); }

private:
  // Returns whether the document has changed.
  Result<bool> read_index(Json& json, const std::string& name, unsigned depth) {
    XAAS_CHECK(parse_index(json.dump(), name));
    bool changed = false;
    for (size_t i = 0; i < json["manifests"].size(); ++i) {
      Json& entry = json["manifests"][i];
      XAAS_TRY(const Descriptor listed,
               parse_descriptor(JsonReader(entry, name + "/manifests/" + std::to_string(i))));
      if (!is_index_type(listed.media_type) && !is_manifest_type(listed.media_type)) {
        add_blob(listed);
        continue;
      }
      XAAS_TRY(const Descriptor stored, read(listed, depth + 1));
      if (stored.digest == listed.digest)
        continue;
      entry["mediaType"] = stored.media_type;
      entry["digest"] = stored.digest.to_string();
      entry["size"] = stored.size;
      changed = true;
    }
    return changed;
  }

  // Also accepts manifests of artifacts, with any configuration and layers.
  Result<bool> read_manifest(Json& json, const std::string& name) {
    if (!json.contains("config") || !json["layers"].is_array())
      return make_error(ErrorKind::integrity, name + ": it has no configuration or no layers");
    XAAS_TRY(bool changed, read_blob(json["config"], name + "/config"));
    for (size_t i = 0; i < json["layers"].size(); ++i) {
      XAAS_TRY(const bool layer, read_blob(json["layers"][i], name + "/layers/" + std::to_string(i)));
      changed = changed || layer;
    }
    return changed;
  }

  Result<bool> read_blob(Json& json, const std::string& where) {
    XAAS_TRY(const Descriptor blob, parse_descriptor(JsonReader(json, where)));
    add_blob(blob);
    const std::string type = oci_type(blob.media_type);
    if (!as_oci_ || type == blob.media_type)
      return false;
    json["mediaType"] = type;
    return true;
  }

  void add_blob(const Descriptor& blob) {
    collector_.add(NewBlob{
        blob, [source = source_, blob]() -> Result<BlobPtr> { return source->stream(blob); }, reference_});
  }

  std::shared_ptr<const BlobSource> source_;
  Reference reference_;
  bool as_oci_;
  std::map<Digest, Descriptor> known_; // the descriptors of documents as read and as converted
  uint64_t bytes_ = 0;                 // of all documents
  Collector collector_;
};

} // namespace

uint64_t Publication::bytes() const {
  uint64_t bytes = 0;
  for (const NewBlob& blob : blobs)
    bytes += blob.descriptor.size;
  return bytes;
}

Publication publication_of(const NewImage& image) {
  Collector collector;
  collector.add(image);
  return collector.take();
}

Digest manifest_digest(const NewImage& image) {
  return publication_of(image).root().digest;
}

Publication publication_of(const std::vector<NewImage>& images) {
  std::vector<ListedImage> listed;
  for (const NewImage& image : images)
    listed.push_back({publication_of(image), image.config.architecture, {}, {}});
  return index_of(std::move(listed));
}

Publication index_of(std::vector<ListedImage> images) {
  Collector collector;
  Json index = new_index();
  Json common; // annotations of all images
  for (ListedImage& listed : images) {
    Json entry = descriptor_json(descriptor_of(listed.image.root()));
    entry["platform"] = {{"architecture", listed.architecture}, {"os", "linux"}};
    if (!listed.variant.empty())
      entry["platform"]["variant"] = listed.variant;
    if (!listed.annotations.empty())
      entry["annotations"] = listed.annotations;
    index["manifests"].push_back(std::move(entry));
    const Json manifest = Json::parse(listed.image.root().text, nullptr, false);
    const Json own = manifest.value("annotations", Json::object());
    if (common.is_null())
      common = own;
    Json left = Json::object();
    for (const auto& [key, value] : common.items())
      if (own.contains(key) && own[key] == value)
        left[key] = value;
    common = std::move(left);
    for (NewBlob& blob : listed.image.blobs)
      collector.add(std::move(blob));
    for (Document& document : listed.image.documents)
      collector.add(std::move(document));
  }
  if (!common.empty())
    index["annotations"] = common;
  collector.add(document_of(media_type::index, index));
  return collector.take();
}

Result<Publication> read_publication(const std::shared_ptr<const BlobSource>& source, const Descriptor& root,
                                     const Reference& reference, const ReadOptions& options) {
  Descriptor wanted = root;
  if (options.architecture) {
    XAAS_TRY(wanted, resolve(*source, root, *options.architecture).in(reference.text));
  }
  PublicationReader reader(source, reference, options.as_oci);
  XAAS_CHECK(reader.read(wanted).in(reference.text));
  Publication publication = reader.take();
  publication.source = wanted.digest;
  return publication;
}

namespace {

// Reads the referrers of the documents of a publication, then theirs.
class ReferrerReader {
public:
  ReferrerReader(Publication publication, const FindReferrers& find,
                 const std::shared_ptr<const BlobSource>& source, const Reference& reference,
                 const OnSkipped& skipped)
      : find_(find), source_(source), skipped_(skipped), own_(publication.documents.size()),
        reader_(source, reference, false, std::move(publication)) {
    for (const Document& document : reader_.publication().documents)
      content_.insert(document.digest);
  }

  Result<std::vector<Referrer>> read() {
    for (size_t i = 0; i < reader_.publication().documents.size(); ++i) {
      const Digest subject = reader_.publication().documents[i].digest;
      XAAS_TRY(const std::vector<Referrer> found, find_(subject, i < own_));
      for (const Referrer& each : found)
        XAAS_CHECK(add(each, subject));
    }
    return std::move(added_);
  }

  // With the root at the end again.
  Publication take() {
    Publication publication = reader_.take();
    const auto root = publication.documents.begin() + static_cast<std::ptrdiff_t>(own_) - 1;
    std::rotate(root, root + 1, publication.documents.end());
    publication.tags = std::move(tags_);
    return publication;
  }

private:
  Result<void> add(Referrer referrer, const Digest& subject) {
    if (!known_.emplace(referrer.descriptor.digest, referrer.tag, subject).second)
      return {};
    if (known_.size() > referrer_limit)
      return make_error(ErrorKind::integrity, "more than " + std::to_string(referrer_limit) + " referrers");
    // A document of the image itself must not be united with signatures.
    if (!referrer.tag.empty() && content_.contains(referrer.descriptor.digest))
      return {};
    const bool manifest = is_manifest_type(referrer.descriptor.media_type);
    if (!manifest && (!referrer.tag.empty() || !is_index_type(referrer.descriptor.media_type))) {
      skip(subject, "of the type '" + referrer.descriptor.media_type.substr(0, 100) + "'");
      return {};
    }
    Result<std::string> read = source_->read(referrer.descriptor, manifest_limit);
    if (!read && read.error().kind == ErrorKind::unsatisfied) {
      skip(subject, read.error().message);
      return {};
    }
    XAAS_TRY(const std::string text, std::move(read));
    XAAS_TRY(const std::optional<Referrer> stated, as_referrer(referrer.descriptor.media_type, text));
    if (referrer.tag.empty() && (!stated || stated->subject != subject))
      return {};
    XAAS_TRY([[maybe_unused]] const Descriptor stored, reader_.read(referrer.descriptor));
    if (!referrer.tag.empty())
      tags_.emplace(referrer.tag, referrer.descriptor.digest);
    if (stated)
      referrer.type = stated->type;
    referrer.subject = subject;
    added_.push_back(std::move(referrer));
    return {};
  }

  void skip(const Digest& subject, const std::string& why) {
    std::string text = "a referrer of " + subject.to_string() + " is not copied: " + printable(why);
    std::replace(text.begin(), text.end(), '\n', ' ');
    skipped_(text);
  }

  // A hostile list must not make the reader fetch without end.
  static constexpr size_t referrer_limit = 1000;
  const FindReferrers& find_;
  const std::shared_ptr<const BlobSource>& source_;
  const OnSkipped& skipped_;
  const size_t own_;         // documents before referrers were added
  std::set<Digest> content_; // those documents
  PublicationReader reader_;
  std::vector<Referrer> added_;
  std::map<std::string, Digest> tags_;
  std::set<std::tuple<Digest, std::string, Digest>> known_; // each with the subject it was found for
};

} // namespace

Result<std::vector<Referrer>> add_referrers(Publication& publication, const FindReferrers& find,
                                            const std::shared_ptr<const BlobSource>& source,
                                            const Reference& reference, const OnSkipped& skipped) {
  ReferrerReader reader(publication, find, source, reference, skipped);
  XAAS_TRY(std::vector<Referrer> added, reader.read().in("referrers of " + reference.text));
  publication = reader.take();
  return added;
}

NewLayer layer_of(const Image& image, size_t index) {
  NewLayer layer;
  layer.descriptor = image.manifest().layers[index];
  if (layer.descriptor.media_type == media_type::docker_layer_gzip)
    layer.descriptor.media_type = media_type::layer_gzip; // the content is the same
  layer.diff_id = image.config().diff_ids[index];
  layer.created_by = image.config().history[index];
  layer.origin = image.reference();
  layer.open = [&image, index] { return image.open_blob(image.manifest().layers[index]); };
  return layer;
}

} // namespace xaas::oci
