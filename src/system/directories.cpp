// Sources: ld.so(8), ldconfig(8): /etc/ld.so.conf and what it includes, and the cache that is made of it. The
// loader reads the cache only; the configuration counts, too, because an image's cache may be older or
// missing.
#include "directories.h"
#include "names.h"

#include <xaas/base/text.h>
#include <xaas/system/loader.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>

namespace xaas::system {

namespace {

constexpr unsigned most_configurations = 200, deepest_include = 8;

// Adds the directories of one file, in its order.
void read_loader_configuration(const Machine& machine, const std::string& file, unsigned depth,
                               unsigned& files, std::vector<std::string>& directories) {
  if (depth > deepest_include || ++files > most_configurations) {
    machine.note("/etc/ld.so.conf: more files than are read");
    return;
  }
  for (const std::string& whole : split(machine.text(file), '\n')) {
    const std::string line = trim(whole.substr(0, whole.find('#')));
    if (line.starts_with("/"))
      directories.push_back(line);
    if (!line.starts_with("include") || line.size() < 9 || (line[7] != ' ' && line[7] != '\t'))
      continue;
    for (std::string pattern : split(line.substr(8), ' ')) {
      pattern = trim(pattern);
      if (pattern.empty())
        continue;
      if (!pattern.starts_with("/"))
        pattern = fs::path(file).parent_path().string() + "/" + pattern;
      for (const std::string& included : machine.glob(pattern))
        read_loader_configuration(machine, included, depth + 1, files, directories);
    }
  }
}

template <typename T> bool read_value(const std::string& content, size_t at, T& value) {
  if (at > content.size() || content.size() - at < sizeof(T))
    return false;
  std::memcpy(&value, content.data() + at, sizeof(T));
  return true;
}

std::string text_at(const std::string& content, size_t at) {
  if (at >= content.size())
    return {};
  const size_t end = content.find('\0', at);
  return end == std::string::npos ? std::string() : content.substr(at, end - at);
}

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
  // EasyBuild's modules: a prefix for each.
  for (const std::string& variable : machine.environment_names())
    if (variable.starts_with("EBROOT"))
      add_prefix(machine.environment(variable));
}

} // namespace

std::vector<std::string> loader_cache_directories(const std::string& content, const std::string& arch) {
  const std::string magic = "glibc-ld.so.cache1.1";
  const size_t start = content.find(magic); // behind a table in the old format, where there is one
  uint32_t count = 0;
  if (start == std::string::npos || !read_value(content, start + magic.size(), count))
    return {};
  // FLAG_ELF_LIBC6 with FLAG_X8664_LIB64 or FLAG_AARCH64_LIB64
  const uint32_t flags = arch == "x86_64" ? 0x0303 : 0x0a03;
  constexpr size_t header = 48, entry_size = 24;
  std::vector<std::string> directories;
  std::set<std::string> seen;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t entry = start + header + size_t(i) * entry_size;
    uint32_t kind = 0, value = 0;
    if (!read_value(content, entry, kind) || !read_value(content, entry + 8, value))
      return directories; // cut off
    const std::string directory = fs::path(text_at(content, start + value)).parent_path().string();
    if (kind == flags && directory.starts_with("/") && seen.insert(directory).second)
      directories.push_back(directory);
  }
  return directories;
}

std::vector<std::string> loader_directories(const std::string& arch) {
  std::vector<std::string> directories;
  if (const Result<std::string> cache = read_file("/etc/ld.so.cache"))
    directories = loader_cache_directories(*cache, arch);
  for (const char* root : {"/lib/", "/usr/lib/"})
    directories.push_back(root + arch + "-linux-gnu");
  directories.insert(directories.end(), {"/lib64", "/usr/lib64", "/lib", "/usr/lib"});
  return directories;
}

std::vector<std::string> library_directories(const Machine& machine, const std::string& arch) {
  std::vector<std::string> directories;
  add_variables(machine, directories);
  unsigned files = 0;
  if (machine.has("/etc/ld.so.conf"))
    read_loader_configuration(machine, "/etc/ld.so.conf", 0, files, directories);
  const std::string cache = machine.text("/etc/ld.so.cache");
  for (const std::string& directory : loader_cache_directories(cache, arch))
    directories.push_back(directory);
  const std::string multiarch = arch + "-linux-gnu";
  for (const std::string& directory :
       {"/lib/" + multiarch, "/usr/lib/" + multiarch, std::string("/lib64"), std::string("/usr/lib64"),
        std::string("/lib"), std::string("/usr/lib"), std::string("/usr/local/lib")})
    directories.push_back(directory);
  for (const std::string& pattern : Names::get().library_directories)
    for (const std::string& directory : machine.glob(pattern))
      directories.push_back(directory);

  std::vector<std::string> once;
  std::set<std::string> names, seen; // /lib is /usr/lib
  for (const std::string& directory : directories)
    // What is in "stubs" is for linking on machines without the driver.
    if (directory.starts_with("/") && fs::path(directory).filename() != "stubs" &&
        names.insert(directory).second)
      if (const std::string identity = machine.identity(directory);
          !identity.empty() && seen.insert(identity).second)
        once.push_back(directory);
  return once;
}

} // namespace xaas::system
