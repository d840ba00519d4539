#include <xaas/base/directory.h>
#include <xaas/base/json.h>
#include <xaas/base/process.h>
#include <xaas/base/utf8.h>
#include <xaas/session/session.h>

#include <cstdio>
#include <cstdlib>

namespace xaas::session {

namespace {

constexpr const char* session_file = "session.json";

Json to_json(const Session& session) {
  Json prefixes = Json::array();
  for (const auto& [prefix, name] : session.prefixes)
    prefixes.push_back(Json{{"prefix", prefix.string()}, {"name", name}});
  Json roots = Json::array();
  for (const fs::path& root : session.roots)
    roots.push_back(root.string());
  return Json{{"store", session.store.string()},
              {"arch", session.arch},
              {"sysroot", session.sysroot.string()},
              {"level", session.level},
              {"other_levels", session.other_levels},
              {"gpus", session.gpus},
              {"clang", session.clang.string()},
              {"flang", session.flang.string()},
              {"cuda", session.cuda.string()},
              {"rocm", session.rocm.root.string()},
              {"rocm_bitcode", session.rocm.bitcode.string()},
              {"nasm", session.nasm.program.string()},
              {"nasm_digest", session.nasm.digest.to_string()},
              {"prefixes", prefixes},
              {"roots", roots},
              {"strip_debug", session.strip_debug},
              {"cache", session.cache.string()},
              {"shared_cache", session.shared_cache.string()},
              {"shared_cache_vouched", session.shared_cache_vouched},
              {"trace", session.trace},
              {"check_sharing", session.check_sharing}};
}

} // namespace

Result<void> write_session(const Session& session) {
  for (const char* name :
       {"outputs", "native", "device-files", "kit", "machine-files", "lesser", "working-features", "lto",
        "merged", "other-levels", "comparing", "leaks", "vectors"})
    XAAS_CHECK(make_directories(session.directory / name));
  XAAS_TRY(const std::string text, json_text(to_json(session), "the directories of the build", 2));
  return write_file(session.directory / session_file, text + "\n");
}

Result<Session> read_session(const fs::path& directory) {
  XAAS_TRY(const Json json, read_json(directory / session_file));
  const JsonReader reader(json, (directory / session_file).string(), ErrorKind::usage);
  Session session;
  session.directory = directory;
  XAAS_TRY(session.store, reader.string_at("store"));
  XAAS_TRY(session.arch, reader.string_at("arch"));
  XAAS_TRY(session.sysroot, reader.string_or("sysroot", ""));
  XAAS_TRY(session.level, reader.string_at("level"));
  XAAS_TRY(session.other_levels, reader.strings_at("other_levels"));
  XAAS_TRY(session.gpus, reader.strings_at("gpus"));
  XAAS_TRY(session.clang, reader.string_at("clang"));
  XAAS_TRY(session.flang, reader.string_at("flang"));
  XAAS_TRY(session.cuda, reader.string_at("cuda"));
  XAAS_TRY(session.rocm.root, reader.string_or("rocm", ""));
  XAAS_TRY(session.rocm.bitcode, reader.string_or("rocm_bitcode", ""));
  XAAS_TRY(session.nasm.program, reader.string_or("nasm", ""));
  XAAS_TRY(const std::string digest, reader.string_or("nasm_digest", Digest().to_string()));
  XAAS_TRY(session.nasm.digest, Digest::parse(digest));
  XAAS_TRY(const JsonReader prefixes, reader.at("prefixes"));
  XAAS_TRY(const std::vector<JsonReader> items, prefixes.items());
  for (const JsonReader& item : items) {
    XAAS_TRY(const std::string prefix, item.string_at("prefix"));
    XAAS_TRY(const std::string name, item.string_at("name"));
    session.prefixes.emplace_back(prefix, name);
  }
  XAAS_TRY(const JsonReader roots, reader.at("roots"));
  XAAS_TRY(const std::vector<std::string> paths, roots.strings());
  session.roots.assign(paths.begin(), paths.end());
  XAAS_TRY(session.strip_debug, reader.boolean_or("strip_debug", false));
  XAAS_TRY(session.cache, reader.string_or("cache", ""));
  XAAS_TRY(session.shared_cache, reader.string_or("shared_cache", ""));
  XAAS_TRY(session.shared_cache_vouched, reader.boolean_or("shared_cache_vouched", false));
  XAAS_TRY(session.trace, reader.boolean_or("trace", false));
  XAAS_TRY(session.check_sharing, reader.boolean_or("check_sharing", false));
  return session;
}

Result<Session> find_session(const std::string& argv0) {
  if (const char* directory = std::getenv("XAAS_SESSION"); directory && *directory)
    return read_session(directory);
  // A name without a slash was found on PATH. Links are not followed, because the tools are links to this
  // program.
  if (const std::optional<fs::path> program = find_program(argv0)) {
    const fs::path above = fs::absolute(*program).parent_path().parent_path();
    std::error_code code;
    for (const fs::path& directory : {above, above.parent_path()}) // for tools/NAME, for cuda/bin/nvcc
      if (fs::exists(directory / session_file, code))
        return read_session(directory);
  }
  return make_error(ErrorKind::usage, "the compiler front door was called outside a build",
                    "only builds that `xaas build` runs call it");
}

std::string portable_name(const Session& session, const fs::path& path) {
  const fs::path absolute = fs::absolute(path);
  for (auto it = session.prefixes.rbegin(); it != session.prefixes.rend(); ++it)
    if (const fs::path relative = relative_under(absolute, it->first); !relative.empty())
      return as_utf8((fs::path(it->second) / relative).lexically_normal().string());
  return as_utf8(path.filename().string());
}

std::string mapped_path(const Session& session, const std::string& path) {
  for (auto it = session.prefixes.rbegin(); it != session.prefixes.rend(); ++it)
    if (const fs::path relative = relative_under(path, it->first); !relative.empty())
      return relative == "." ? it->second : it->second + "/" + relative.string();
  return path;
}

} // namespace xaas::session
