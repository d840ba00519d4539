// The run-time closure: the shared libraries that a configuration's programs need, with loader and named
// extras.
#pragma once

#include <xaas/base/result.h>
#include <xaas/link/installed.h>
#include <xaas/store/content_store.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::build {

struct ClosureInput {
  std::string arch;                // of the application
  std::vector<fs::path> libraries; // shared libraries that links read, as they lie on this machine
  std::map<std::string, std::string>
      needed;                         // libraries that installed native files need, and which file does
  std::set<std::string> interpreters; // program interpreters of the links (absolute paths)
  std::vector<std::string> extras;    // absolute paths of files and directories, from the application spec
};

struct Closure {
  std::vector<link::InstalledFile> files; // sorted by path; contents are in the store
  std::set<std::string> loaders;          // libraries that import dlopen
  std::map<Digest, fs::path> places; // where the contents lay on this machine; never written into an image
};

// Follows DT_NEEDED from file to file, as the ELF files say (never by running a loader: its answer depends on
// this machine's glibc-hwcaps). A library that is not found is a failed error that names it and who needs it.
Result<Closure> gather_closure(const ClosureInput& input, const store::ContentStore& content);

} // namespace xaas::build
