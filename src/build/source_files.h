// Which files of a source tree go into a source image.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <string>
#include <vector>

namespace xaas::build {

struct SourceFiles {
  std::vector<fs::path> files;   // regular files and symbolic links, relative to the sources; sorted
  std::vector<fs::path> ignored; // that a .gitignore names; sorted
};

// Everything that git would take for part of the project: what it knows, and what no .gitignore names, in
// checkouts, submodules and unpacked archives alike; what `include` names (patterns, `*` stands for any
// characters) besides. Version control's own files and what lies in `skip` are left out. Errors: missing_tool
// where there is a .gitignore and no git; failed for a socket, pipe or device (where git is asked, such files
// are left out, as git does), and for an absolute symbolic link, which would lead elsewhere on the target.
Result<SourceFiles> list_sources(const fs::path& source, const std::vector<std::string>& include,
                                 const std::vector<fs::path>& skip);

} // namespace xaas::build
