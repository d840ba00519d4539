#include <xaas/base/text.h>
#include <xaas/image/packages.h>

#include <cstdlib>
#include <filesystem>

namespace xaas::image {

namespace {

Json image_json(const spec::Image& image) {
  return Json{
      {"base", image.base}, {"prefix", image.prefix}, {"entrypoint", image.entrypoint}, {"env", image.env}};
}

Json files_json(const std::vector<link::InstalledFile>& files) {
  Json json = Json::array();
  for (const link::InstalledFile& file : files)
    json.push_back(link::to_json(file));
  return json;
}

Json configuration_json(const BundleConfiguration& configuration) {
  Json json{{"values", configuration.configuration.values()},
            {"arguments", configuration.arguments},
            {"installed", files_json(configuration.installed)},
            {"runtime", files_json(configuration.runtime)}};
  if (!configuration.base_libraries.empty())
    json["base_libraries"] = configuration.base_libraries;
  return json;
}

template <typename Value, typename Convert>
Json table_json(const std::map<Digest, Value>& table, Convert convert) {
  Json json = Json::object();
  for (const auto& [digest, value] : table)
    json[digest.to_string()] = convert(value);
  return json;
}

Json kit_json(const KitFile& file) {
  Json json{{"name", file.name}, {"size", file.size}};
  if (file.native) {
    json["native"] = true;
    json["reason"] = file.reason;
  }
  if (!file.kernels.empty())
    json["kernels"] = file.kernels;
  if (file.start)
    json["start"] = true;
  return json;
}

Json packages_json(const std::vector<Package>& packages) {
  Json json = Json::array();
  for (const Package& package : packages) {
    Json files = Json::array();
    for (const Digest& file : package.files)
      files.push_back(file.to_string());
    json.push_back(to_json(package));
    json.back()["files"] = std::move(files);
  }
  return json;
}

Result<std::vector<Package>> parse_packages(const JsonReader& bundle) {
  std::vector<Package> packages;
  if (!bundle.has("packages"))
    return packages;
  XAAS_TRY(const JsonReader list, bundle.at("packages"));
  XAAS_TRY(const std::vector<JsonReader> items, list.items());
  for (const JsonReader& item : items) {
    XAAS_TRY(Package package, parse_package(item));
    XAAS_TRY(const JsonReader files, item.at("files"));
    XAAS_TRY(const std::vector<std::string> digests, files.strings());
    for (const std::string& text : digests) {
      XAAS_TRY(const Digest digest, Digest::parse(text).in(files.where()));
      package.files.insert(digest);
    }
    packages.push_back(std::move(package));
  }
  return packages;
}

Json source_build_json(const SourceBuild& build) {
  Json configurations = Json::array();
  for (const spec::Configuration& configuration : build.configurations)
    configurations.push_back(configuration.values());
  return Json{{"application", spec::to_json(build.application)}, {"configurations", configurations}};
}

// "22.1.8" -> 22
int major_version(const std::string& version) {
  return std::atoi(version.c_str());
}

Result<void> check_versions(const JsonReader& reader, const std::string& name) {
  XAAS_TRY(const JsonReader format, reader.at("version"));
  XAAS_TRY(const int64_t number, format.integer());
  if (number > bundle_format)
    return make_error(ErrorKind::unsatisfied,
                      name + ": image format " + std::to_string(number) + " is newer than format " +
                          std::to_string(bundle_format) + ", which this xaas reads",
                      "use a newer xaas");
  XAAS_TRY(const std::string llvm, reader.string_at("llvm"));
  if (major_version(llvm) > major_version(llvm_version()))
    return make_error(ErrorKind::unsatisfied,
                      name + ": its IR was made by LLVM " + llvm + ", which is newer than LLVM " +
                          llvm_version() + " of this xaas",
                      "use a newer xaas");
  return {};
}

Result<std::vector<link::InstalledFile>> parse_files(const JsonReader& reader) {
  XAAS_TRY(const std::vector<JsonReader> items, reader.items());
  std::vector<link::InstalledFile> files;
  std::map<std::string, link::InstalledFile::Kind> kinds;
  for (const JsonReader& item : items) {
    XAAS_TRY(link::InstalledFile file, link::parse_installed_file(item));
    if (!kinds.emplace(file.path, file.kind).second)
      return make_error(ErrorKind::integrity, item.where() + ": '" + file.path + "' is there twice");
    files.push_back(std::move(file));
  }
  for (const auto& [path, kind] : kinds)
    for (std::filesystem::path above = std::filesystem::path(path).parent_path(); !above.empty();
         above = above.parent_path())
      if (const auto found = kinds.find(above.string());
          found != kinds.end() && found->second != link::InstalledFile::Kind::directory)
        return make_error(ErrorKind::integrity, reader.where() + ": '" + path + "' lies below '" +
                                                    found->first + "', which is not a directory");
  return files;
}

Result<std::optional<SourceBuild>> parse_source_build(const JsonReader& bundle) {
  if (!bundle.has("source_build"))
    return std::optional<SourceBuild>();
  SourceBuild build;
  XAAS_TRY(const JsonReader reader, bundle.at("source_build"));
  XAAS_TRY(const JsonReader application, reader.at("application"));
  // The spec is checked as strictly as one that a person wrote, but errors in it are the image's fault here.
  Result<spec::Application> parsed = spec::parse_application(application.json().dump(), application.where());
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.kind = ErrorKind::integrity;
    error.hint.clear();
    return error;
  }
  build.application = *std::move(parsed);
  XAAS_TRY(const JsonReader configurations, reader.at("configurations"));
  XAAS_TRY(const std::vector<JsonReader> items, configurations.items());
  for (const JsonReader& item : items) {
    XAAS_TRY(auto values, item.string_map());
    build.configurations.emplace_back(std::move(values));
  }
  return std::optional(std::move(build));
}

Result<BundleConfiguration> parse_configuration(const JsonReader& reader) {
  BundleConfiguration configuration;
  XAAS_TRY(const JsonReader values, reader.at("values"));
  XAAS_TRY(auto map, values.string_map());
  configuration.configuration = spec::Configuration(std::move(map));
  XAAS_TRY(configuration.arguments, reader.strings_at("arguments"));
  XAAS_TRY(const JsonReader installed, reader.at("installed"));
  XAAS_TRY(configuration.installed, parse_files(installed));
  XAAS_TRY(const JsonReader runtime, reader.at("runtime"));
  XAAS_TRY(configuration.runtime, parse_files(runtime));
  if (reader.has("base_libraries")) {
    XAAS_TRY(configuration.base_libraries, reader.strings_at("base_libraries"));
  }
  return configuration;
}

Result<spec::Image> parse_image(const JsonReader& reader) {
  spec::Image image;
  XAAS_TRY(image.base, reader.string_at("base"));
  XAAS_TRY(image.prefix, reader.string_at("prefix"));
  XAAS_TRY(image.entrypoint, reader.strings_at("entrypoint"));
  XAAS_TRY(const JsonReader env, reader.at("env"));
  XAAS_TRY(image.env, env.string_map());
  return image;
}

Result<KitFile> parse_kit_file(const JsonReader& reader) {
  KitFile file;
  XAAS_TRY(file.name, reader.string_at("name"));
  XAAS_TRY(const JsonReader size, reader.at("size"));
  XAAS_TRY(file.size, size.size());
  XAAS_TRY(file.native, reader.boolean_or("native", false));
  XAAS_TRY(file.reason, reader.string_or("reason", ""));
  if (reader.has("kernels")) {
    XAAS_TRY(file.kernels, reader.strings_at("kernels"));
  }
  XAAS_TRY(file.start, reader.boolean_or("start", false));
  return file;
}

Result<uint64_t> parse_size(const JsonReader& reader) {
  return reader.size();
}

Result<Digest> parse_module(const JsonReader& reader) {
  XAAS_TRY(const std::string text, reader.string());
  return Digest::parse(text).in(reader.where());
}

template <typename Value>
Result<std::map<Digest, Value>> parse_table(const JsonReader& bundle, const std::string& key,
                                            Result<Value> (*parse)(const JsonReader&)) {
  XAAS_TRY(const JsonReader table, bundle.at(key));
  XAAS_TRY(const auto members, table.members());
  std::map<Digest, Value> values;
  for (const auto& [name, member] : members) {
    XAAS_TRY(const Digest digest, Digest::parse(name).in(table.where()));
    XAAS_TRY(Value value, parse(member));
    values.emplace(digest, std::move(value));
  }
  return values;
}

template <typename Value, typename DigestOf>
Result<void> check_names(const std::map<Digest, Value>& table, const std::string& where,
                         DigestOf digest_of_value) {
  for (const auto& [digest, value] : table)
    if (digest_of_value(value) != digest)
      return make_error(ErrorKind::integrity,
                        where + "/" + digest.to_string() + ": the entry does not have this digest");
  return {};
}

Result<void> parse_tables(const JsonReader& reader, Bundle& bundle) {
  XAAS_TRY(bundle.options, parse_table<ir::UnitOptions>(reader, "options", ir::parse_unit_options));
  XAAS_TRY(bundle.units, parse_table<ir::Unit>(reader, "units", ir::parse_unit));
  XAAS_TRY(bundle.archives, parse_table<link::ArchiveRecord>(reader, "archives", link::parse_archive_record));
  XAAS_TRY(bundle.links, parse_table<link::LinkRecord>(reader, "links", link::parse_link_record));
  XAAS_TRY(bundle.modules, parse_table<uint64_t>(reader, "modules", parse_size));
  if (reader.has("prepared")) {
    XAAS_TRY(bundle.prepared, parse_table<Digest>(reader, "prepared", parse_module));
    for (const auto& [unit, module] : bundle.prepared)
      if (!bundle.units.contains(unit))
        return make_error(ErrorKind::integrity,
                          reader.where() + "/prepared/" + unit.to_string() + ": the bundle has no such unit");
  }
  XAAS_TRY(bundle.kit, parse_table<KitFile>(reader, "kit", parse_kit_file));
  XAAS_CHECK(
      check_names(bundle.options, reader.where() + "/options", [](const auto& v) { return v.digest(); }));
  XAAS_CHECK(check_names(bundle.units, reader.where() + "/units", [](const auto& v) { return v.id(); }));
  XAAS_CHECK(
      check_names(bundle.archives, reader.where() + "/archives", [](const auto& v) { return v.digest(); }));
  return check_names(bundle.links, reader.where() + "/links", [](const auto& v) { return v.digest(); });
}

} // namespace

