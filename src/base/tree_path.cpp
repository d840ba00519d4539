#include <xaas/base/tree_path.h>

#include <vector>

namespace xaas {

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
  bool gone = false;
  for (int links = 0; !left.empty();) {
    const std::string part = left.back();
    left.pop_back();
    if (part == "..") {
      // A path that does not exist or is not a directory has no parent.
      gone |= type != fs::file_type::directory;
      at = at.parent_path();
      std::error_code code;
      type = gone ? fs::file_type::not_found : fs::symlink_status(outside_of(tree, at), code).type();
      continue;
    }
    const fs::path parent = at;
    at /= part;
    if (gone)
      continue;
    std::error_code code;
    const fs::path outside = outside_of(tree, at);
    type = fs::symlink_status(outside, code).type();
    if (type != fs::file_type::symlink)
      continue;
    const fs::path destination = fs::read_symlink(outside, code);
    if (code || ++links > most_links)
      return {at, outside, fs::file_type::unknown};
    at = destination.is_absolute() ? fs::path("/") : parent;
    type = fs::file_type::directory;
    push_parts(destination, left);
  }
  return {at, outside_of(tree, at), type};
}

} // namespace xaas
