// The files of a project's build system that a build read.
#pragma once

#include <xaas/project/project.h>

#include <string>
#include <vector>

namespace xaas::project {

struct BuildFile {
  std::string name; // relative to the sources, or "build/..."
  std::string text;
};

// CMake and Meson write down what they read. For the others, files with the usual names of makefiles and
// macro files count. Scripts count if one of these files names them. Sorted by name.
std::vector<BuildFile> build_files(const ConfigurationBuild& build);

// CMake's own Find modules that the build read. They may run programs, too.
std::vector<BuildFile> cmake_find_modules(const ConfigurationBuild& build);

} // namespace xaas::project
