#include "named_paths.h"

#include <xaas/loader/c_library.h>

#include <algorithm>
#include <array>

namespace xaas::install {

namespace {

// No program opens these to do its work.
constexpr std::array documentation = {"/share/man/", "/share/doc/", "/share/info/", "/share/locale/",
                                      "/include/",   "/pkgconfig/", "/cmake/",      "/share/licenses/"};

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

bool is_documentation(const fs::path& path) {
  const std::string text = path;
  return std::any_of(documentation.begin(), documentation.end(),
                     [&](const char* place) { return text.find(place) != std::string::npos; });
}

// Characters of paths as programs and scripts write them.
bool is_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' ||
         c == '_' || c == '-' || c == '+' || c == '~' || c == '%' || c == '@' || c == '#';
}

// Whether a path that begins at `at` stands for itself: -I/usr/include does, and neither "$root"/usr nor
// ${root}/usr does.
bool begins(std::string_view text, size_t at) {
  if (at == 0)
    return true;
  const char before = text[at - 1], first = at > 1 ? text[at - 2] : ' ';
  if (before == '}' || before == ')' || before == '`')
    return false;
  if (before == '"' || before == '\'') // opening, if nothing precedes it
    return !is_part(first) && first != '}' && first != ')';
  if (!is_part(before))
    return true;
  const bool option = before >= 'A' && before <= 'Z' && first == '-';
  return option && (at < 3 || !is_part(text[at - 3]));
}

// The paths of a text, with their places. False from `found` ends it.
void for_each_path(std::string_view text,
                   const std::function<bool(size_t at, const std::string& path)>& found) {
  constexpr size_t longest = 4096;
  for (size_t at = text.find('/'); at != std::string_view::npos; at = text.find('/', at)) {
    size_t end = at;
    while (end < text.size() && is_part(text[end]))
      ++end;
    const size_t start = at, size = end - at;
    at = std::max(end, at + 1);
    if (size < 2 || size > longest || !begins(text, start))
      continue;
    fs::path path = fs::path(text.substr(start, size)).lexically_normal();
    if (!path.has_filename())
      path = path.parent_path();
    if (!found(start, path))
      return;
  }
}

bool is_library(const std::string& path) {
  return path.find(".so") != std::string::npos;
}

} // namespace

bool belongs_to_machine(const std::string& path) {
  static const std::array<std::string_view, 12> places = {"/.xaas",
                                                          "/dev",
                                                          "/proc",
                                                          "/sys",
                                                          "/tmp",
                                                          "/home",
                                                          "/run",
                                                          "/etc/passwd",
                                                          "/etc/group",
                                                          "/etc/hosts",
                                                          "/etc/resolv.conf",
                                                          "/etc/nsswitch.conf"};
  return path == "/" || std::any_of(places.begin(), places.end(), [&](std::string_view place) {
           return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
         });
}

NamedPaths::NamedPaths(const std::vector<File>& files, const std::function<bool(const std::string&)>& host) {
  for (const File& file : files) {
    if (file.type == fs::file_type::directory || (file.type == fs::file_type::regular && file.size == 0))
      continue;
    const fs::path path = "/" + file.path;
    // Those that only enroot reads.
    const bool of_runtimes = path == "/etc/rc" || path == "/etc/environment";
    if (belongs_to_machine(path.string()) || of_runtimes || is_standard(path) || // a link, with a merged /usr
        loader::is_of_c_library(path.filename().string()) || (file.is_executable() && host(path)))
      continue;
    paths_.insert(path);
    fs::path above = path.parent_path();
    for (; !is_standard(above); above = above.parent_path())
      paths_.insert(above);
    // Programs are found by PATH and libraries by RPATH, so only what else lies there makes a base of it.
    const fs::path directory = path.parent_path().filename();
    const bool data =
        directory != "bin" && directory != "sbin" && !is_library(path.filename()) && !is_documentation(path);
    for (; data && above.has_relative_path() && above != "/usr" && above.parent_path() != "/";
         above = above.parent_path())
      bases_.insert(above);
  }
}

bool NamedPaths::counts(const std::string& path) const {
  for (fs::path above = path; above.has_relative_path(); above = above.parent_path())
    if (paths_.contains(above.string()))
      return true;
  return false;
}

std::string NamedPaths::in(std::string_view content, const std::vector<std::string>& except) const {
  std::string first;
  for_each_path(content, [&](size_t at, const std::string& path) {
    const size_t end = content.find('\0', at);
    const bool whole = (at == 0 || content[at - 1] == '\0') && content.substr(at, end - at) == path;
    if ((counts(path) || (whole && bases_.contains(path))) &&
        std::find(except.begin(), except.end(), path) == except.end())
      first = path;
    return first.empty();
  });
  return first;
}

std::string NamedPaths::below(const std::string& root, std::string_view text) const {
  return with_root(root, text,
                   [&](const std::string& path) { return counts(path) || bases_.contains(path); });
}

std::string with_root(const std::string& root, std::string_view text,
                      const std::function<bool(const std::string&)>& found) {
  std::string made;
  size_t done = 0;
  for_each_path(text, [&](size_t at, const std::string& path) {
    if (!found(path))
      return true;
    made += text.substr(done, at - done);
    made += root;
    done = at;
    return true;
  });
  return made += text.substr(done);
}

} // namespace xaas::install
