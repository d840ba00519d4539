#include <xaas/runtimes/tree_paths.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::runtimes {

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
    // Another run may create it at the same time.
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
  return static_cast<bool>(code); // a directory that cannot be read does not count as empty
}

bool is_below(const std::string& path, const std::string& directory) {
  return directory == "/" || path == directory || path.starts_with(directory + "/");
}

} // namespace xaas::runtimes
