// The bytes of origin notes, for the code that reads, writes and digests them.
#pragma once

#include <xaas/link/note.h>

#include <xaas/loader/dynamic_section.h>
#include <xaas/loader/elf_image.h>

namespace xaas::link {

using loader::checked, loader::damaged, loader::dynamic_entries, loader::dynamic_strings,
    loader::DynamicString, loader::Elf, loader::ElfImage, loader::ElfSection, loader::RawNote,
    loader::read_u32, loader::ref, loader::split_notes, loader::view;

inline constexpr std::string_view note_section = ".note.xaas";
inline constexpr std::string_view note_name{"xaas\0", 5}; // with its terminator, as namesz counts it
inline constexpr size_t note_header_size = 20;            // three words and the padded name

// One note with an empty content digest; a multiple of 4 bytes, so that notes can be concatenated.
std::string note_bytes(Note::Kind kind, const Digest& origin);

struct PlacedNote {
  Note note;
  size_t content_offset; // of the content digest, in the file
};
Result<std::vector<PlacedNote>> placed_notes(std::string_view elf);

} // namespace xaas::link
