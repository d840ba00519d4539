#include "manifest.h"

#include <xaas/base/version.h>
#include <xaas/image/bundle.h>

namespace xaas::install {

namespace {

constexpr int manifest_version = 1;

Result<std::string> content_of(const fs::path& directory, const File& file) {
  if (file.type == fs::file_type::symlink)
    return "-> " + file.link;
  if (file.type != fs::file_type::regular)
    return std::string();
  XAAS_TRY(const Digest digest, digest_of_file(directory / file.path));
  return digest.to_string();
}

// Nothing outside the prefix is ever removed by its name in a manifest.
bool is_below(const fs::path& path) {
  if (path.empty() || path.is_absolute())
    return false;
  for (const fs::path& part : path)
    if (part == ".." || part == "." || part.empty())
      return false;
  return true;
}

} // namespace

Result<void> list_files(const fs::path& directory, Manifest& manifest) {
  XAAS_TRY(const std::vector<File> files, files_below(directory));
  for (const File& file : files) {
    XAAS_TRY(manifest.files[file.path], content_of(directory, file));
  }
  return {};
}

Json to_json(const Manifest& manifest) {
  Json modules = Json::object(), files = Json::object();
  for (const auto& [path, digest] : manifest.modules)
    modules[path] = digest.to_string();
  for (const auto& [path, content] : manifest.files)
    files[path] = content;
  return {{"version", manifest_version},
          {"tool", image::tool_version()},
          {"image", manifest.image},
          {"digest", manifest.digest},
          {"name", manifest.name},
          {"module_version", manifest.version},
          {"runtime", manifest.runtime.empty() ? Json() : Json(manifest.runtime)},
          {"targets", manifest.targets},
          {"programs", manifest.programs},
          {"modules", std::move(modules)},
          {"files", std::move(files)}};
}

Result<Manifest> read_manifest(const fs::path& prefix) {
  const fs::path path = prefix / manifest_file;
  std::error_code code;
  if (!fs::is_regular_file(path, code))
    return make_error(ErrorKind::usage,
                      prefix.string() + ": is not an installation of xaas; it has no " + manifest_file);
  constexpr uint64_t limit = uint64_t(1) << 30;
  XAAS_TRY(const std::string text, read_plain_file(path, limit));
  return parse_manifest(text, path.string());
}

Result<Manifest> parse_manifest(const std::string& text, const std::string& where) {
  XAAS_TRY(const Json json, parse_json(text, where, false, ErrorKind::integrity));
  const JsonReader reader(json, where);
  XAAS_TRY(const JsonReader version, reader.at("version"));
  XAAS_TRY(const int64_t number, version.integer());
  if (number != manifest_version)
    return make_error(ErrorKind::unsatisfied, where + ": version " + std::to_string(number) + " is not known",
                      "use a newer xaas");
  Manifest manifest;
  XAAS_TRY(manifest.image, reader.string_at("image"));
  XAAS_TRY(manifest.digest, reader.string_at("digest"));
  XAAS_TRY(manifest.name, reader.string_at("name"));
  XAAS_TRY(manifest.version, reader.string_at("module_version"));
  if (const auto runtime = reader.find("runtime")) {
    XAAS_TRY(manifest.runtime, runtime->string());
  }
  XAAS_TRY(manifest.programs, reader.strings_at("programs"));
  XAAS_TRY(manifest.targets, reader.strings_at("targets"));
  XAAS_TRY(const JsonReader modules, reader.at("modules"));
  XAAS_TRY(const auto module_digests, modules.string_map());
  for (const auto& [module, digest] : module_digests) {
    XAAS_TRY(manifest.modules[module], Digest::parse(digest).in(where));
  }
  XAAS_TRY(const JsonReader files, reader.at("files"));
  XAAS_TRY(manifest.files, files.string_map());
  for (const auto& [file, content] : manifest.files)
    if (!is_below(file))
      return make_error(ErrorKind::integrity, where + ": '" + file + "' is not a path below the prefix");
  return manifest;
}

Result<std::vector<fs::path>> changed_files(const fs::path& prefix, const Manifest& manifest) {
  XAAS_TRY(const std::vector<File> files, files_below(prefix));
  std::vector<fs::path> changed;
  for (const File& file : files) {
    if (file.path == manifest_file)
      continue;
    const auto known = manifest.files.find(file.path);
    if (known == manifest.files.end()) {
      changed.push_back(prefix / file.path);
      continue;
    }
    XAAS_TRY(const std::string content, content_of(prefix, file));
    if (content != known->second)
      changed.push_back(prefix / file.path);
  }
  return changed;
}

} // namespace xaas::install
