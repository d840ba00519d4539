// Lines of the files of a tree, for evidence.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::llm {

class TreeLines {
public:
  explicit TreeLines(const fs::path& root);

  // Why there is no such line is the error. A path that leaves the tree, also through a link, is no path of
  // a file of it; nothing is read for it.
  Result<std::string> line(const std::string& file, int64_t number);
  // All lines; none if there is no such file, or none that is read.
  const std::vector<std::string>& lines(const std::string& file);

private:
  struct File {
    std::string trouble;
    std::vector<std::string> lines;
  };
  const File& open(const std::string& file);
  File read(const std::string& file) const;
  fs::path root_;
  std::map<std::string, File> files_;
};

} // namespace xaas::llm
