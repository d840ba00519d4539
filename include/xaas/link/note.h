// Origin notes: how a finished file tells what is in it.
//
// Every object that capture emits and every output that it links carries an ELF note in the allocated section
// `.note.xaas`: which unit or which link record it came from, and a digest of its contents as they were
// emitted. So what is inside an archive, a library or a program is read from the file itself, wherever it was
// copied or installed; and a file that was changed in a way that we do not model no longer matches its
// content digest.
//
// Format (System V gABI, "Note Section"): name "xaas", type 1 (unit) or 2 (link), descriptor 64 bytes: 32 of
// the origin's digest, 32 of the content digest. A linked file has the notes of all units in it and one of
// type 2.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/result.h>
#include <xaas/loader/dynamic.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::link {

struct Note {
  enum class Kind : uint32_t { unit = 1, link = 2 };
  Kind kind;
  Digest origin;
  Digest content; // as recorded when the file was emitted
};

using loader::is_elf;
bool is_archive(std::string_view file); // also a thin one

// All origin notes of an ELF file in their order; none is no error. Damaged ELF: integrity error.
Result<std::vector<Note>> read_notes(std::string_view elf);

// A digest of what an ELF file means, indifferent to what we model. Of a relocatable object: its header, its
// allocated sections (name, type, flags, alignment, bytes), their relocations with the symbols they name, its
// non-local symbols, and whether it wants an executable stack; without `.note.xaas`, debug information,
// section order of non-allocated sections, string table layout. Of a linked file: its header, its allocated
// sections (name, type, flags, bytes, protection in memory; not addresses) except `.note.xaas`,
// `.note.gnu.build-id`, `.dynamic`, `.dynstr`; the other segments but RELRO; and the dynamic section with
// strings and addresses resolved, without RPATH and RUNPATH. So `strip`, a changed RPATH (in place, as CMake
// does it, or by patchelf) and symlinks leave it as it is; another byte of code, an executable stack, or
// another field of a header that a loader reads does not.
Result<Digest> content_digest(std::string_view elf);

// Adds an origin note to a relocatable object that has none, by adding a section to the ELF image, with its
// content digest filled in. An object that has one: failed.
Result<void> add_note(std::string& elf, Note::Kind kind, const Digest& origin);

// Fills in the content digest of the note of kind `kind` whose content digest is still empty (the last one,
// should there be several: the note of an output comes after those of its inputs). None: failed.
Result<void> seal(std::string& elf, Note::Kind kind);

// A relocatable object for the machine of `arch` that holds nothing but a note with an empty content digest:
// an input of the link that makes it part of the output, where `seal` completes it.
std::string note_object(const std::string& arch, Note::Kind kind, const Digest& origin);

// Where in `data` (any file) the bytes of an origin note's header stand, outside an ELF note section: an
// embedded copy of captured code. Used to refuse files that hide one.
std::vector<size_t> find_note_bytes(std::string_view data);

// What was done to a linked file after its link, read from the file.
struct Finish {
  enum class Strip { none, debug, all } strip = Strip::none;
  std::optional<std::string> runpath; // DT_RUNPATH or DT_RPATH as it is now; absent: none
  // Which of both it is: patchelf makes the one of the other. Absent: as the link's own options say.
  enum class Tag { runpath, rpath };
  std::optional<Tag> tag = {};
};
Result<Finish> read_finish(std::string_view elf);

} // namespace xaas::link
