#include <xaas/link/note.h>

#include "note_format.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <functional>

namespace xaas::link {
namespace {

using namespace llvm::ELF;

// A part of the file that holds notes.
struct NoteArea {
  std::string_view bytes;
  size_t offset;    // in the file
  size_t alignment; // 4 or 8
  bool ours;        // named `.note.xaas`: must be well-formed
};

// The note sections of a file, or its note segments if it has no section headers any more.
Result<std::vector<NoteArea>> note_areas(const ElfImage& image) {
  std::vector<NoteArea> areas;
  for (const ElfSection& section : image.sections())
    if (section.header->sh_type == SHT_NOTE)
      areas.push_back({section.bytes, size_t(section.header->sh_offset),
                       section.header->sh_addralign == 8 ? size_t(8) : size_t(4),
                       section.name == note_section});
  if (!image.sections().empty())
    return areas;
  XAAS_TRY(const auto segments, checked(image.file().program_headers()));
  for (const Elf::Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE)
      continue;
    if (segment.p_offset > image.data().size() || segment.p_filesz > image.data().size() - segment.p_offset)
      return damaged("a note segment lies outside the file");
    areas.push_back({image.data().substr(segment.p_offset, segment.p_filesz), size_t(segment.p_offset),
                     segment.p_align == 8 ? size_t(8) : size_t(4), false});
  }
  return areas;
}

Digest digest_at(std::string_view bytes) {
  Digest::Bytes digest;
  std::copy_n(reinterpret_cast<const uint8_t*>(bytes.data()), Digest::size, digest.begin());
  return Digest(digest);
}

} // namespace

bool is_archive(std::string_view file) {
  return file.substr(0, 8) == "!<arch>\n" || file.substr(0, 8) == "!<thin>\n";
}

Result<std::vector<PlacedNote>> placed_notes(std::string_view elf) {
  XAAS_TRY(const ElfImage image, ElfImage::open(elf));
  XAAS_TRY(const std::vector<NoteArea> areas, note_areas(image));
  std::vector<PlacedNote> notes;
  for (const NoteArea& area : areas) {
    XAAS_TRY(const std::vector<RawNote> entries, split_notes(area.bytes, area.alignment, area.ours));
    for (const RawNote& entry : entries) {
      if (entry.name != note_name)
        continue;
      if (entry.type != uint32_t(Note::Kind::unit) && entry.type != uint32_t(Note::Kind::link))
        return damaged("an origin note of unknown type " + std::to_string(entry.type));
      if (entry.descriptor.size() != 2 * Digest::size)
        return damaged("an origin note of wrong size");
      notes.push_back({{Note::Kind(entry.type), digest_at(entry.descriptor),
                        digest_at(entry.descriptor.substr(Digest::size))},
                       area.offset + entry.offset + Digest::size});
    }
  }
  return notes;
}

Result<std::vector<Note>> read_notes(std::string_view elf) {
  XAAS_TRY(const std::vector<PlacedNote> placed, placed_notes(elf));
  std::vector<Note> notes;
  for (const PlacedNote& note : placed)
    notes.push_back(note.note);
  return notes;
}

std::vector<size_t> find_note_bytes(std::string_view data) {
  std::vector<NoteArea> areas;
  if (is_elf(data))
    if (auto image = ElfImage::open(data))
      if (auto found = note_areas(*image))
        areas = *std::move(found);
  const auto in_note_area = [&](size_t offset) {
    return std::any_of(areas.begin(), areas.end(), [&](const NoteArea& area) {
      return offset >= area.offset && offset - area.offset < area.bytes.size();
    });
  };
  std::vector<size_t> found;
  for (const Note::Kind kind : {Note::Kind::unit, Note::Kind::link}) {
    const std::string header = note_bytes(kind, {}).substr(0, note_header_size);
    const std::boyer_moore_horspool_searcher searcher(header.begin(), header.end());
    auto from = data.begin();
    while ((from = std::search(from, data.end(), searcher)) != data.end()) {
      if (const size_t offset = size_t(from - data.begin()); !in_note_area(offset))
        found.push_back(offset);
      ++from;
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<Finish> read_finish(std::string_view elf) {
  XAAS_TRY(const ElfImage image, ElfImage::open(elf));
  Finish finish;
  bool symbols = false, debug = false;
  for (const ElfSection& section : image.sections()) {
    symbols |= section.header->sh_type == SHT_SYMTAB;
    debug |= !section.allocated() && section.name.starts_with(".debug_");
  }
  finish.strip = !symbols ? Finish::Strip::all : !debug ? Finish::Strip::debug : Finish::Strip::none;
  XAAS_TRY(const std::vector<DynamicString> strings, dynamic_strings(image));
  for (const DynamicString& string : strings) // DT_RUNPATH wins, as in ld.so
    if (string.tag == DT_RUNPATH || (string.tag == DT_RPATH && !finish.runpath)) {
      finish.runpath = string.text;
      finish.tag = string.tag == DT_RPATH ? Finish::Tag::rpath : Finish::Tag::runpath;
    }
  return finish;
}

} // namespace xaas::link
