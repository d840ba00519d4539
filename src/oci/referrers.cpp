#include "image_json.h"
#include "layout_lock.h"
#include "stored_source.h"

#include <xaas/base/umask.h>
#include <xaas/oci/referrers.h>

#include <algorithm>
#include <map>

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
  if (!tag.starts_with(prefix) || tag.size() < length || (tag.size() > length && tag[length] != '.'))
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
  if (!reader.has("subject"))
    return std::optional<Referrer>();
  XAAS_TRY(const JsonReader of, reader.at("subject"));
  XAAS_TRY(const Descriptor about, parse_descriptor(of));
  referrer.subject = about.digest;
  XAAS_TRY(referrer.type, reader.string_or("artifactType", ""));
  if (referrer.type.empty() && reader.has("config")) {
    XAAS_TRY(const JsonReader config, reader.at("config"));
    XAAS_TRY(referrer.type, config.string_at("mediaType"));
  }
  if (const auto annotations = json.find("annotations"); annotations != json.end())
    for (const auto& [key, value] : annotations->items())
      if (value.is_string())
        referrer.descriptor.annotations[key] = value.get<std::string>();
  return std::optional(std::move(referrer));
}

Json to_json(const Referrer& referrer) {
  Json json = descriptor_json(referrer.descriptor);
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

// What the entries of an index refer to, in its order, each entry that is a manifest or an index.
using OnReferrer = std::function<void(Referrer referrer)>;
using OnUnreadable = std::function<Result<void>(Error error)>;

Result<void> each_referrer(const StoredSource& source, const Json& index, const std::string& where,
                           const OnUnreadable& unreadable, const OnReferrer& found, bool nested = false) {
  for (const Json& entry : index["manifests"]) {
    const JsonReader reader(entry, where);
    XAAS_TRY(const Descriptor descriptor, parse_descriptor(reader));
    if (!is_manifest_type(descriptor.media_type) && !is_index_type(descriptor.media_type))
      continue;
    Result<std::string> text = source.read(descriptor, manifest_limit);
    if (!text) {
      XAAS_CHECK(unreadable(std::move(text).error()));
      continue;
    }
    Result<std::optional<Referrer>> referrer = as_referrer(descriptor.media_type, *text);
    if (!referrer) {
      XAAS_CHECK(unreadable(std::move(referrer).error()));
      continue;
    }
    if (*referrer)
      found(**referrer);
    const auto tag = descriptor.annotations.find(tag_annotation);
    const auto about = tag == descriptor.annotations.end() ? std::nullopt : digest_in_tag(tag->second);
    if (!about || nested)
      continue;
    if (tag->second != digest_tag(*about)) {
      found({"", descriptor, *about, tag->second});
    } else if (is_index_type(descriptor.media_type)) { // a list that was copied from a registry
      XAAS_TRY(const Json list, parse_index(*text, name_of(descriptor)));
      XAAS_CHECK(each_referrer(source, list, name_of(descriptor), unreadable, found, true));
    }
  }
  return {};
}

} // namespace

Result<std::vector<Referrer>> referrers(const Reference& reference, const Digest& subject,
                                        const std::string& type) {
  XAAS_TRY(const std::unique_ptr<StoredSource> source, open_source(reference));
  XAAS_TRY(const std::string text, source->index().in(reference.text));
  const std::string where = reference.text + ": index.json";
  XAAS_TRY(const Json index, parse_index(text, where));
  std::vector<Referrer> found;
  const auto unreadable = [&](Error error) -> Result<void> { return std::move(error).in(reference.text); };
  XAAS_CHECK(each_referrer(*source, index, where, unreadable, [&](Referrer referrer) {
    if (referrer.subject == subject && referrer.tag.empty() && (type.empty() || referrer.type == type))
      found.push_back(std::move(referrer));
  }));
  return found;
}

