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

namespace xaas::capture {

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

// What the front door did, as it writes it down.
struct CompileLog {
  uint64_t compiled = 0; // by the front end
  uint64_t reused = 0;   // known from the cache
  // The preprocessed text of each unit, where it is known.
  std::map<Digest, Digest> texts;
  // Of `check_sharing`: known outcomes that compiling contradicts, as `source: known module, compiled
  // module`.
  std::vector<std::string> differences;
};
Result<CompileLog> read_compile_log(const Session& session);

// Makes `directory` with session.json and `tools/` (xaas-cc, xaas-c++, flang, ld: links to `program`). Where
// there is a CUDA toolkit, also `cuda/`: that toolkit, but for its nvcc, which is the front door, too; and
// `cuda-headers/`. Where there is HIP, also `rocm/`: the same as a ROCm directory, with hipcc.
Result<void> create_session(const Session& session, const fs::path& program);

// The session that a front-door process belongs to: $XAAS_SESSION, else the directory above that of argv[0].
// Builds that clean their environment still call the compiler by the path that they were given, or find it on
// PATH.
Result<Session> find_session(const std::string& argv0);
Result<Session> read_session(const fs::path& directory);

// The clang to use: $XAAS_CLANG, else the one this program was built with, else clang-22 on PATH.
// missing_tool if none, or if it is not Clang of this program's version.
Result<fs::path> find_clang();

// The flang to use: $XAAS_FLANG, else the one beside the clang this program was built with, else flang-22 on
// PATH. Nothing if there is none: most projects have no Fortran. missing_tool if $XAAS_FLANG names none
// of this version.
Result<std::optional<fs::path>> find_flang();

// The CUDA toolkit with an nvcc: $CUDA_PATH, $CUDA_HOME, the one whose nvcc is on PATH, /usr/local/cuda.
// Nothing if there is none.
std::optional<fs::path> find_cuda();

// HIP: $ROCM_PATH, $HIP_PATH, the one whose hipcc is on PATH, /opt/rocm, /usr; its device libraries:
// $HIP_DEVICE_LIB_PATH, else where ROCm and Debian have them below it.
Rocm find_rocm();

// The error of a build that needs Fortran where there is no flang.
Error missing_flang();
// Writes down that the build called for flang and there is none; the error of that call.
Error note_missing_flang(const Session& session);
// True if the build has called for flang and there is none.
bool missed_flang(const Session& session);

// `path` with the session's prefixes replaced; a path under no prefix gives its file name.
std::string portable_name(const Session& session, const fs::path& path);

} // namespace xaas::capture
