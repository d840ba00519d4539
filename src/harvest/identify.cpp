// Problem: a link reads files, and an install tree holds files. For each of them we must know what it is:
// code of this build, which deploying makes again, or a file that is carried as it is. Builds copy, rename,
// strip and archive files, so paths do not tell.
//
// Example: the inputs of `ld crt1.o main.o libsolver.a /opt/vendor/fast.o -lm`, and the kind of reference for
// each.
//
//     crt1.o             kit: outside the build's directories and without a note
//     main.o             unit: its note names the unit
//     libsolver.a        archive: a member has a note, so a record lists all members
//     libsolver.a(s.o)   kit: a member without a note, from assembly
//     fast.o, libm.so.6  kit: files of the machine
//
// If `main.o` was stripped of its notes, its content digest still names the unit, because the front door
// wrote it down when it emitted the object. If a byte of its code was changed, the digest in the note no
// longer matches: an error, because deploying would silently drop the change.
//
// Approach: origin notes (link/note.h) tell what a file is; the content digest tells whether it was changed
// since.
//
// Rejected: paths of outputs, because builds copy and rename; digests of whole files, because `strip` changes
// them; reading the build system, because there are too many.
#include <xaas/harvest/identify.h>

#include <xaas/base/json.h>
#include <xaas/base/utf8.h>
#include <xaas/link/note.h>
#include <xaas/link/replay.h>

#include <ctime>
#include <sstream>
#include <sys/stat.h>

namespace xaas::harvest {

namespace {

using RefKind = link::FileRef::Kind;

// The name in an origin note; a file without these bytes has no note.
constexpr std::string_view note_name("xaas\0\0\0\0", 8);

// Units exist for 64-bit little-endian architectures only; other ELF files (-m32, firmware) are plain data.
bool may_be_ours(std::string_view file) {
  return link::is_elf(file) && file.size() > 5 && file[4] == 2 && file[5] == 1;
}

Error changed_file(const std::string& path) {
  return make_error(
      ErrorKind::failed,
      path + ": was changed after it was compiled or linked, in a way that deploying cannot repeat",
      "strip, a changed RPATH, copies and links are repeated; other changes (objcopy, execstack, a payload "
      "that is "
      "appended) are not: take that step out of this build, or ask the linker for its effect "
      "(-Wl,-z,execstack)");
}

// The unit or link that an ELF file came from; nothing if it is foreign.
Result<std::optional<link::FileRef>> origin_of(const session::Session& session, std::string_view elf,
                                               const std::string& path, const std::string& name) {
  XAAS_TRY(const std::vector<link::Note> notes, link::read_notes(elf));
  const link::Note* own = nullptr;
  for (const link::Note& note : notes)
    if (!own || note.kind == link::Note::Kind::link)
      own = &note;
  XAAS_TRY(const Digest content, link::content_digest(elf));
  if (own) {
    if (own->content != content)
      return changed_file(path);
    return std::optional(link::FileRef{own->kind == link::Note::Kind::link ? RefKind::link : RefKind::unit,
                                       own->origin, name});
  }
  // The note may have been removed (strip -R .note*); the contents still identify the file.
  const Result<std::string> known = read_file(session.directory / "outputs" / content.hex());
  if (!known)
    return std::optional<link::FileRef>();
  const size_t blank = known->find(' ');
  XAAS_TRY(const Digest origin, Digest::parse(std::string_view(*known).substr(blank + 1)));
  return std::optional(
      link::FileRef{known->substr(0, blank) == "link" ? RefKind::link : RefKind::unit, origin, name});
}

// A file of the machine, by its state. Each link reads the same libraries again, and libgcc.a alone may have
// 15 MB; so the session remembers the digest of a file that an earlier link carried.
class MachineFile {
public:
  MachineFile(const session::Session& session, const fs::path& path) {
    struct stat state{};
    if (stat(path.c_str(), &state) != 0)
      return;
    // A file that was changed a moment ago may be changed once more without a difference in its times.
    constexpr time_t settled = 2; // seconds
    if (!S_ISREG(state.st_mode) || state.st_ctim.tv_sec + settled > time(nullptr))
      return;
    std::ostringstream key;
    key << fs::absolute(path).string() << '\0' << state.st_dev << ' ' << state.st_ino << ' ' << state.st_size;
    for (const timespec& each : {state.st_mtim, state.st_ctim})
      key << ' ' << each.tv_sec << ' ' << each.tv_nsec;
    note_ = session.directory / "machine-files" / digest_of(key.str()).hex();
  }