Digest content_of(const BundleConfiguration& configuration) {
  return digest_of(Json{files_json(configuration.installed), files_json(configuration.runtime)}.dump());
}

Json to_json(const Bundle& bundle) {
  Json points = Json::array();
  for (const spec::SpecializationPoint& point : bundle.points)
    points.push_back(spec::to_json(point));
  Json configurations = Json::array();
  for (const BundleConfiguration& configuration : bundle.configurations)
    configurations.push_back(configuration_json(configuration));
  Json json;
  json["version"] = format_of(bundle);
  json["tool"] = bundle.tool;
  json["llvm"] = bundle.llvm;
  json["name"] = bundle.name;
  json["application_version"] = bundle.version;
  json["license"] = bundle.license;
  if (!bundle.source.empty())
    json["source"] = bundle.source;
  if (!bundle.revision.empty())
    json["revision"] = bundle.revision;
  json["arch"] = bundle.arch;
  json["image"] = image_json(bundle.image);
  if (bundle.base)
    json["base"] = to_json(*bundle.base);
  json["specializations"] = std::move(points);
  for (const spec::HostPreference& preference : bundle.host)
    json["host"].push_back(spec::to_json(preference));
  json["configurations"] = std::move(configurations);
  json["options"] = table_json(bundle.options, [](const auto& value) { return ir::to_json(value); });
  json["units"] = table_json(bundle.units, [](const auto& value) { return ir::to_json(value); });
  json["archives"] = table_json(bundle.archives, [](const auto& value) { return link::to_json(value); });
  json["links"] = table_json(bundle.links, [](const auto& value) { return link::to_json(value); });
  json["modules"] = table_json(bundle.modules, [](uint64_t size) { return Json(size); });
  if (!bundle.prepared.empty())
    json["prepared"] = table_json(bundle.prepared, [](const Digest& module) { return module.to_string(); });
  json["kit"] = table_json(bundle.kit, kit_json);
  if (!bundle.packages.empty())
    json["packages"] = packages_json(bundle.packages);
  if (bundle.source_build)
    json["source_build"] = source_build_json(*bundle.source_build);
  return json;
}

