// The run-time closure: the shared libraries that a configuration's programs need, with loader and named
// extras.
#pragma once

#include <xaas/base/result.h>
#include <xaas/link/installed.h>
#include <xaas/loader/dynamic.h>
#include <xaas/store/content_store.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::build {

// A program or library of the application, which is not yet what it will be.
struct Linked {
  std::string path;        // where it will be, absolute; a name alone: nowhere
  loader::Dynamic dynamic; // soname, RPATH, interpreter; `needed`: names of `libraries`, and others
  std::map<std::string, fs::path>
      libraries; // of the machine, which its link read, by the names that it needs
};

struct ClosureInput {
  std::string arch;                      // of the application
  std::vector<Linked> linked;            // each with what it links of the others by their names
  std::set<std::string> installed;       // names of files that the application brings besides
  std::vector<std::string> extras;       // absolute paths of files and directories, from the application spec
  std::vector<std::string> library_path; // LD_LIBRARY_PATH of this process
};

struct Closure {
  std::vector<link::InstalledFile> files; // sorted by path; contents are in the store
  std::set<std::string> loaders;          // libraries that import dlopen
  std::map<Digest, fs::path> places; // where the contents lay on this machine; never written into an image
};

// What the loader would load on this machine (xaas/loader), as the ELF files say (never by running it: its
// answer depends on this machine's glibc-hwcaps). Where it finds nothing, the directories of the libraries
// that links read are searched, too. A library that is not found is a failed error that names it and who
// needs it, and so are two libraries of one name of which neither can serve for the other: the image has one
// directory for all.
Result<Closure> gather_closure(const ClosureInput& input, const store::ContentStore& content);

} // namespace xaas::build
