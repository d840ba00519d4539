#include "tree_lines.h"

#include <xaas/base/text.h>
#include <xaas/discover/findings.h>

namespace xaas::llm {

TreeLines::TreeLines(const fs::path& root) {
  std::error_code code;
  root_ = fs::canonical(root, code);
}

TreeLines::File TreeLines::read(const std::string& file) const {
  const fs::path path = file;
  if (file.empty() || path.is_absolute() || file.find('\0') != std::string::npos)
    return {"is not a path inside the tree", {}};
  for (const fs::path& part : path)
    if (part == "..")
      return {"is not a path inside the tree", {}};
  std::error_code code;
  const fs::path real = fs::canonical(root_ / path, code);
  if (code || !fs::is_regular_file(real, code))
    return {"is not a file of the tree", {}};
  if (relative_under(real, root_).empty())
    return {"is not a path inside the tree", {}};
  const auto text = read_file(real, discover::Limits().file_bytes);
  if (!text)
    return {"cannot be read", {}};
  return {"", split(*text, '\n')};
}

const TreeLines::File& TreeLines::open(const std::string& file) {
  const auto found = files_.find(file);
  return found != files_.end() ? found->second : files_.emplace(file, read(file)).first->second;
}

Result<std::string> TreeLines::line(const std::string& file, int64_t number) {
  const File& opened = open(file);
  if (!opened.trouble.empty())
    return make_error(ErrorKind::integrity, opened.trouble);
  if (number < 1 || static_cast<uint64_t>(number) > opened.lines.size())
    return make_error(ErrorKind::integrity, "has no line " + std::to_string(number));
  return opened.lines[static_cast<size_t>(number - 1)];
}

const std::vector<std::string>& TreeLines::lines(const std::string& file) {
  return open(file).lines;
}

} // namespace xaas::llm
