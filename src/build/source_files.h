// Which files of a source tree go into a source image.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <string>
#include <vector>

namespace xaas::build {

struct SourceFiles {
  std::vector<fs::path> files;   // regular files and symbolic links, relative to the sources; sorted
  std::vector<fs::path> ignored; // files that a .gitignore names; sorted
};

// Every file that git would count as part of the project: tracked files, and others that no .gitignore names,
// in checkouts, submodules and unpacked archives alike. Also the files that `include` names (patterns; `*`
// stands for any characters). Version control's own files and the paths in `skip` are left out. Errors:
// missing_tool if there is a .gitignore but no git; failed for a socket, pipe or device (left out wherever
// git is asked, as git does), and for an absolute symbolic link, which would lead elsewhere on the target.
Result<SourceFiles> list_sources(const fs::path& source, const std::vector<std::string>& include,
                                 const std::vector<fs::path>& skip);

} // namespace xaas::build
