// A capture session: what the compiler front door needs to know while one configuration is built.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/store/content_store.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xaas::session {

// HIP and what it is compiled with: a ROCm directory, or a distribution's own packages below /usr.
struct Rocm {
  fs::path root;    // has include/hip/hip_runtime.h; empty: there is no HIP
  fs::path bitcode; // AMD's device libraries (ocml.bc and others); empty: they are not installed
};

struct Session {
  fs::path directory; // of the session: `tools/` with the front door under the compilers' names, and what it
                      // writes down
  fs::path
      store; // content store for modules, units, options, records and kit files; shared by all configurations
  std::string arch;  // "x86_64"
  std::string level; // ISA level of the configuration; "": the compiler's default, no level is passed
  std::vector<std::string>
      gpus;       // architectures that device code is compiled for (sm_90); none: as the build says
  fs::path clang; // the clang whose headers and helpers are used
  fs::path flang; // the flang that compiles Fortran; empty: none is installed
  fs::path cuda;  // the CUDA toolkit that is installed; empty: none
  Rocm rocm = {}; // HIP, if it is installed
  // Directories whose files get names independent of the place: prefix and what replaces it. Later ones win.
  std::vector<std::pair<fs::path, std::string>> prefixes;
  // Directories that belong to the build: what a link reads from elsewhere is the link kit.
  std::vector<fs::path> roots;
  bool strip_debug = false; // leave debug information out of IR modules
  fs::path cache;           // of compiles whose outcome is known (store::Cache); empty: none
  fs::path
      shared_cache; // another such, which is only read and was accepted (store::SharedCache); empty: none
  bool shared_cache_vouched = false; // root has named it
  // Compile also what is known, and write down where that gives another module (`differences/`).
  bool check_sharing = false;

  store::ContentStore content() const { return store::ContentStore(store); }
  // Where there is a toolkit: that toolkit as the build sees it, whose nvcc is the front door; headers of its
  // that Clang itself includes, for the front of the search path (see create_session()).
  fs::path shadow_cuda() const { return directory / "cuda"; }
  fs::path first_cuda_headers() const { return directory / "cuda-headers"; }
};

// Writes `directory`/session.json, and the directories in which the front door leaves its notes.
Result<void> write_session(const Session& session);

// The session that a front-door process belongs to: $XAAS_SESSION, else the directory above that of argv[0].
// Builds that clean their environment still call the compiler by the path that they were given, or find it on
// PATH.
Result<Session> find_session(const std::string& argv0);
Result<Session> read_session(const fs::path& directory);

// `path` with the session's prefixes replaced; a path under no prefix gives its file name.
std::string portable_name(const Session& session, const fs::path& path);

} // namespace xaas::session
