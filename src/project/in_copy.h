// Where a build happens.
//
// CMake, Meson and configure scripts build out of tree, in the build directory. Make and commands cannot, so
// the build directory becomes a private copy of the sources. The same applies to an Autotools project whose
// generated files are missing or older than their sources, because autoreconf, or the rules that Automake
// adds to every makefile, would write them into the sources; and to one whose `configure` is not Autoconf's,
// because few scripts that are written by hand work in another directory. Any other project that writes into
// its sources says so in its spec, and gets a copy besides its build directory.
#pragma once

#include <xaas/project/project.h>

namespace xaas::project {

// True if the project builds among its sources, so that the build directory must be a copy of them.
bool builds_in_copy(const ConfigurationBuild& build);

// The directory of the build system in a copy of the sources.
fs::path top_of(const fs::path& source, const spec::Build& build);

// True if there is such a file or directory.
bool present(const fs::path& path);

} // namespace xaas::project
