// The files of a project's own build system, as far as a build read them.
#pragma once

#include <xaas/project/project.h>

#include <string>
#include <vector>

namespace xaas::project {

struct BuildFile {
  std::string name; // relative to the sources, or "build/..."
  std::string text;
};

// CMake and Meson write down what they read; of the others it is what is named like a makefile or macro file.
// Scripts are among them if one of these files names them. Sorted by name.
std::vector<BuildFile> build_files(const ConfigurationBuild& build);

// CMake's own Find modules that the build read, which may run programs, too.
std::vector<BuildFile> cmake_find_modules(const ConfigurationBuild& build);

} // namespace xaas::project
