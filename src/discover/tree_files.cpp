#include "tree_files.h"

#include <xaas/base/process.h>

#include <algorithm>
#include <fstream>

namespace xaas::discover {

namespace {

bool is_left_out(const std::string& name) {
  return name == ".git" || name == ".svn" || name == ".hg" || name == ".pc";
}

} // namespace

// Level by level, so that the build files near the top of a tree that is too large are known.
Result<TreeFiles> TreeFiles::list(const fs::path& root, const Limits& limits) {
  std::error_code code;
  if (!fs::is_directory(root, code))
    return make_error(ErrorKind::not_found, "source tree " + root.string() + ": no such directory");
  TreeFiles tree;
  tree.root_ = fs::canonical(root, code);
  tree.file_bytes_ = limits.file_bytes;
  uint64_t seen = 0;
  constexpr int deepest = 64;
  std::vector<std::string> level = {""}; // directories, relative, with a slash at their ends
  for (int depth = 0; !level.empty() && tree.complete_; ++depth) {
    if (depth == deepest) {
      tree.too_deep_ = true;
      break;
    }
    std::vector<std::string> below;
    for (const std::string& directory : level) {
      XAAS_CHECK(check_interrupt());
      // Sorted, so that the same files of a tree that is too large are read each time.
      std::vector<fs::directory_entry> entries;
      auto at =
          fs::directory_iterator(tree.root_ / directory, fs::directory_options::skip_permission_denied, code);
      if (code && directory.empty())
        return errno_error(code.value(), "reading the source tree " + root.string());
      constexpr size_t most = 4'000'000; // in one directory
      for (; !code && at != fs::directory_iterator() && entries.size() < most; at.increment(code))
        entries.push_back(*at);
      std::sort(entries.begin(), entries.end());
      for (const fs::directory_entry& entry : entries) {
        if (++seen > limits.files) {
          tree.complete_ = false;
          break;
        }
        tree.add(entry, directory, below);
      }
      if (!tree.complete_)
        break;
    }
    std::sort(below.begin(), below.end());
    level = std::move(below);
  }
  std::sort(tree.paths_.begin(), tree.paths_.end());
  return tree;
}

void TreeFiles::add(const fs::directory_entry& entry, const std::string& directory,
                    std::vector<std::string>& below) {
  const std::string name = entry.path().filename().string();
  std::error_code ignored;
  const bool link = entry.is_symlink(ignored);
  if (!link && entry.is_directory(ignored)) {
    if (!is_left_out(name))
      below.push_back(directory + name + "/");
    return;
  }
  if (link) {
    const std::string real = fs::canonical(entry.path(), ignored).string();
    if (ignored || !real.starts_with(root_.string() + "/"))
      return;
    if (fs::is_directory(real, ignored)) {
      links_[directory + name] = real.substr(root_.string().size() + 1);
      return;
    }
  }
  if (!entry.is_regular_file(ignored))
    return;
  paths_.push_back(directory + name);
}

std::string TreeFiles::resolved(std::string path) const {
  constexpr int most = 16;
  for (int times = 0; times < most; ++times) {
    bool changed = false;
    for (size_t slash = path.find('/'); !changed; slash = path.find('/', slash + 1)) {
      if (const auto link = links_.find(path.substr(0, slash)); link != links_.end()) {
        path = link->second + (slash == std::string::npos ? std::string() : path.substr(slash));
        changed = true;
      }
      if (slash == std::string::npos)
        break;
    }
    if (!changed)
      break;
  }
  return path;
}

bool TreeFiles::has(const std::string& path) const {
  return std::binary_search(paths_.begin(), paths_.end(), path);
}

std::optional<std::string> TreeFiles::text(const std::string& path) const {
  if (!has(path))
    return std::nullopt;
  std::ifstream stream(root_ / path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? std::streamoff(stream.tellg()) : -1;
  if (size < 0 || static_cast<uint64_t>(size) > file_bytes_) {
    unread_.insert(path);
    return std::nullopt;
  }
  std::string text(static_cast<size_t>(size), '\0');
  stream.seekg(0);
  stream.read(text.data(), size);
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.substr(0, 8192).find('\0') != std::string::npos) {
    unread_.insert(path);
    return std::nullopt;
  }
  return text;
}

} // namespace xaas::discover
