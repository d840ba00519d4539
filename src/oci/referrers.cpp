#include "image_json.h"
#include "layout_lock.h"
#include "stored_source.h"

#include <xaas/base/umask.h>
#include <xaas/oci/referrers.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace xaas::oci {

namespace {

constexpr const char* empty_type = "application/vnd.oci.empty.v1+json";

Result<void> write_blob(const fs::path& layout, const std::string& content) {
  const fs::path directory = layout / "blobs" / "sha256";
  XAAS_CHECK(make_directories(directory));
  const Digest digest = digest_of(content);
  if (const auto known = digest_of_file(directory / digest.hex()); known && *known == digest)
    return {};
  return write_file(directory / digest.hex(), content);
}

} // namespace

RenderedArtifact render(const Artifact& artifact) {
  const std::string empty = empty_config;
  const Descriptor config{empty_type, digest_of(empty), empty.size(), {}};
  const Descriptor blob{artifact.type, digest_of(artifact.content), artifact.content.size(), {}};
  Json json = {{"schemaVersion", 2},
               {"mediaType", media_type::manifest},
               {"artifactType", artifact.type},
               {"config", descriptor_json(config)},
               {"layers", Json::array({descriptor_json(blob)})},
               {"subject", descriptor_json(artifact.subject)}};
  if (!artifact.annotations.empty())
    json["annotations"] = artifact.annotations;
  RenderedArtifact rendered;
  rendered.manifest = to_bytes(json);
  rendered.descriptor = {media_type::manifest, digest_of(rendered.manifest), rendered.manifest.size(),
                         artifact.annotations};
  return rendered;
}

std::string digest_tag(const Digest& digest, const std::string& suffix) {
  return "sha256-" + digest.hex() + suffix;
}

std::optional<Digest> digest_in_tag(const std::string& tag) {
  constexpr std::string_view prefix = "sha256-";
  constexpr size_t length = prefix.size() + 2 * Digest::size;
  if (!tag.starts_with(prefix) || tag.size() < length)
    return std::nullopt;
  // An unknown suffix could be a path in a registry.
  const std::string_view suffix = std::string_view(tag).substr(length);
  if (!suffix.empty() &&
      std::find(std::begin(cosign_suffixes), std::end(cosign_suffixes), suffix) == std::end(cosign_suffixes))
    return std::nullopt;
  const Result<Digest> digest = Digest::parse("sha256:" + tag.substr(prefix.size(), 2 * Digest::size));
  return digest ? std::optional(*digest) : std::nullopt;
}

Result<std::optional<Referrer>> as_referrer(const std::string& media_type, const std::string& text) {
  Referrer referrer;
  referrer.descriptor = {media_type, digest_of(text), text.size(), {}};
  const std::string where = "manifest " + referrer.descriptor.digest.to_string();
  XAAS_TRY(const Json json, parse_json(text, where, false, ErrorKind::integrity));
  const JsonReader reader(json, where);
  const std::optional<JsonReader> of = reader.find("subject");
  const Result<Descriptor> about =
      of ? parse_descriptor(*of) : Result<Descriptor>(make_error(ErrorKind::integrity, where));
  if (!about)
    return std::optional<Referrer>();
  referrer.subject = about->digest;
  const auto text_at = [](const std::optional<JsonReader>& object, const char* key) {
    const std::optional<JsonReader> member = object ? object->find(key) : std::nullopt;
    const Result<std::string> found =
        member ? member->string() : Result<std::string>(make_error(ErrorKind::integrity, key));
    return found ? *found : std::string();
  };
  referrer.type = text_at(reader, "artifactType");
  if (referrer.type.empty())
    referrer.type = text_at(reader.find("config"), "mediaType");
  if (const auto annotations = json.find("annotations");
      annotations != json.end() && annotations->is_object())
    for (const auto& [key, value] : annotations->items())
      if (value.is_string())
        referrer.descriptor.annotations[key] = value.get<std::string>();
  return std::optional(std::move(referrer));
}

