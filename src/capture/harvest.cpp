#include "identify.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/capture/harvest.h>

#include <algorithm>
#include <sys/stat.h>

namespace xaas::capture {

namespace {

using link::InstalledFile;
using Kind = InstalledFile::Kind;

// Directories of the build mean nothing where the image runs, and would tell where it was built.
void drop_build_directories(const Session& session, link::Finish& finish) {
  if (!finish.runpath)
    return;
  std::vector<std::string> kept;
  for (const std::string& directory : split(*finish.runpath, ':'))
    if (!directory.empty() && (!directory.starts_with("/") || !is_of_build(session, directory)))
      kept.push_back(directory);
  finish.runpath = kept.empty() ? std::nullopt : std::optional(join(kept, ":"));
}

Result<void> classify(const Session& session, const fs::path& path, InstalledFile& file) {
  XAAS_TRY(const std::string content, read_file(path));
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

} // namespace

Result<std::vector<link::InstalledFile>> harvest(const Session& session, const fs::path& destination) {
  Session installing = session; // what lies in the install tree is the build's, wherever that tree is
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
    file.mode = status.st_mode & 0777;
    if (S_ISLNK(status.st_mode)) {
      file.kind = Kind::symlink;
      file.destination = fs::read_symlink(it->path(), code).string();
    } else if (S_ISDIR(status.st_mode)) {
      file.kind = Kind::directory;
    } else if (S_ISREG(status.st_mode)) {
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

Result<std::map<Digest, KitOrigin>> kit_origins(const Session& session) {
  std::map<Digest, std::string> reasons; // of what the object now holds: it may be read out of an archive
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(session.directory / "native", code)) {
    XAAS_TRY(const Json json, read_json(entry.path()));
    const JsonReader reader(json, entry.path().string());
    XAAS_TRY(const std::string path, reader.string_at("path"));
    XAAS_TRY(const std::string reason, reader.string_at("reason"));
    // A conftest's object is gone by now, and in no image.
    if (const Result<Digest> content = digest_of_file(path))
      reasons[*content] = reason;
  }
  std::map<Digest, KitOrigin> origins;
  for (const fs::directory_entry& entry : fs::directory_iterator(session.directory / "kit", code)) {
    XAAS_TRY(const Digest digest, Digest::parse("sha256:" + entry.path().filename().string()));
    XAAS_TRY(const Json json, read_json(entry.path()));
    const JsonReader reader(json, entry.path().string());
    KitOrigin origin;
    XAAS_TRY(const std::string path, reader.string_at("path"));
    origin.path = path;
    XAAS_TRY(origin.of_build, reader.boolean_or("of_build", false));
    if (const auto found = reasons.find(digest); found != reasons.end())
      origin.reason = found->second;
    origins[digest] = std::move(origin);
  }
  return origins;
}

} // namespace xaas::capture
