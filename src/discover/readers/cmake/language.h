// CMake's language as a list of commands (cmake-language(7), "Syntax").
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xaas::discover {

struct CMakeArgument {
  std::string text;
  bool quoted = false;  // "...": not split at semicolons
  bool bracket = false; // [[...]]: not evaluated
};

struct CMakeCommand {
  std::string name; // lower case
  std::vector<CMakeArgument> arguments;
  unsigned line = 0;
};

struct CMakeFile {
  std::vector<CMakeCommand> commands; // up to the first error
  std::string error;                  // empty: none
  unsigned error_line = 0;
};

CMakeFile parse_cmake(std::string_view text);

} // namespace xaas::discover
