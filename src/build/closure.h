// The run-time closure: the shared libraries that a configuration's programs need, with the loader and the
// extra files that the spec names.
#pragma once

#include <xaas/base/result.h>
#include <xaas/image/base_image.h>
#include <xaas/link/installed.h>
#include <xaas/loader/dynamic.h>
#include <xaas/store/content_store.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::build {

// A program or library of the application, before deploying makes it.
struct Linked {
  std::string path;        // its absolute path in the image; a name alone: it is not installed
  loader::Dynamic dynamic; // soname, RPATH, interpreter; `needed` has names of `libraries` and of others
  std::map<std::string, fs::path>
      libraries; // libraries of the machine that its link read, by the names that it needs
  std::set<std::string> symbols = {}; // that it needs; only for a base image
};

struct ClosureInput {
  std::string arch;                      // of the application
  std::vector<Linked> linked;            // each names the others that it links
  std::set<std::string> installed;       // names of other files that the application brings
  std::vector<std::string> extras;       // absolute paths of files and directories, from the application spec
  fs::path sysroot = {};                 // has the libraries and the extras; empty: this machine
  std::vector<std::string> library_path; // LD_LIBRARY_PATH of this process; not for a sysroot
  image::BaseImage* base = nullptr;      // null: `scratch`
};

struct Closure {
  std::vector<link::InstalledFile> files;  // sorted by path; contents are in the store
  std::vector<std::string> base_libraries; // names of those that are taken from the base image; sorted
  std::set<std::string> loaders;           // libraries that import dlopen
  std::map<Digest, fs::path> places; // the paths of the contents on this machine; never written into an image
};

// What the loader would load on this machine (xaas/loader), determined from the ELF files. No program is run,
// because the answer would depend on this machine's glibc-hwcaps. Libraries that the loader does not find are
// also looked for in the directories of the libraries that links read. Libraries that a base image has are
// left out (xaas/image/base_libraries.h). Errors (failed): a library that is not found, with the file that
// needs it; two libraries with the same name, neither of which can replace the other, because the image has
// one directory for all; with a base image, those of choose_libraries() and BaseImage::place().
Result<Closure> gather_closure(const ClosureInput& input, const store::ContentStore& content);

} // namespace xaas::build