Json to_json(const Referrer& referrer) {
  Json json = descriptor_json(referrer.descriptor);
  if (!referrer.type.empty()) // the specification wants it omitted
    json["artifactType"] = referrer.type;
  return json;
}

Result<Referrer> parse_referrer(const JsonReader& reader) {
  Referrer referrer;
  XAAS_TRY(referrer.descriptor, parse_descriptor(reader));
  XAAS_TRY(referrer.type, reader.string_or("artifactType", ""));
  return referrer;
}

Result<Digest> attach(const Reference& layout, const Artifact& artifact) {
  const std::string what = "attaching to " + layout.text;
  const UserUmask users;
  std::error_code code;
  if (layout.transport != Transport::layout || !fs::exists(layout.path / "oci-layout", code))
    return make_error(ErrorKind::usage, what + ": not an image layout");
  const RenderedArtifact rendered = render(artifact);
  for (const std::string& blob : {artifact.content, std::string(empty_config), rendered.manifest})
    XAAS_CHECK(write_blob(layout.path, blob).in(what));
  XAAS_TRY(const LayoutLock lock, LayoutLock::acquire(layout.path));
  const fs::path file = layout.path / "index.json";
  XAAS_TRY(const std::string text, read_file(file, manifest_limit).in(what));
  XAAS_TRY(Json index, parse_index(text, file.string()));
  const Json& entries = index["manifests"];
  const std::string digest = rendered.descriptor.digest.to_string();
  if (std::any_of(entries.begin(), entries.end(),
                  [&](const Json& entry) { return entry.contains("digest") && entry["digest"] == digest; }))
    return rendered.descriptor.digest;
  index["manifests"].push_back(to_json({artifact.type, rendered.descriptor, artifact.subject.digest, ""}));
  if (!lock.held())
    return make_error(ErrorKind::failed, what + ": this process was stopped for too long",
                      "run the command again");
  XAAS_CHECK(write_file(file, to_bytes(index)).in(what));
  return rendered.descriptor.digest;
}

namespace {

using OnReferrer = std::function<void(Referrer referrer)>;

void each_referrer(const StoredSource& source, const Json& index, const std::string& where,
                   const OnSkipped& skipped, const OnReferrer& found, bool nested);

Result<void> read_entry(const StoredSource& source, const JsonReader& entry, const OnSkipped& skipped,
                        const OnReferrer& found, bool nested) {
  XAAS_TRY(const Descriptor descriptor, parse_descriptor(entry));
  if (!is_manifest_type(descriptor.media_type) && !is_index_type(descriptor.media_type))
    return {};
  XAAS_TRY(const std::string text, source.read(descriptor, manifest_limit));
  XAAS_TRY(const std::optional<Referrer> referrer, as_referrer(descriptor.media_type, text));
  if (referrer)
    found(*referrer);
  const auto tag = descriptor.annotations.find(tag_annotation);
  const auto about = tag == descriptor.annotations.end() ? std::nullopt : digest_in_tag(tag->second);
  if (!about || nested)
    return {};
  if (tag->second != digest_tag(*about)) {
    found({"", descriptor, *about, tag->second});
    return {};
  }
  if (!is_index_type(descriptor.media_type))
    return {};
  // A list that was copied from a registry.
  XAAS_TRY(const Json list, parse_index(text, name_of(descriptor)));
  each_referrer(source, list, name_of(descriptor), skipped, found, true);
  return {};
}

// What the entries of an index refer to, in its order.
void each_referrer(const StoredSource& source, const Json& index, const std::string& where,
                   const OnSkipped& skipped, const OnReferrer& found, bool nested) {
  for (const Json& entry : index["manifests"])
    if (const Result<void> read = read_entry(source, JsonReader(entry, where), skipped, found, nested); !read)
      skipped(where + ": an entry that may refer to the image cannot be read: " + read.error().message);
}

} // namespace

