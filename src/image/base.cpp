#include <xaas/image/base.h>

#include <filesystem>
#include <limits>
#include <utility>

namespace xaas::image {

namespace {

Json directory_json(const oci::Directory& directory) {
  return Json{{"mode", directory.mode}, {"user", directory.user}, {"group", directory.group}};
}

Result<oci::Directory> parse_directory(const JsonReader& reader) {
  oci::Directory directory;
  XAAS_TRY(const JsonReader mode, reader.at("mode"));
  XAAS_TRY(const uint64_t bits, mode.size());
  if (bits > 07777)
    return mode.wrong("permission bits");
  directory.mode = static_cast<unsigned>(bits);
  for (const auto& [key, id] : {std::pair("user", &directory.user), std::pair("group", &directory.group)}) {
    XAAS_TRY(const JsonReader number, reader.at(key));
    XAAS_TRY(*id, number.size());
    if (*id > std::numeric_limits<uint32_t>::max())
      return number.wrong("an id of 32 bits");
  }
  return directory;
}

bool is_in_root(const std::string& path) {
  const std::filesystem::path parts = path;
  return parts.has_filename() && parts.is_relative() && parts.lexically_normal() == parts &&
         *parts.begin() != "..";
}

} // namespace

Json to_json(const Base& base) {
  Json directories = Json::object();
  for (const auto& [path, directory] : base.directories)
    directories[path] = directory_json(directory);
  Json json = {{"digest", base.digest.to_string()}};
  if (!base.reference.empty())
    json["reference"] = base.reference;
  json["config"] = oci::process_json(base.config);
  json["directories"] = std::move(directories);
  json["libraries"] = base.libraries;
  return json;
}

Result<Base> parse_base(const JsonReader& reader) {
  Base base;
  XAAS_TRY(const std::string digest, reader.string_at("digest"));
  XAAS_TRY(base.digest, Digest::parse(digest).in(reader.where() + "/digest"));
  XAAS_TRY(base.reference, reader.string_or("reference", ""));
  XAAS_TRY(const JsonReader config, reader.at("config"));
  XAAS_CHECK(oci::parse_process(config, base.config));
  for (const std::string& variable : base.config.env)
    if (variable.find('=') == 0 || variable.find('\0') != std::string::npos)
      return config.wrong("variables with a name and without zeros");
  XAAS_TRY(const JsonReader directories, reader.at("directories"));
  XAAS_TRY(const auto members, directories.members());
  for (const auto& [path, member] : members) {
    if (!is_in_root(path))
      return member.wrong("the mode and owner of a relative path");
    XAAS_TRY(base.directories[path], parse_directory(member));
  }
  XAAS_TRY(const JsonReader libraries, reader.at("libraries"));
  XAAS_TRY(const auto names, libraries.members());
  for (const auto& [name, versions] : names) {
    XAAS_TRY(base.libraries[name], versions.strings());
  }
  return base;
}

Base joined(const Base& a, const Base& b) {
  Base base = a;
  base.directories.insert(b.directories.begin(), b.directories.end());
  base.libraries.insert(b.libraries.begin(), b.libraries.end());
  return base;
}

} // namespace xaas::image
