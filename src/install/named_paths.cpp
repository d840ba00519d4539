#include "named_paths.h"

#include <xaas/loader/c_library.h>

#include <algorithm>
#include <array>

namespace xaas::install {

namespace {

// Source: Filesystem Hierarchy Standard 3.0.
bool is_standard(const fs::path& directory) {
  static const std::set<std::string> of_usr = {"bin",   "sbin", "lib", "lib32", "lib64", "libexec", "include",
                                               "share", "src",  "etc", "man",   "games", "local"};
  static const std::set<std::string> of_share = {"man", "doc", "info", "locale"};
  static const std::set<std::string> of_root = {"bin",  "sbin", "lib", "lib32", "lib64", "etc", "home", "opt",
                                                "root", "run",  "srv", "usr",   "var",   "mnt", "media"};
  static const std::set<std::string> of_var = {"lib", "cache", "log", "tmp", "run", "spool"};
  if (directory == "/")
    return true;
  const fs::path above = directory.parent_path();
  const std::string name = directory.filename();
  if (above == "/")
    return of_root.contains(name);
  if (above == "/usr" || above == "/usr/local")
    return of_usr.contains(name);
  if (above == "/usr/share" || above == "/usr/local/share")
    return of_share.contains(name);
  if (above == "/var")
    return of_var.contains(name);
  return (above == "/lib" || above == "/usr/lib" || above == "/usr/local/lib") &&
         name.find("-linux-") != std::string::npos;
}

// What belongs to the machine or to xaas.
bool of_machine(const std::string& path) {
  static const std::array<std::string_view, 10> places = {"/.xaas",
                                                          "/dev",
                                                          "/proc",
                                                          "/sys",
                                                          "/tmp",
                                                          "/etc/passwd",
                                                          "/etc/group",
                                                          "/etc/hosts",
                                                          "/etc/resolv.conf",
                                                          "/etc/nsswitch.conf"};
  return std::any_of(places.begin(), places.end(), [&](std::string_view place) {
    return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
  });
}

bool is_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
         c == '_' || c == '-' || c == '+' || c == '~' || c == '%' || c == '@' || c == '#';
}

} // namespace

NamedPaths::NamedPaths(const std::vector<File>& files, const std::function<bool(const std::string&)>& host) {
  for (const File& file : files) {
    if (file.type == fs::file_type::directory || (file.type == fs::file_type::regular && file.size == 0))
      continue;
    const fs::path path = "/" + file.path;
    if (of_machine(path.string()) || loader::is_of_c_library(path.filename().string()) ||
        (file.is_executable() && host(path)))
      continue;
    paths_.insert(path);
    for (fs::path above = path.parent_path(); !is_standard(above); above = above.parent_path())
      paths_.insert(above);
  }
}

NamedPaths::Found NamedPaths::find(std::string_view content, size_t from) const {
  constexpr size_t longest = 4096;
  for (size_t at = content.find('/', from); at != std::string_view::npos; at = content.find('/', at)) {
    size_t end = at;
    while (end < content.size() && is_part(content[end]))
      ++end;
    const bool begins = at == 0 || !is_part(content[at - 1]);
    const size_t start = at, size = end - at;
    at = std::max(end, at + 1);
    if (!begins || size < 2 || size > longest)
      continue;
    fs::path path = fs::path(content.substr(start, size)).lexically_normal();
    if (!path.has_filename())
      path = path.parent_path();
    // Also a file that the program makes, or whose name it completes.
    if (paths_.contains(path.string()) || paths_.contains(path.parent_path().string()))
      return {start, path};
  }
  return {};
}

std::string NamedPaths::in(std::string_view content, const std::vector<std::string>& except) const {
  for (Found found = find(content, 0); found.at != std::string_view::npos;
       found = find(content, found.at + 1))
    if (std::find(except.begin(), except.end(), found.path) == except.end())
      return found.path;
  return {};
}

std::string NamedPaths::below(const std::string& root, std::string_view text) const {
  std::string made;
  size_t done = 0;
  for (Found found = find(text, 0); found.at != std::string_view::npos; found = find(text, found.at + 1)) {
    made += text.substr(done, found.at - done);
    made += root;
    done = found.at;
  }
  return made += text.substr(done);
}

} // namespace xaas::install
