// What programs that were built with a toolchain need of it at run time.
#pragma once

#include "assemble.h"

#include <xaas/base/result.h>
#include <xaas/image/bundle.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::deploy {

struct SourceClosure {
  std::vector<link::InstalledFile>
      files; // regular files and links, as in BundleConfiguration; sorted by path
  std::map<std::string, fs::path> places;    // of the regular files on this machine, by path
  std::vector<image::Package> packages;      // of Debian's, of which they are
  std::set<std::string> library_directories; // that the loader does not search by itself
};

// The loader and the shared libraries that the installed files need and do not bring, and what these need,
// from the ELF files alone; `runtime` (absolute paths) besides. Each keeps its path in the tree. `path`:
// where libraries are looked for before the loader's own directories. failed: a library that is not there,
// with who needs it.
Result<SourceClosure> close_over(const fs::path& tree, const std::string& arch,
                                 const std::vector<std::string>& path,
                                 const std::vector<link::InstalledFile>& installed, const Assembly& assembly,
                                 const std::vector<std::string>& runtime);

} // namespace xaas::deploy
