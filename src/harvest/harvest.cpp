#include <xaas/base/directory.h>
#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/base/utf8.h>
#include <xaas/harvest/device_file.h>
#include <xaas/harvest/harvest.h>
#include <xaas/harvest/identify.h>
#include <xaas/session/log.h>

#include <algorithm>
#include <sstream>
#include <sys/stat.h>
#include <sys/xattr.h>

namespace xaas::harvest {

namespace {

using link::InstalledFile;
using Kind = InstalledFile::Kind;

// Drops directories of the build, which do not exist where the image runs and would reveal where it was
// built.
void drop_build_directories(const session::Session& session, link::Finish& finish) {
  if (!finish.runpath)
    return;
  std::vector<std::string> kept;
  for (const std::string& directory : split(*finish.runpath, ':'))
    if (!directory.empty() && (!directory.starts_with("/") || !is_of_build(session, directory)))
      kept.push_back(directory);
  finish.runpath = kept.empty() ? std::nullopt : std::optional(join(kept, ":"));
  if (kept.empty())
    finish.tag.reset();
}

// Images carry no set-user-ID mode or capability, so such a program is refused instead of losing its rights.
Result<void> check_privileges(const fs::path& path, const struct stat& status, const InstalledFile& file) {
  if (status.st_mode & (S_ISUID | S_ISGID))
    return make_error(
        ErrorKind::failed,
        "/" + file.path +
            ": is installed with the rights of its owner or group (set-user-ID or set-group-ID)",
        "an image has no such programs: install it with an ordinary mode");
  if (lgetxattr(path.c_str(), "security.capability", nullptr, 0) > 0)
    return make_error(ErrorKind::failed, "/" + file.path + ": is installed with capabilities (setcap)",
                      "an image has no such programs: take that step out of the build");
  return {};
}

Result<void> classify(const session::Session& session, const fs::path& path, InstalledFile& file) {
  XAAS_TRY(const std::string content, read_file(path));
  XAAS_TRY(file.device, device_file_of(session, content));
  if (file.device) {
    // SPIR-V runs on any GPU.
    file.native = file.device->units.empty() && file.device->form != link::DeviceFile::Form::spirv;
    XAAS_TRY(file.digest, session.content().put(content));
    return {};
  }
  const bool machine_code = link::is_elf(content) || link::is_archive(content);
  if (!machine_code) {
    if (!link::find_note_bytes(content).empty())
      return make_error(ErrorKind::failed,
                        "/" + file.path +
                            ": has code of this build embedded in other data, which deploying "
                            "cannot make again",
                        "install the program or object itself, or leave this file out");
    XAAS_TRY(file.digest, session.content().put(content));
    return {};
  }
  XAAS_TRY(const link::FileRef ref, identify(session, path, path.filename().string()));
  file.digest = ref.digest;
  switch (ref.kind) {
  case link::FileRef::Kind::unit:
    file.kind = Kind::unit;
    break;
  case link::FileRef::Kind::archive:
    file.kind = Kind::archive;
    break;
  case link::FileRef::Kind::link: {
    file.kind = Kind::link;
    XAAS_TRY(file.finish, link::read_finish(content));
    drop_build_directories(session, *file.finish);
    break;
  }
  case link::FileRef::Kind::kit:
    if (!link::find_note_bytes(content).empty())
      return make_error(ErrorKind::failed,
                        "/" + file.path + ": holds code of this build that deploying would not make again");
    file.native = true;
    break;
  }
  return {};
}

// `name`: the path of an installed file, or the target of its link.
Result<void> check_name(const std::string& path, const std::string& name) {
  if (is_utf8(name))
    return {};
  return make_error(ErrorKind::failed, "/" + escape_bytes(path) + ": the build installed a file whose " +
                                           (path == name ? "name" : "link target " + escape_bytes(name)) +
                                           " is not UTF-8");
}

} // namespace

Result<std::vector<link::InstalledFile>> harvest(const session::Session& session,
                                                 const fs::path& destination) {
  session::Session installing =
      session; // files in the install tree belong to the build, wherever that tree is
  std::error_code ignored;
  installing.roots.push_back(fs::weakly_canonical(destination, ignored));
  std::vector<InstalledFile> files;
  std::error_code code;
  for (auto it = fs::recursive_directory_iterator(destination, code);
       !code && it != fs::recursive_directory_iterator(); it.increment(code)) {
    struct stat status{};
    if (lstat(it->path().c_str(), &status) != 0)
      return errno_error(errno, "reading " + it->path().string());
    InstalledFile file;
    file.path = it->path().lexically_relative(destination).string();
    XAAS_CHECK(check_name(file.path, file.path));
    file.mode = status.st_mode & 0777;
    if (S_ISLNK(status.st_mode)) {
      file.kind = Kind::symlink;
      file.destination = fs::read_symlink(it->path(), code).string();
      XAAS_CHECK(check_name(file.path, file.destination));
    } else if (S_ISDIR(status.st_mode)) {
      file.kind = Kind::directory;
    } else if (S_ISREG(status.st_mode)) {
      XAAS_CHECK(check_privileges(it->path(), status, file));
      XAAS_CHECK(classify(installing, it->path(), file));
    } else {
      return make_error(ErrorKind::failed,
                        "/" + file.path + ": the build installed a special file (socket, pipe, device)");
    }
    files.push_back(std::move(file));
  }
  if (code)
    return errno_error(code.value(), "reading " + destination.string());
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

Result<std::map<Digest, KitOrigin>> kit_origins(const session::Session& session) {
  std::map<Digest, KitOrigin> origins;
  XAAS_TRY(const std::vector<fs::path> entries, list_directory(session.directory / "kit"));
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    XAAS_TRY(const Digest digest, Digest::parse("sha256:" + name.substr(0, name.find('-'))));
    XAAS_TRY(const Json json, read_json(entry));
    const JsonReader reader(json, entry.string());
    XAAS_TRY(const std::string path, reader.string_at("path"));
    XAAS_TRY(const bool of_build, reader.boolean_or("of_build", false));
    // The same content may lie in several places; the answer must not depend on the order of reading.
    KitOrigin& origin = origins[digest];
    if (origin.path.empty() || path < origin.path.string())
      origin.path = path;
    origin.of_build |= of_build;
    if (const std::optional<std::string> reason = session::native_reason(session, digest))
      origin.reason = *reason;
  }
  return origins;
}

// The front door's notes on units: one file per unit in a directory of the session.
static Result<std::vector<std::string>> unit_notes(const session::Session& session, const char* directory) {
  XAAS_TRY(const std::vector<fs::path> files, list_directory(session.directory / directory));
  std::vector<std::string> notes;
  for (const fs::path& file : files) {
    XAAS_TRY(const std::string note, read_file(file));
    if (!trim(note).empty())
      notes.push_back(trim(note));
  }
  return notes;
}

Result<std::set<std::string>> leaking_sources(const session::Session& session) {
  XAAS_TRY(const std::vector<std::string> sources, unit_notes(session, "leaks"));
  return std::set<std::string>(sources.begin(), sources.end());
}

Result<std::map<std::string, unsigned>> vector_returns(const session::Session& session) {
  XAAS_TRY(const std::vector<std::string> notes, unit_notes(session, "vectors"));
  std::map<std::string, unsigned> counts;
  for (const std::string& note : notes) {
    std::istringstream stream(note);
    unsigned count = 0;
    std::string source;
    if (stream >> count && std::getline(stream >> std::ws, source))
      counts[source] = std::max(counts[source], count);
  }
  return counts;
}

} // namespace xaas::harvest
