// A capture session: the settings of the compiler front door while one configuration is built.
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

// A HIP installation: a ROCm directory, or a distribution's own packages below /usr.
struct Rocm {
  fs::path root;    // contains include/hip/hip_runtime.h; empty: there is no HIP
  fs::path bitcode; // AMD's device libraries (ocml.bc and others); empty: they are not installed
};

// The NASM that a build finds on its PATH.
struct Nasm {
  fs::path program; // empty: none is installed
  Digest digest;    // of its file
};

struct Session {
  fs::path directory; // of the session: `tools/` with the front door under the compilers' names, and what it
                      // writes down
  fs::path
      store; // content store for modules, units, options, records and kit files; shared by all configurations
  std::string arch;  // "x86_64"
  fs::path sysroot;  // whose headers and libraries the build uses; empty: none
  std::string level; // ISA level of the configuration; "": no level is passed, the compiler's default applies
  // Other ISA levels for which this build may be the same; every command says where it is not (log.h).
  std::vector<std::string> other_levels;
  std::vector<std::string>
      gpus;       // architectures that device code is compiled for (sm_90); none: those that the build names
  fs::path clang; // the clang with the headers and helpers
  fs::path flang; // the flang that compiles Fortran; empty: none is installed
  fs::path cuda;  // the installed CUDA toolkit; empty: none
  Rocm rocm = {}; // the installed HIP
  Nasm nasm = {};
  // Directories whose files get location-independent names: prefix and replacement. Later entries win.
  std::vector<std::pair<fs::path, std::string>> prefixes;
  // Directories that belong to the build. Files that a link reads from elsewhere form the link kit.
  std::vector<fs::path> roots;
  bool strip_debug = false; // leave debug information out of IR modules
  fs::path cache;           // of compile outcomes (store::Cache); empty: none
  fs::path shared_cache;    // another cache, read only and accepted (store::SharedCache); empty: none
  bool shared_cache_vouched = false; // root named it
  bool trace = false;                // write events into spans()
  // Compile even if the outcome is known, and record where the module differs (`differences/`).
  bool check_sharing = false;

  store::ContentStore content() const { return store::ContentStore(store); }
  // If there is a toolkit: the toolkit as the build sees it, whose nvcc is the front door; and headers that
  // Clang itself includes, for the front of the search path (see create_session()).
  fs::path shadow_cuda() const { return directory / "cuda"; }
  fs::path spans() const { return directory / "spans"; } // see trace::append_to()
  fs::path first_cuda_headers() const { return directory / "cuda-headers"; }
};

// Writes `directory`/session.json and creates the directories of the front door's notes.
Result<void> write_session(const Session& session);

// The session of a front-door process: $XAAS_SESSION, else the directory above that of argv[0]. A build that
// clears its environment still calls the compiler by the path that it was given, or finds it on PATH.
Result<Session> find_session(const std::string& argv0);
Result<Session> read_session(const fs::path& directory);

// `path` with the session's prefixes replaced; the file name of a path under no prefix.
std::string portable_name(const Session& session, const fs::path& path);

// `path` as -ffile-prefix-map maps it: with the last prefix that matches replaced by its name.
std::string mapped_path(const Session& session, const std::string& path);

} // namespace xaas::session
