// Origin notes: how a finished file tells its origin.
//
// Every object that capture emits, and every output that it links, carries an ELF note in the allocated
// section `.note.xaas`, with the unit or link record that it came from and a digest of its contents as they
// were emitted. So the origin of an archive's members, a library or a program is read from the file itself,
// wherever it was copied or installed. A file that was changed in a way that we do not model no longer
// matches its content digest.
//
// Format (System V gABI, "Note Section"): name "xaas", type 1 (unit) or 2 (link), a descriptor of 64 bytes:
// 32 for the origin's digest, 32 for the content digest. A linked file has the notes of all its units, and
// one of type 2.
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
bool is_archive(std::string_view file); // regular or thin

// All origin notes of an ELF file, in file order; there may be none. Damaged ELF: integrity error.
Result<std::vector<Note>> read_notes(std::string_view elf);

// A digest of the meaning of an ELF file, which the changes that we model leave as it is: `strip`, a changed
// RPATH (in place, as CMake does it, or by patchelf), symlinks. Another byte of code, an executable stack, or
// another header field that a loader reads changes it. It covers, for a relocatable object: the header, the
// allocated sections (name, type, flags, alignment, bytes), their relocations with the symbols they name, the
// non-local symbols, and whether the stack is executable; but not `.note.xaas`, debug information, the order
// of other sections and the layout of string tables. For a linked file: the header, the allocated sections
// (name, type, flags, bytes, protection in memory; not addresses) except `.note.xaas`, `.note.gnu.build-id`,
// `.dynamic`, `.dynstr`; the segments except RELRO; and the dynamic section with strings and addresses
// resolved, without RPATH and RUNPATH.
Result<Digest> content_digest(std::string_view elf);

// Adds an origin note, with its content digest filled in, to a relocatable object as a new section. An object
// that has one already: failed.
Result<void> add_note(std::string& elf, Note::Kind kind, const Digest& origin);

// Fills in the content digest of the last note of kind `kind` whose content digest is still empty (the note
// of an output comes after those of its inputs). None: failed.
Result<void> seal(std::string& elf, Note::Kind kind);

// A relocatable object for `arch` that holds only a note with an empty content digest. As an input of a link
// it puts the note into the output, where `seal` completes it.
std::string note_object(const std::string& arch, Note::Kind kind, const Digest& origin);

// The offsets in `data` (any file) of origin note headers outside ELF note sections: embedded copies of
// captured code. Used to refuse files that hide one.
std::vector<size_t> find_note_bytes(std::string_view data);

// Changes made to a linked file after its link, read from the file.
struct Finish {
  enum class Strip { none, debug, all } strip = Strip::none;
  std::optional<std::string> runpath; // the present DT_RUNPATH or DT_RPATH; absent: none
  // Which of the two it is; patchelf can turn one into the other. Absent: as the link's own options say.
  enum class Tag { runpath, rpath };
  std::optional<Tag> tag = {};
};
Result<Finish> read_finish(std::string_view elf);

} // namespace xaas::link
