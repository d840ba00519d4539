// The bytes of origin notes, shared by the parts that read, write and digest them.
#pragma once

#include <xaas/link/note.h>

#include "elf_image.h"

namespace xaas::link {

inline constexpr std::string_view note_name{"xaas\0", 5}; // with its terminator, as namesz counts it
inline constexpr size_t note_header_size = 20;            // three words and the padded name

// One note with an empty content digest; a multiple of 4 bytes, so that notes can be concatenated.
std::string note_bytes(Note::Kind kind, const Digest& origin);

struct PlacedNote {
  Note note;
  size_t content_offset; // of the content digest, in the file
};
Result<std::vector<PlacedNote>> placed_notes(std::string_view elf);

// The dynamic section up to its end mark, as the loader finds it; empty without one. (LLVM's own reader does
// not check that it lies in the file.)
Result<std::vector<Elf::Dyn>> dynamic_entries(const ElfImage& image);

// An entry of the dynamic section that is a string (NEEDED, SONAME, RPATH, RUNPATH, AUXILIARY, FILTER).
struct DynamicString {
  uint64_t tag;
  std::string text;
};
Result<std::vector<DynamicString>> dynamic_strings(const ElfImage& image);

} // namespace xaas::link
