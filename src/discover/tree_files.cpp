#include "tree_files.h"

#include <algorithm>
#include <fstream>

namespace xaas::discover {

namespace {

bool is_left_out(const std::string& name) {
  return name == ".git" || name == ".svn" || name == ".hg" || name == ".pc";
}

} // namespace

Result<TreeFiles> TreeFiles::list(const fs::path& root, const Limits& limits) {
  std::error_code code;
  if (!fs::is_directory(root, code))
    return make_error(ErrorKind::not_found, "source tree " + root.string() + ": no such directory");
  TreeFiles tree;
  tree.root_ = fs::canonical(root, code);
  tree.file_bytes_ = limits.file_bytes;
  uint64_t seen = 0;
  auto at = fs::recursive_directory_iterator(tree.root_, fs::directory_options::skip_permission_denied, code);
  for (; !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
    if (++seen > limits.files) {
      tree.complete_ = false;
      break;
    }
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) {
      constexpr int deepest = 64; // each level is an open directory
      if (is_left_out(at->path().filename()) || at.depth() >= deepest)
        at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(ignored))
      continue;
    if (at->is_symlink(ignored)) {
      const std::string real = fs::canonical(at->path(), ignored).string();
      if (ignored || !real.starts_with(tree.root_.string() + "/"))
        continue;
    }
    tree.paths_.push_back(at->path().string().substr(tree.root_.string().size() + 1));
  }
  if (code)
    return errno_error(code.value(), "reading the source tree " + root.string());
  std::sort(tree.paths_.begin(), tree.paths_.end());
  return tree;
}

bool TreeFiles::has(const std::string& path) const {
  return std::binary_search(paths_.begin(), paths_.end(), path);
}

std::optional<std::string> TreeFiles::text(const std::string& path) const {
  if (!has(path))
    return std::nullopt;
  std::ifstream stream(root_ / path, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? std::streamoff(stream.tellg()) : -1;
  if (size < 0 || static_cast<uint64_t>(size) > file_bytes_)
    return std::nullopt;
  std::string text(static_cast<size_t>(size), '\0');
  stream.seekg(0);
  stream.read(text.data(), size);
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.substr(0, 8192).find('\0') != std::string::npos)
    return std::nullopt;
  return text;
}

} // namespace xaas::discover
