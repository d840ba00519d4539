// A capture session: what the compiler front door needs to know while one configuration is built.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/store/content_store.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xaas::capture {

struct Session {
  fs::path directory; // of the session: `tools/` with the front door under the compilers' names, and what it
                      // writes down
  fs::path
      store; // content store for modules, units, options, records and kit files; shared by all configurations
  std::string arch;  // "x86_64"
  std::string level; // ISA level of the configuration; "": the compiler's default, no level is passed
  fs::path clang;    // the clang whose headers and helpers are used
  // Directories whose files get names independent of the place: prefix and what replaces it. Later ones win.
  std::vector<std::pair<fs::path, std::string>> prefixes;
  // Directories that belong to the build: what a link reads from elsewhere is the link kit.
  std::vector<fs::path> roots;
  bool strip_debug = false; // leave debug information out of IR modules

  store::ContentStore content() const { return store::ContentStore(store); }
};

// Makes `directory` with session.json and `tools/` (xaas-cc, xaas-c++, ld: links to `program`).
Result<void> create_session(const Session& session, const fs::path& program);

// The session that a front-door process belongs to: $XAAS_SESSION, else the directory above that of argv[0].
// Builds that clean their environment still call the compiler by the path that they were given, or find it on
// PATH.
Result<Session> find_session(const std::string& argv0);
Result<Session> read_session(const fs::path& directory);

// The clang to use: $XAAS_CLANG, else the one this program was built with, else clang-22 on PATH.
// missing_tool if none.
Result<fs::path> find_clang();

// `path` with the session's prefixes replaced; a path under no prefix gives its file name.
std::string portable_name(const Session& session, const fs::path& path);

} // namespace xaas::capture
