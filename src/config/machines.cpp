#include <xaas/config/machines.h>

#include <xaas/base/directory.h>
#include <xaas/base/text.h>
#include <xaas/base/trust.h>
#include <xaas/config/settings.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <map>
#include <sys/stat.h>

namespace xaas::config {

namespace {

constexpr std::string_view extension = ".json";

bool is_name(const std::string& name) {
  const auto allowed = [](char c) { return is_word_character(c) || c == '.' || c == '-'; };
  return !name.empty() && std::isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), allowed) && !name.ends_with(extension);
}

// Creates what is missing, whatever the umask is: nobody else may write there, and of a site everybody reads.
Result<void> make_trusted_directories(const fs::path& path, Origin origin) {
  std::error_code code;
  if (path.empty() || fs::exists(path, code))
    return {};
  XAAS_CHECK(make_trusted_directories(path.parent_path(), origin));
  XAAS_CHECK(make_directories(path));
  struct stat status{};
  if (stat(path.c_str(), &status) != 0 ||
      chmod(path.c_str(), origin == Origin::site ? 0755 : status.st_mode & 0755) != 0)
    return errno_error(errno, "creating directory " + path.string());
  return {};
}

fs::path beside(const fs::path& settings) {
  return settings.empty() ? fs::path() : settings.parent_path() / "machines";
}

} // namespace

Machines::Machines(const Sources& sources)
    : directories_{{Origin::user, beside(sources.user)}, {Origin::site, beside(sources.site)}},
      owners_(sources.owners) {}

std::vector<Machine> Machines::all() const {
  std::map<std::string, Machine> found;
  for (const Directory& directory : directories_) {
    if (directory.path.empty())
      continue;
    const Result<std::vector<fs::path>> files = list_directory(directory.path);
    if (!files)
      continue;
    std::error_code code;
    for (const fs::path& file : *files)
      if (const std::string name = file.stem();
          file.extension() == extension && is_name(name) && fs::is_regular_file(file, code))
        found.try_emplace(name, Machine{name, directory.origin, file});
  }
  std::vector<Machine> machines;
  for (auto& [name, machine] : found)
    machines.push_back(std::move(machine));
  return machines;
}

Result<fs::path> Machines::file_of(const std::string& text) const {
  if (text.find('/') != std::string::npos || text.ends_with(extension))
    return fs::path(text);
  std::vector<std::string> names;
  for (const Machine& machine : all()) {
    if (machine.name == text) {
      XAAS_CHECK(check_trusted(machine.path, owners_).in("machine " + text));
      XAAS_CHECK(check_trusted_place(machine.path, owners_).in("machine " + text));
      return machine.path;
    }
    names.push_back(machine.name);
  }
  std::error_code code;
  std::string hint;
  if (fs::exists(text, code))
    hint = "for the file of this name write ./" + text;
  else if (const std::string near = nearest(text, names); !near.empty())
    hint = "did you mean `" + near + "`?";
  else if (!names.empty())
    hint = "known machines: " + join(names, ", ");
  else
    hint = "run `xaas detect --save " + (is_name(text) ? text : "NAME") + "` on that machine";
  return make_error(ErrorKind::not_found, "no machine is named " + text, hint);
}

Result<fs::path> Machines::save(const std::string& name, Origin origin, const std::string& text) const {
  if (!is_name(name))
    return make_error(ErrorKind::usage, name + ": not a valid machine name",
                      "letters, digits, `.`, `_` and `-`; the first one is a letter or digit");
  const auto directory = std::find_if(directories_.begin(), directories_.end(),
                                      [&](const Directory& each) { return each.origin == origin; });
  if (directory == directories_.end() || directory->path.empty())
    return make_error(ErrorKind::usage, "machine " + name + ": no directory for settings of this user",
                      "set HOME or XDG_CONFIG_HOME");
  XAAS_CHECK(make_trusted_directories(directory->path, origin));
  const fs::path file = directory->path / (name + std::string(extension));
  XAAS_CHECK(write_file(file, text));
  if (origin == Origin::site && chmod(file.c_str(), 0644) != 0)
    return errno_error(errno, "writing " + file.string());
  return file;
}

} // namespace xaas::config
