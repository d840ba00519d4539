// One reader for each build system, and one for sources. Each adds to the findings, and notes what could not
// be read.
#pragma once

#include "tree_files.h"

#include <xaas/discover/findings.h>

namespace xaas::discover {

void read_cmake(const TreeFiles& tree, const Limits& limits, Findings& findings);
void read_cmake_presets(const TreeFiles& tree, Findings& findings); // after read_cmake
void read_meson(const TreeFiles& tree, Findings& findings);
void read_autotools(const TreeFiles& tree, Findings& findings);
void read_make(const TreeFiles& tree, Findings& findings);
void take_values_from_help(Findings& findings);               // after the reader of the build system
void read_license(const TreeFiles& tree, Findings& findings); // after the reader of the build system
void read_sources(const TreeFiles& tree, const Limits& limits, Findings& findings);

// Whether a word is the name of one of MPI's compilers, perhaps with its directory.
bool is_mpi_compiler(const std::string& word);

} // namespace xaas::discover
