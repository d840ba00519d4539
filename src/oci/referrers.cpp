#include "image_json.h"
#include "layout_lock.h"
#include "stored_source.h"

#include <xaas/base/umask.h>
#include <xaas/oci/referrers.h>

#include <algorithm>

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

// The subject and type of a manifest, or nothing if it has no subject.
Result<std::optional<Referrer>> as_referrer(const std::string& manifest, const Descriptor& descriptor,
                                            const Digest& subject) {
  const std::string where = "manifest " + descriptor.digest.to_string();
  XAAS_TRY(const Json json, parse_json(manifest, where, false, ErrorKind::integrity));
  const JsonReader reader(json, where);
  if (!reader.has("subject"))
    return std::optional<Referrer>();
  XAAS_TRY(const JsonReader of, reader.at("subject"));
  XAAS_TRY(const Descriptor about, parse_descriptor(of));
  if (about.digest != subject)
    return std::optional<Referrer>();
  Referrer referrer{"", descriptor};
  XAAS_TRY(referrer.type, reader.string_or("artifactType", ""));
  if (referrer.type.empty()) { // then the config's type counts
    XAAS_TRY(const JsonReader config, reader.at("config"));
    XAAS_TRY(referrer.type, config.string_at("mediaType"));
  }
  return std::optional(std::move(referrer));
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
  index["manifests"].push_back(to_json({artifact.type, rendered.descriptor}));
  if (!lock.held())
    return make_error(ErrorKind::failed, what + ": this process was stopped for too long",
                      "run the command again");
  XAAS_CHECK(write_file(file, to_bytes(index)).in(what));
  return rendered.descriptor.digest;
}

Result<std::vector<Referrer>> referrers(const Reference& reference, const Digest& subject,
                                        const std::string& type) {
  XAAS_TRY(const std::unique_ptr<StoredSource> source, open_source(reference));
  XAAS_TRY(const std::string text, source->index().in(reference.text));
  XAAS_TRY(const Json index, parse_index(text, reference.text + ": index.json"));
  std::vector<Referrer> found;
  for (const Json& entry : index["manifests"]) {
    const JsonReader reader(entry, reference.text + ": index.json");
    XAAS_TRY(const Descriptor descriptor, parse_descriptor(reader));
    if (!is_manifest_type(descriptor.media_type))
      continue;
    XAAS_TRY(const std::string manifest, source->read(descriptor, manifest_limit).in(reference.text));
    XAAS_TRY(const std::optional<Referrer> referrer,
             as_referrer(manifest, descriptor, subject).in(reference.text));
    if (referrer && (type.empty() || referrer->type == type))
      found.push_back(*referrer);
  }
  return found;
}

} // namespace xaas::oci