Result<FindReferrers> stored_referrers(const Reference& reference,
                                       const std::function<void(const std::string&)>& skipped) {
  XAAS_TRY(const std::unique_ptr<StoredSource> source, open_source(reference));
  XAAS_TRY(const std::string text, source->index().in(reference.text));
  const std::string where = reference.text + ": index.json";
  XAAS_TRY(const Json index, parse_index(text, where));
  auto found = std::make_shared<std::multimap<Digest, Referrer>>();
  const auto unreadable = [&](const Error& error) -> Result<void> {
    skipped(where + ": an entry that may refer to the image cannot be read: " + error.message);
    return {};
  };
  XAAS_CHECK(each_referrer(*source, index, where, unreadable, [&](Referrer referrer) {
    const Digest subject = referrer.subject;
    found->emplace(subject, std::move(referrer));
  }));
  return FindReferrers([found](const Digest& subject, bool tagged) -> Result<std::vector<Referrer>> {
    std::vector<Referrer> list;
    for (auto [it, end] = found->equal_range(subject); it != end; ++it)
      if (tagged || it->second.tag.empty())
        list.push_back(it->second);
    return list;
  });
}

namespace {

const Json* layer_array(const Json& manifest) {
  const auto layers = manifest.is_object() ? manifest.find("layers") : manifest.end();
  return layers != manifest.end() && layers->is_array() ? &*layers : nullptr;
}

// The layers of `from` that `to` does not have. A layer includes its annotations, where its signature is.
Json lacking(const Json& to, const Json& from) {
  Json left = Json::array();
  for (const Json& layer : from)
    if (std::find(to.begin(), to.end(), layer) == to.end())
      left.push_back(layer);
  return left;
}

} // namespace

Result<Signatures> unite_signatures(const StoredDocument& ours, const StoredDocument& theirs) {
  const auto unknown = [](const Document& document, const std::string& reason) {
    return make_error(ErrorKind::integrity, "manifest " + document.digest.to_string() +
                                                ": not signatures as cosign stores them: " + reason);
  };
  const Json our_manifest = Json::parse(ours.document.text, nullptr, false);
  Json manifest = Json::parse(theirs.document.text, nullptr, false);
  for (const auto& [json, document] :
       {std::pair(&our_manifest, &ours.document), {&manifest, &theirs.document}})
    if (!layer_array(*json))
      return unknown(*document, "no layers");
  const Json left = lacking(*layer_array(manifest), *layer_array(our_manifest));
  if (lacking(*layer_array(our_manifest), *layer_array(manifest)).empty())
    return Signatures{ours.document, {}};
  if (left.empty())
    return Signatures{theirs.document, {}};

  XAAS_TRY(const JsonReader described,
           JsonReader(manifest, "manifest " + theirs.document.digest.to_string()).at("config"));
  XAAS_TRY(const Descriptor old, parse_descriptor(described));
  XAAS_TRY(const std::string text, theirs.source.read(old, config_limit));
  Json config = Json::parse(text, nullptr, false);
  const auto rootfs = config.is_object() ? config.find("rootfs") : config.end();
  if (rootfs == config.end() || !rootfs->is_object() || !rootfs->contains("diff_ids") ||
      !(*rootfs)["diff_ids"].is_array())
    return unknown(theirs.document, "its configuration has no diff_ids");
  for (const Json& layer : left) {
    manifest["layers"].push_back(layer);
    (*rootfs)["diff_ids"].push_back(layer["digest"]); // payloads are not compressed
  }
  std::string bytes = to_bytes(config);
  const Descriptor changed{old.media_type, digest_of(bytes), bytes.size(), {}};
  manifest["config"]["digest"] = changed.digest.to_string();
  manifest["config"]["size"] = changed.size;
  Signatures united{
      {theirs.document.media_type, to_bytes(manifest), {}},
      NewBlob{changed, [blob = blob_of(std::move(bytes))]() -> Result<BlobPtr> { return blob; }, {}}};
  united.document.digest = digest_of(united.document.text);
  return united;
}

} // namespace xaas::oci
