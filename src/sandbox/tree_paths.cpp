#include <xaas/sandbox/tree_paths.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace xaas::sandbox {

namespace {

constexpr int most_links = 40; // as Linux

void push_parts(const fs::path& path, std::vector<std::string>& left) {
  const std::vector<fs::path> parts(path.begin(), path.end());
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    if (!part->empty() && *part != "/" && *part != ".")
      left.push_back(*part);
}

fs::path outside_of(const fs::path& tree, const fs::path& inside) {
  return inside == "/" ? tree : tree / inside.relative_path();
}

} // namespace

TreePlace find_in_tree(const fs::path& tree, const std::string& path) {
  fs::path at = "/";
  std::vector<std::string> left;
  push_parts(path, left);
  fs::file_type type = fs::file_type::directory;
  for (int links = 0; !left.empty();) {
    const std::string part = left.back();
    left.pop_back();
    if (part == "..") {
      at = at.parent_path();
      type = fs::symlink_status(outside_of(tree, at)).type();
      continue;
    }
    const fs::path parent = at;
    at /= part;
    std::error_code code;
    const fs::path outside = outside_of(tree, at);
    type = fs::symlink_status(outside, code).type();
    if (type != fs::file_type::symlink)
      continue;
    const fs::path destination = fs::read_symlink(outside, code);
    if (code || ++links > most_links)
      return {at, outside, fs::file_type::unknown};
    at = destination.is_absolute() ? fs::path("/") : parent;
    push_parts(destination, left);
  }
  return {at, outside_of(tree, at), type};
}

Result<std::string> make_mount_point(const fs::path& tree, const std::string& path, bool directory) {
  const std::string what = "making " + path + " in " + tree.string();
  const TreePlace place = find_in_tree(tree, path);
  const bool exists = place.type != fs::file_type::not_found;
  if (exists && (place.type == fs::file_type::directory) == directory)
    return place.inside;
  if (exists)
    return make_error(ErrorKind::storage,
                      what + ": the image has " + (directory ? "no directory" : "a directory") + " there");
  const std::string above = fs::path(place.inside).parent_path();
  if (above != "/")
    if (Result<std::string> made = make_mount_point(tree, above, true); !made)
      return made;
  if (directory) {
    // Another run may make it at the same time.
    if (mkdir(place.outside.c_str(), 0755) != 0 && errno != EEXIST)
      return errno_error(errno, what);
    return place.inside;
  }
  const int file = open(place.outside.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file < 0)
    return errno_error(errno, what);
  close(file);
  return place.inside;
}

bool has_files(const TreePlace& place) {
  if (place.type == fs::file_type::not_found)
    return false;
  if (place.type != fs::file_type::directory)
    return true;
  std::error_code code;
  for (fs::recursive_directory_iterator it(place.outside, code), end; !code && it != end; it.increment(code))
    if (it->is_symlink(code) || !it->is_directory(code))
      return true;
  return static_cast<bool>(code); // what cannot be read is not empty
}

bool is_below(const std::string& path, const std::string& directory) {
  return directory == "/" || path == directory || path.starts_with(directory + "/");
}

} // namespace xaas::sandbox
