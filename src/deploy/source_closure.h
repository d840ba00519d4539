// What programs that were built with a toolchain need from it at run time.
#pragma once

#include "assemble.h"

#include <xaas/base/result.h>
#include <xaas/image/base_image.h>
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
  std::vector<std::string> base_libraries;   // names of those that are taken from the base image; sorted
  std::vector<image::Package> packages;      // the Debian packages that they belong to
  std::set<std::string> library_directories; // that the loader does not search by default
};

// The loader and the shared libraries that the installed files need and do not bring, and the libraries that
// those need, determined from the ELF files alone; also `runtime` (absolute paths). Each keeps its path in
// the tree. `path`: directories that are searched before the loader's own. failed: a missing library, with
// the file that needs it. With a base image (else null), those that it has are left out, and the others lie
// where its loader finds them (base_libraries.h); errors of choose_libraries() and BaseImage::place().
Result<SourceClosure> close_over(const fs::path& tree, const std::string& arch,
                                 const std::vector<std::string>& path,
                                 const std::vector<link::InstalledFile>& installed, const Assembly& assembly,
                                 const std::vector<std::string>& runtime, image::BaseImage* base);

} // namespace xaas::deploy