Result<FindReferrers> stored_referrers(const Reference& reference, const OnSkipped& skipped) {
  XAAS_TRY(const std::unique_ptr<StoredSource> source, open_source(reference));
  XAAS_TRY(const std::string text, source->index().in(reference.text));
  const std::string where = reference.text + ": index.json";
  XAAS_TRY(const Json index, parse_index(text, where));
  auto found = std::make_shared<std::multimap<Digest, Referrer>>();
  const auto keep = [&](Referrer referrer) {
    const Digest subject = referrer.subject;
    found->emplace(subject, std::move(referrer));
  };
  each_referrer(*source, index, where, skipped, keep, false);
  return FindReferrers([found](const Digest& subject, bool tagged) -> Result<std::vector<Referrer>> {
    std::vector<Referrer> list;
    for (auto [it, end] = found->equal_range(subject); it != end; ++it)
      if (tagged || it->second.tag.empty())
        list.push_back(it->second);
    return list;
  });
}

namespace {

// A signature is in the annotations of its layer.
using SignatureLayer = std::pair<Digest, std::map<std::string, std::string>>;

Result<std::set<SignatureLayer>> signatures_in(const Document& document) {
  XAAS_TRY(const std::vector<Descriptor> layers,
           layers_of(document.text, "manifest " + document.digest.to_string()));
  std::set<SignatureLayer> all;
  for (const Descriptor& layer : layers)
    all.emplace(layer.digest, layer.annotations);
  return all;
}

} // namespace

Result<Signatures> unite_signatures(const std::string& tag, const Document& ours, const Document& theirs,
                                    const BlobSource& source) {
  if (tag.ends_with(".sbom") || ours.digest == theirs.digest)
    return Signatures{theirs, {}};
  XAAS_TRY(const std::set<SignatureLayer> our_layers, signatures_in(ours));
  XAAS_TRY(const std::set<SignatureLayer> their_layers, signatures_in(theirs));
  if (std::includes(our_layers.begin(), our_layers.end(), their_layers.begin(), their_layers.end()))
    return Signatures{ours, {}};
  if (std::includes(their_layers.begin(), their_layers.end(), our_layers.begin(), our_layers.end()))
    return Signatures{theirs, {}};

  const std::string where = "manifest " + theirs.digest.to_string();
  XAAS_TRY(Json manifest, parse_json(theirs.text, where, false, ErrorKind::integrity));
  XAAS_TRY(const JsonReader described, JsonReader(manifest, where).at("config"));
  XAAS_TRY(const Descriptor old, parse_descriptor(described));
  XAAS_TRY(const std::string text, source.read(old, config_limit));
  XAAS_TRY(Json config, parse_json(text, name_of(old), false, ErrorKind::integrity));
  // Other tools leave the configuration empty.
  Json* const rootfs = config.is_object() && config.contains("rootfs") ? &config["rootfs"] : nullptr;
  Json* const ids =
      rootfs && rootfs->is_object() && rootfs->contains("diff_ids") ? &(*rootfs)["diff_ids"] : nullptr;
  XAAS_TRY(const std::vector<Descriptor> layers, layers_of(ours.text, "manifest " + ours.digest.to_string()));
  for (const Descriptor& layer : layers) {
    if (their_layers.contains({layer.digest, layer.annotations}))
      continue;
    manifest["layers"].push_back(descriptor_json(layer));
    if (ids && ids->is_array())
      ids->push_back(layer.digest.to_string()); // payloads are not compressed
  }
  std::string bytes = to_bytes(config);
  const Descriptor changed{old.media_type, digest_of(bytes), bytes.size(), {}};
  manifest["config"]["digest"] = changed.digest.to_string();
  manifest["config"]["size"] = changed.size;
  Signatures united{
      {theirs.media_type, to_bytes(manifest), {}},
      NewBlob{changed, [blob = blob_of(std::move(bytes))]() -> Result<BlobPtr> { return blob; }, {}}};
  united.document.digest = digest_of(united.document.text);
  return united;
}

} // namespace xaas::oci
