// The scripts in PREFIX/bin.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xaas::install {

struct Script {
  std::string name;
  std::string origin; // the image
  // Without a container: the program's path on the host, directories that come first in PATH, and variables
  // (names that a shell takes) that are set unless the user has set them.
  std::string program;
  std::vector<std::string> search_path;
  std::vector<std::pair<std::string, std::string>> variables;
  // With a container: the lines that start it; the others are empty.
  std::vector<std::string> lines;
};

std::string script_text(const Script& script);

} // namespace xaas::install
