#include "directories.h"
#include "names.h"

#include <xaas/base/text.h>
#include <xaas/loader/directories.h>

#include <algorithm>
#include <set>

namespace xaas::system {

namespace {

void add_variables(const Machine& machine, std::vector<std::string>& directories) {
  const Names& names = Names::get();
  for (const std::string& variable : names.library_variables)
    for (const std::string& directory : split(machine.environment(variable), ':'))
      directories.push_back(directory);
  const auto add_prefix = [&](const fs::path& prefix) {
    for (const std::string& below : names.below_prefix)
      directories.push_back((prefix / below).string());
  };
  for (const std::string& variable : names.prefix_variables)
    for (const std::string& prefix : split(machine.environment(variable), ':'))
      add_prefix(prefix);
  for (const std::string& variable : names.include_variables)
    for (const std::string& directory : split(machine.environment(variable), ':'))
      if (const fs::path path = directory; path.filename() == "include")
        add_prefix(path.parent_path());
  for (const std::string& variable : names.pkgconfig_variables)
    for (const std::string& directory : split(machine.environment(variable), ':'))
      if (const fs::path path = directory; path.filename() == "pkgconfig")
        directories.push_back(path.parent_path().string());
  // Each of EasyBuild's modules has a prefix.
  for (const std::string& variable : machine.environment_names())
    if (variable.starts_with("EBROOT"))
      add_prefix(machine.environment(variable));
}

} // namespace

std::vector<std::string> library_directories(const Machine& machine, const std::string& arch) {
  std::vector<std::string> directories;
  add_variables(machine, directories);
  const loader::Configured configured = loader::configured_directories(
      {[&](const std::string& path) { return machine.has(path) ? machine.text(path) : std::string(); },
       [&](const std::string& pattern) { return machine.glob(pattern); }});
  if (!configured.complete)
    machine.note("/etc/ld.so.conf: some files were not read because there are too many");
  const loader::Cache cache = loader::parse_cache(machine.text("/etc/ld.so.cache"), arch);
  for (const auto& list : {configured.directories, cache.directories, loader::default_directories(arch)})
    directories.insert(directories.end(), list.begin(), list.end());
  directories.emplace_back("/usr/local/lib");
  for (const std::string& pattern : Names::get().library_directories)
    for (const std::string& directory : machine.glob(pattern))
      directories.push_back(directory);

  std::vector<std::string> once;
  std::set<std::string> names, seen; // /lib is /usr/lib
  for (const std::string& directory : directories)
    // Directories "stubs" are for linking on machines without the driver.
    if (directory.starts_with("/") && fs::path(directory).filename() != "stubs" &&
        names.insert(directory).second)
      if (const std::string identity = machine.identity(directory);
          !identity.empty() && seen.insert(identity).second)
        once.push_back(directory);
  return once;
}

} // namespace xaas::system
