// The lines of the files of a tree, for evidence.
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

  // The error says why there is no such line. A path that leaves the tree, even through a link, is an error
  // and nothing is read.
  Result<std::string> line(const std::string& file, int64_t number);
  // All lines; none if the file does not exist or cannot be read.
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
