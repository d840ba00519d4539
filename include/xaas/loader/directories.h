// Where the loader of a machine or a tree looks by itself.
//
// Sources: ld.so(8), ldconfig(8): /etc/ld.so.conf and what it includes, and the cache that is made of it. The
// loader reads the cache only; the configuration counts, too, because a tree's cache may be older or missing.
#pragma once

#include <xaas/base/file.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace xaas::loader {

// Compiled into glibc. Debian's have the multiarch directories, others' the lib64 ones: all of them, in
// glibc's order.
std::vector<std::string> default_directories(const std::string& arch);

// How files are read in which configuration is looked for; all paths are absolute.
struct ConfigurationFiles {
  std::function<std::string(const std::string& path)> text; // empty: there is none
  std::function<std::vector<std::string>(const std::string& pattern)>
      matching; // sorted; `*` in names of files
};
struct Configured {
  std::vector<std::string> directories; // in their order, each once
  bool complete = true;                 // false: there are more files than are read
};
Configured configured_directories(const ConfigurationFiles& files);

// The libraries that /etc/ld.so.cache has for this architecture and any CPU of it. Source: glibc,
// sysdeps/generic/dl-cache.h (ld.so.cache, format 1.1). A damaged cache has none, or those before the damage.
struct Cache {
  std::map<std::string, std::string> paths; // by name
  std::vector<std::string> directories;     // of them, each once
};
Cache parse_cache(const std::string& content, const std::string& arch);

struct Directories {
  Cache cache;
  std::vector<std::string> configured; // by /etc/ld.so.conf
  std::vector<std::string> defaults;
  std::string lib; // what $LIB stands for: lib/x86_64-linux-gnu, lib64

  std::vector<std::string> all() const; // each once, in the order in which they are searched
};
// Of the machine ("/") or a tree, whose links lead nowhere else.
Directories directories_of(const fs::path& root, const std::string& arch);

} // namespace xaas::loader
