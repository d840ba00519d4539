// CMake's commands that compute values: list(), string(), file(GLOB), ...; and those whose results cannot be
// known here.
//
// Source: cmake-commands(7).
#pragma once

#include "readers/cmake/values.h"
#include "tree_files.h"

#include <string>
#include <vector>

namespace xaas::discover {

// The path in the tree of an absolute or relative name of CMake; "" is the tree itself, "\
// " lies outside it.
std::string path_in_tree(const std::string& name, const std::string& directory);

// Ignores other commands. `directory`: of the running CMakeLists.txt.
void execute_value_command(CMakeValues& values, const TreeFiles& tree, const std::string& directory,
                           const CMakeCommand& command, const std::vector<CMakeWord>& words);

} // namespace xaas::discover
