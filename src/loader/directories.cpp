#include <xaas/loader/directories.h>

#include <xaas/base/directory.h>
#include <xaas/base/glob.h>
#include <xaas/base/text.h>
#include <xaas/base/tree_path.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace xaas::loader {

namespace {

class ConfigurationReader {
public:
  explicit ConfigurationReader(const ConfigurationFiles& files) : files_(files) {}

  void read(const std::string& file, unsigned depth = 0) {
    constexpr unsigned most_files = 200, deepest = 8;
    if (depth > deepest || ++read_ > most_files) {
      found.complete = false;
      return;
    }
    for (const std::string& whole : split(files_.text(file), '\n')) {
      const std::string line = trim(whole.substr(0, whole.find('#')));
      if (line.starts_with("/")) {
        if (known_.insert(line).second)
          found.directories.push_back(line);
      } else if (line.starts_with("include ") || line.starts_with("include\t")) {
        include(line.substr(8), fs::path(file).parent_path(), depth);
      }
    }
  }

  Configured found;

private:
  void include(const std::string& patterns, const fs::path& directory, unsigned depth) {
    std::string words = patterns;
    std::replace(words.begin(), words.end(), '\t', ' ');
    for (const std::string& word : split(words, ' '))
      if (!word.empty())
        for (const std::string& file : files_.matching((directory / word).string()))
          read(file, depth + 1);
  }

  const ConfigurationFiles& files_;
  std::set<std::string> known_;
  unsigned read_ = 0;
};

// The files of a tree.
ConfigurationFiles files_of(const fs::path& tree) {
  ConfigurationFiles files;
  files.text = [tree](const std::string& path) -> std::string {
    const TreePlace place = find_in_tree(tree, path);
    if (place.type != fs::file_type::regular)
      return {};
    const Result<std::string> text = read_file(place.outside, uint64_t(1) << 20);
    return text ? *text : std::string();
  };
  files.matching = [tree](const std::string& pattern) {
    const fs::path directory = fs::path(pattern).parent_path();
    const std::string name = fs::path(pattern).filename();
    std::vector<std::string> found;
    // As for the loader, an unreadable directory has no such files.
    const auto entries = list_directory(find_in_tree(tree, directory).outside);
    for (const fs::path& entry : entries ? *entries : std::vector<fs::path>())
      if (glob_match(name, entry.filename().string()))
        found.push_back(directory / entry.filename());
    return found;
  };
  return files;
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

} // namespace

std::vector<std::string> default_directories(const std::string& arch) {
  std::vector<std::string> directories;
  for (const std::string& name : {"lib/" + arch + "-linux-gnu", std::string("lib64"), std::string("lib")})
    for (const char* root : {"/", "/usr/"})
      directories.push_back(root + name);
  return directories;
}

std::vector<std::string> default_directories_of(std::string_view loader, const std::string& arch) {
  const std::vector<std::string> all = default_directories(arch);
  std::vector<std::string> found;
  for (const std::string& directory : all) {
    const std::string entry =
        std::string(1, '\0') + directory + "/" + '\0'; // glibc, elf/dl-load.c, system_dirs
    if (loader.find(entry) != std::string_view::npos)
      found.push_back(directory);
  }
  return found.empty() ? all : found;
}

Configured configured_directories(const ConfigurationFiles& files) {
  ConfigurationReader reader(files);
  reader.read("/etc/ld.so.conf");
  return std::move(reader.found);
}

Cache parse_cache(const std::string& content, const std::string& arch) {
  const std::string magic = "glibc-ld.so.cache1.1";
  const size_t start = content.find(magic); // after a table in the old format, if there is one
  uint32_t count = 0;
  Cache cache;
  if (start == std::string::npos || !read_value(content, start + magic.size(), count))
    return cache;
  // FLAG_ELF_LIBC6 with FLAG_X8664_LIB64 or FLAG_AARCH64_LIB64
  const uint32_t flags = arch == "x86_64" ? 0x0303 : 0x0a03;
  constexpr size_t header = 48, entry_size = 24;
  std::set<std::string> seen;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t entry = start + header + size_t(i) * entry_size;
    uint32_t kind = 0, value = 0;
    uint64_t hwcap = 0;
    if (!read_value(content, entry, kind) || !read_value(content, entry + 8, value) ||
        !read_value(content, entry + 16, hwcap))
      return cache; // truncated
    const fs::path path = text_at(content, start + value);
    if (kind != flags || hwcap != 0 || !path.is_absolute() || !path.has_filename())
      continue;
    cache.paths.emplace(path.filename(), path); // the first of equal names wins
    if (seen.insert(path.parent_path()).second)
      cache.directories.push_back(path.parent_path());
  }
  return cache;
}

std::vector<std::string> Directories::all() const {
  std::vector<std::string> all;
  std::set<std::string> seen;
  for (const auto* list : {&cache.directories, &configured, &defaults})
    for (const std::string& directory : *list)
      if (seen.insert(directory).second)
        all.push_back(directory);
  return all;
}

Directories directories_of(const fs::path& root, const std::string& arch) {
  Directories directories;
  if (const TreePlace cache = find_in_tree(root, "/etc/ld.so.cache"); cache.type == fs::file_type::regular)
    if (const Result<std::string> content = read_file(cache.outside, largest_cache))
      directories.cache = parse_cache(*content, arch);
  directories.configured = configured_directories(files_of(root)).directories;
  directories.defaults = default_directories(arch);
  const auto has = [&](const std::string& directory) {
    return find_in_tree(root, "/" + directory).type == fs::file_type::directory;
  };
  const std::string multiarch = "lib/" + arch + "-linux-gnu";
  directories.lib = has("usr/" + multiarch) || has(multiarch) ? multiarch : "lib64";
  return directories;
}

} // namespace xaas::loader
