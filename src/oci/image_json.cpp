#include "image_json.h"

#include <xaas/base/text.h>

#include <set>

namespace xaas::oci {

namespace {

// Docker writes null where OCI omits a key, so the following accept both.

Result<std::string> optional_string(const JsonReader& reader, const std::string& key) {
  const std::optional<JsonReader> member = reader.find(key);
  return member ? member->string() : Result<std::string>(std::string());
}

Result<std::vector<std::string>> optional_strings(const JsonReader& reader, const std::string& key) {
  const std::optional<JsonReader> member = reader.find(key);
  return member ? member->strings() : Result<std::vector<std::string>>(std::vector<std::string>());
}

Result<std::map<std::string, std::string>> optional_map(const JsonReader& reader, const std::string& key) {
  const std::optional<JsonReader> member = reader.find(key);
  return member ? member->string_map()
                : Result<std::map<std::string, std::string>>(std::map<std::string, std::string>());
}

Result<void> check_schema_version(const JsonReader& reader) {
  XAAS_TRY(const JsonReader version, reader.at("schemaVersion"));
  XAAS_TRY(const int64_t number, version.integer());
  if (number != 2)
    return make_error(ErrorKind::unsatisfied, reader.where() + ": schema version " + std::to_string(number) +
                                                  "; this version reads 2");
  return {};
}

Result<std::vector<std::string>> parse_history(const JsonReader& config, size_t layers) {
  std::vector<std::string> history;
  if (const std::optional<JsonReader> list = config.find("history")) {
    XAAS_TRY(const std::vector<JsonReader> items, list->items());
    for (const JsonReader& item : items) {
      XAAS_TRY(const bool empty, item.boolean_or("empty_layer", false));
      if (empty)
        continue;
      XAAS_TRY(std::string created_by, optional_string(item, "created_by"));
      history.push_back(std::move(created_by));
    }
  }
  history.resize(layers); // the history is optional and informative
  return history;
}

} // namespace

Json process_json(const ImageConfig& config) {
  Json process = Json::object();
  for (const auto& [key, strings] : {std::pair("Entrypoint", &config.entrypoint),
                                     std::pair("Cmd", &config.cmd), std::pair("Env", &config.env)})
    if (!strings->empty())
      process[key] = *strings;
  if (!config.working_directory.empty())
    process["WorkingDir"] = config.working_directory;
  if (!config.labels.empty())
    process["Labels"] = config.labels;
  process.update(config.others);
  return process;
}

Result<void> parse_process(const JsonReader& reader, ImageConfig& config) {
  XAAS_TRY(config.entrypoint, optional_strings(reader, "Entrypoint"));
  XAAS_TRY(config.cmd, optional_strings(reader, "Cmd"));
  XAAS_TRY(config.env, optional_strings(reader, "Env"));
  XAAS_TRY(config.working_directory, optional_string(reader, "WorkingDir"));
  XAAS_TRY(config.labels, optional_map(reader, "Labels"));
  const std::set<std::string> fields = {"Entrypoint", "Cmd", "Env", "WorkingDir", "Labels"};
  config.others = Json::object();
  if (reader.json().is_object())
    for (const auto& [key, value] : reader.json().items())
      if (!fields.contains(key) && !value.is_null())
        config.others[key] = value;
  return {};
}

bool is_manifest_type(const std::string& type) {
  return type == media_type::manifest || type == media_type::docker_manifest;
}

std::string manifest_type(const std::string& text) {
  const Result<Json> json = parse_json(text, "manifest");
  if (!json || !json->is_object())
    return {};
  const JsonReader reader(*json, "manifest");
  if (const Result<std::string> type = optional_string(reader, "mediaType"); type && !type->empty())
    return *type;
  return reader.has("manifests") ? media_type::index : reader.has("layers") ? media_type::manifest : "";
}

bool is_index_type(const std::string& type) {
  return type == media_type::index || type == media_type::docker_index;
}

Result<Descriptor> parse_descriptor(const JsonReader& reader) {
  Descriptor descriptor;
  XAAS_TRY(descriptor.media_type, reader.string_at("mediaType"));
  XAAS_TRY(const std::string digest, reader.string_at("digest"));
  XAAS_TRY(descriptor.digest, Digest::parse(digest).in(reader.where() + "/digest"));
  XAAS_TRY(const JsonReader size, reader.at("size"));
  XAAS_TRY(descriptor.size, size.size());
  XAAS_TRY(descriptor.annotations, optional_map(reader, "annotations"));
  return descriptor;
}

static Result<std::vector<Descriptor>> read_layers(const JsonReader& manifest) {
  XAAS_TRY(const JsonReader layers, manifest.at("layers"));
  XAAS_TRY(const std::vector<JsonReader> items, layers.items());
  std::vector<Descriptor> found;
  for (const JsonReader& item : items) {
    XAAS_TRY(Descriptor layer, parse_descriptor(item));
    found.push_back(std::move(layer));
  }
  return found;
}

Result<std::vector<Descriptor>> layers_of(const std::string& manifest, const std::string& where) {
  XAAS_TRY(const Json json, parse_json(manifest, where, false, ErrorKind::integrity));
  return read_layers(JsonReader(json, where));
}

Result<Manifest> parse_manifest(const std::string& text, const std::string& where) {
  XAAS_TRY(const Json json, parse_json(text, where, false, ErrorKind::integrity));
  const JsonReader reader(json, where);
  XAAS_CHECK(check_schema_version(reader));
  XAAS_TRY(const std::string type, optional_string(reader, "mediaType"));
  // A document with two meanings (CVE-2021-41190).
  if ((!type.empty() && !is_manifest_type(type)) || reader.has("manifests") || reader.has("fsLayers"))
    return make_error(ErrorKind::integrity,
                      where + ": its media type is a manifest, but it is also something else");
  Manifest manifest;
  XAAS_TRY(const JsonReader config, reader.at("config"));
  XAAS_TRY(manifest.config, parse_descriptor(config));
  if (manifest.config.media_type != media_type::config &&
      manifest.config.media_type != media_type::docker_config)
    return make_error(ErrorKind::usage, where +
                                            ": not a container image: its configuration is of the type '" +
                                            manifest.config.media_type + "'");
  XAAS_TRY(manifest.layers, read_layers(reader));
  XAAS_TRY(manifest.annotations, optional_map(reader, "annotations"));
  return manifest;
}

Result<ImageConfig> parse_config(const std::string& text, const std::string& where, size_t layers) {
  XAAS_TRY(const Json json, parse_json(text, where, false, ErrorKind::integrity));
  const JsonReader reader(json, where);
  ImageConfig config;
  XAAS_TRY(config.architecture, reader.string_at("architecture"));
  XAAS_TRY(config.os, reader.string_at("os"));
  XAAS_TRY(config.created, optional_string(reader, "created"));
  if (const std::optional<JsonReader> process = reader.find("config")) {
    XAAS_CHECK(parse_process(*process, config));
  }
  XAAS_TRY(const JsonReader rootfs, reader.at("rootfs"));
  XAAS_TRY(const std::vector<std::string> diff_ids, optional_strings(rootfs, "diff_ids"));
  for (const std::string& diff_id : diff_ids) {
    XAAS_TRY(const Digest digest, Digest::parse(diff_id).in(where + "/rootfs/diff_ids"));
    config.diff_ids.push_back(digest);
  }
  if (config.diff_ids.size() != layers)
    return make_error(ErrorKind::integrity, where + ": " + std::to_string(config.diff_ids.size()) +
                                                " diff_ids for the manifest's " + std::to_string(layers) +
                                                " layers");
  XAAS_TRY(config.history, parse_history(reader, layers));
  return config;
}

Result<Json> parse_index(const std::string& text, const std::string& where) {
  XAAS_TRY(Json json, parse_json(text, where, false, ErrorKind::integrity));
  const JsonReader reader(json, where);
  XAAS_CHECK(check_schema_version(reader));
  if (reader.has("layers") || reader.has("config"))
    return make_error(ErrorKind::integrity,
                      where + ": its media type is an index, but it is also something else");
  XAAS_TRY(const JsonReader manifests, reader.at("manifests"));
  XAAS_TRY(const std::vector<JsonReader> items, manifests.items());
  for (const JsonReader& item : items)
    if (!item.json().is_object())
      return item.wrong("an object");
  return json;
}

Result<void> check_layout_version(const std::string& text, const std::string& where) {
  XAAS_TRY(const Json json, parse_json(text, where, false, ErrorKind::integrity));
  XAAS_TRY(const std::string version, JsonReader(json, where).string_at("imageLayoutVersion"));
  if (version != layout_version)
    return make_error(ErrorKind::unsatisfied,
                      where + ": image layout version " + version + "; this version reads " + layout_version);
  return {};
}

Json descriptor_json(const Descriptor& descriptor) {
  Json json = {{"mediaType", descriptor.media_type},
               {"digest", descriptor.digest.to_string()},
               {"size", descriptor.size}};
  if (!descriptor.annotations.empty())
    json["annotations"] = descriptor.annotations;
  return json;
}

Json new_index() {
  return {{"schemaVersion", 2}, {"mediaType", media_type::index}, {"manifests", Json::array()}};
}

std::string layout_file() {
  return to_bytes(Json{{"imageLayoutVersion", layout_version}});
}

std::string to_bytes(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace xaas::oci