  std::optional<Digest> digest() const {
    if (note_.empty())
      return std::nullopt;
    const Result<std::string> known = read_file(note_);
    const Result<Digest> digest = known ? Digest::parse(*known) : known.error();
    return digest ? std::optional(*digest) : std::nullopt;
  }

  Result<void> remember(const Digest& digest) const {
    return note_.empty() ? Result<void>() : write_file(note_, digest.to_string(), 0644, false);
  }

private:
  fs::path note_; // empty: nothing is remembered
};

Result<link::FileRef> carry(const session::Session& session, std::string_view content, const fs::path& path,
                            const std::string& name) {
  const bool of_build = is_of_build(session, path);
  if (of_build && !link::find_note_bytes(content).empty())
    return make_error(ErrorKind::failed,
                      path.string() + ": has code of this build embedded, which deploying cannot make again",
                      "link the object or library itself instead of its bytes");
  XAAS_TRY(const Digest digest, session.content().put(content));
  // One file per place: the same content may lie in several places, and which is read first differs from
  // build to build.
  const std::string place = fs::absolute(path).lexically_normal().string();
  const fs::path origin = session.directory / "kit" / (digest.hex() + "-" + digest_of(place).hex());
  std::error_code code;
  if (!fs::exists(origin, code)) {
    const Json json{{"path", as_utf8(place)}, {"of_build", of_build}}; // for messages
    XAAS_CHECK(write_file(origin, json.dump(), 0644, false));
  }
  return link::FileRef{RefKind::kit, digest, name};
}

Result<link::FileRef> identify_archive(const session::Session& session, const fs::path& path,
                                       const std::string& content, const std::string& name) {
  XAAS_TRY(const std::vector<link::ArchiveMember> members, link::read_archive(path));
  link::ArchiveRecord record;
  bool captured = false;
  for (const link::ArchiveMember& member : members) {
    std::optional<link::FileRef> origin;
    if (may_be_ours(member.content)) {
      XAAS_TRY(origin,
               origin_of(session, member.content, path.string() + "(" + member.name + ")", member.name));
    }
    captured |= origin.has_value();
    if (!origin) {
      XAAS_TRY(origin, carry(session, member.content, path, member.name));
    }
    record.members.push_back({member.name, *origin});
  }
  // An archive of foreign objects is carried as it is.
  if (!captured && !content.starts_with("!<thin>"))
    return carry(session, content, path, name);
  XAAS_TRY(const std::string text, json_text(link::to_json(record), "the archive's members"));
  XAAS_TRY(const Digest digest, session.content().put(text));
  return link::FileRef{RefKind::archive, digest, name};
}

} // namespace

bool is_of_build(const session::Session& session, const fs::path& path) {
  std::error_code code;
  const fs::path real = fs::weakly_canonical(path, code);
  for (const fs::path& root : session.roots)
    if (!relative_under(code ? path : real, root).empty())
      return true;
  return false;
}

Result<void> remember_output(const session::Session& session, const Digest& content, link::Note::Kind kind,
                             const Digest& origin) {
  const std::string text =
      std::string(kind == link::Note::Kind::link ? "link " : "unit ") + origin.to_string();
  const fs::path path = session.directory / "outputs" / content.hex();
  // Several origins may have equal contents, and then mean the same. The one that is kept does not depend on
  // their order.
  if (const Result<std::string> known = read_file(path); known && *known <= text)
    return {};
  return write_file(path, text, 0644, false);
}

Result<link::FileRef> identify(const session::Session& session, const fs::path& path,
                               const std::string& name) {
  const bool of_build = is_of_build(session, path);
  std::optional<MachineFile> machine_file;
  if (!of_build) {
    machine_file.emplace(session, path); // its state before it is read
    if (const std::optional<Digest> known = machine_file->digest())
      return link::FileRef{RefKind::kit, *known, name};
  }
  XAAS_TRY(const std::string content, read_file(path));
  // A file of the machine has no code of this build, unless the build has installed it there for later use.
  if (!of_build && content.find(note_name) == std::string::npos) {
    XAAS_TRY(link::FileRef carried, carry(session, content, path, name));
    XAAS_CHECK(machine_file->remember(carried.digest));
    return carried;
  }
  if (link::is_archive(content))
    return identify_archive(session, path, content, name).in("reading " + path.string());
  if (may_be_ours(content)) {
    XAAS_TRY(const std::optional<link::FileRef> origin, origin_of(session, content, path.string(), name));
    if (origin)
      return *origin;
  }
  return carry(session, content, path, name);
}

} // namespace xaas::harvest