Result<Bundle> parse_bundle(const std::string& text, const std::string& name) {
  XAAS_TRY(const Json json, parse_json(text, name, false, ErrorKind::integrity));
  const JsonReader reader(json, name);
  XAAS_CHECK(check_versions(reader, name));
  Bundle bundle;
  XAAS_TRY(bundle.tool, reader.string_at("tool"));
  XAAS_TRY(bundle.llvm, reader.string_at("llvm"));
  XAAS_TRY(bundle.name, reader.string_at("name"));
  XAAS_TRY(bundle.version, reader.string_at("application_version"));
  XAAS_TRY(bundle.license, reader.string_at("license"));
  XAAS_TRY(bundle.source, reader.string_or("source", ""));
  XAAS_TRY(bundle.revision, reader.string_or("revision", ""));
  XAAS_TRY(bundle.arch, reader.string_at("arch"));
  XAAS_TRY(const JsonReader image, reader.at("image"));
  XAAS_TRY(bundle.image, parse_image(image));
  if (reader.has("base")) {
    XAAS_TRY(const JsonReader base, reader.at("base"));
    XAAS_TRY(bundle.base, parse_base(base));
    XAAS_TRY(const JsonReader format, reader.at("version"));
    XAAS_TRY(const int64_t number, format.integer());
    if (number < 3)
      return make_error(ErrorKind::integrity,
                        name + ": a bundle of format " + std::to_string(number) + " has no base");
  }
  if (bundle.base.has_value() != (bundle.image.base != no_base))
    return make_error(ErrorKind::integrity,
                      name + ": image/base is " + bundle.image.base + ", but the bundle " +
                          (bundle.base ? "describes a base image" : "does not describe it"));
  XAAS_TRY(const JsonReader points, reader.at("specializations"));
  XAAS_TRY(const std::vector<JsonReader> point_items, points.items());
  for (const JsonReader& item : point_items) {
    XAAS_TRY(spec::SpecializationPoint point, spec::parse_point(item));
    bundle.points.push_back(std::move(point));
  }
  if (reader.has("host")) {
    XAAS_TRY(const JsonReader host, reader.at("host"));
    XAAS_TRY(const std::vector<JsonReader> preferences, host.items());
    for (const JsonReader& item : preferences) {
      XAAS_TRY(spec::HostPreference preference, spec::parse_host_preference(item));
      bundle.host.push_back(std::move(preference));
    }
  }
  XAAS_TRY(const JsonReader configurations, reader.at("configurations"));
  XAAS_TRY(const std::vector<JsonReader> items, configurations.items());
  for (const JsonReader& item : items) {
    XAAS_TRY(BundleConfiguration configuration, parse_configuration(item));
    bundle.configurations.push_back(std::move(configuration));
  }
  for (const BundleConfiguration& configuration : bundle.configurations)
    for (const std::string& library : configuration.base_libraries)
      if (!bundle.base || !bundle.base->libraries.contains(library))
        return make_error(ErrorKind::integrity, name + ": configuration " + configuration.configuration.id() +
                                                    " takes " + library + " from a base image without it");
  XAAS_CHECK(parse_tables(reader, bundle));
  XAAS_TRY(bundle.packages, parse_packages(reader));
  XAAS_TRY(bundle.source_build, parse_source_build(reader));
  return bundle;
}

} // namespace xaas::image
