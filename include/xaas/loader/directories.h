// The default search directories of the loader of a machine or a tree.
//
// Sources: ld.so(8), ldconfig(8): /etc/ld.so.conf with its includes, and the cache generated from it. The
// loader reads only the cache; the configuration also counts here because a tree's cache may be outdated or
// missing.
#pragma once

#include <xaas/base/file.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::loader {

// The directories compiled into glibc, in its order: both Debian's multiarch directories and the lib64 ones
// of other distributions.
std::vector<std::string> default_directories(const std::string& arch);
// Those of one loader, whose file has them as strings; all of them if it has none.
std::vector<std::string> default_directories_of(std::string_view loader, const std::string& arch);

// How to read configuration files; all paths are absolute.
struct ConfigurationFiles {
  std::function<std::string(const std::string& path)> text; // empty if there is none
  std::function<std::vector<std::string>(const std::string& pattern)>
      matching; // sorted; `*` matches within file names
};
struct Configured {
  std::vector<std::string> directories; // in order, each once
  bool complete = true;                 // false: some files were not read because there are too many
};
Configured configured_directories(const ConfigurationFiles& files);

// The libraries in /etc/ld.so.cache for this architecture and any CPU of it. Source: glibc,
// sysdeps/generic/dl-cache.h (ld.so.cache, format 1.1). A damaged cache yields the entries before the damage.
struct Cache {
  std::map<std::string, std::string> paths; // by name
  std::vector<std::string> directories;     // of them, each once
};
inline constexpr uint64_t largest_cache = uint64_t(64) << 20; // in bytes
Cache parse_cache(const std::string& content, const std::string& arch);

struct Directories {
  Cache cache;
  std::vector<std::string> configured; // in /etc/ld.so.conf
  std::vector<std::string> defaults;
  std::string lib; // the value of $LIB: lib/x86_64-linux-gnu, lib64

  std::vector<std::string> all() const; // each once, in search order
};
// The directories of the machine ("/") or of a tree, whose links stay inside it.
Directories directories_of(const fs::path& root, const std::string& arch);

} // namespace xaas::loader
