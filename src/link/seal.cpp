// Writing origin notes.
//
// A section is added by appending to the file: its bytes, a copy of the section name table with the new name
// at its end, and a copy of the section header table with one more entry. Existing bytes do not move, so no
// offset, index or relocation has to change. Rejected: llvm-objcopy's library, which rewrites the whole file.
#include <xaas/link/note.h>

#include "note_format.h"

#include <llvm/BinaryFormat/ELF.h>

#include <cstring>

namespace xaas::link {
namespace {

using namespace llvm::ELF;

void append_u32(std::string& data, uint32_t value) {
  for (int i = 0; i < 4; ++i)
    data.push_back(char(value >> 8 * i));
}

void pad(std::string& data, size_t alignment) {
  data.resize((data.size() + alignment - 1) / alignment * alignment);
}

template <typename T> void put(std::string& data, size_t offset, const T& value) {
  std::memcpy(data.data() + offset, &value, sizeof(T));
}

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes().data()), Digest::size};
}

// A property note with every feature. The linker keeps those x86 and AArch64 features (branch tracking,
// shadow stacks) that all inputs have, so an object without the note would disable them for the whole output.
std::string property_note(uint32_t property) {
  std::string note;
  append_u32(note, 4);
  append_u32(note, 16);
  append_u32(note, NT_GNU_PROPERTY_TYPE_0);
  note += std::string("GNU\0", 4);
  append_u32(note, property);
  append_u32(note, 4);
  append_u32(note, 0xffffffff);
  append_u32(note, 0);
  return note;
}

Result<void> fill_content(std::string& elf, size_t offset) {
  XAAS_TRY(const Digest content, content_digest(elf));
  elf.replace(offset, Digest::size, bytes_of(content));
  return {};
}

} // namespace

std::string note_bytes(Note::Kind kind, const Digest& origin) {
  std::string note;
  append_u32(note, uint32_t(note_name.size()));
  append_u32(note, 2 * Digest::size);
  append_u32(note, uint32_t(kind));
  note += note_name;
  pad(note, 4);
  note += bytes_of(origin);
  note.append(Digest::size, '\0');
  return note;
}

Result<void> add_note(std::string& elf, Note::Kind kind, const Digest& origin) {
  XAAS_TRY(const ElfImage image, ElfImage::open(elf));
  if (image.sections().empty())
    return damaged("no section headers to add an origin note to");
  for (const ElfSection& section : image.sections())
    if (section.name == note_section)
      return make_error(ErrorKind::failed, "the object has an origin note already");
  std::vector<Elf64_Shdr> headers(image.sections().size());
  std::memcpy(headers.data(), elf.data() + image.header().e_shoff, headers.size() * sizeof(Elf64_Shdr));
  Elf64_Ehdr file;
  std::memcpy(&file, elf.data(), sizeof(file));
  const size_t names_index = file.e_shstrndx == SHN_XINDEX ? headers[0].sh_link : file.e_shstrndx;
  if (names_index >= headers.size())
    return damaged("no section name table");
  std::string names(image.sections()[names_index].bytes);

  Elf64_Shdr note{};
  note.sh_name = uint32_t(names.size());
  names += std::string(note_section) + '\0';
  note.sh_type = SHT_NOTE;
  note.sh_flags = SHF_ALLOC;
  note.sh_addralign = 4;
  pad(elf, 8); // `image` points into `elf`, which moves: not used from here on
  note.sh_offset = elf.size();
  const std::string bytes = note_bytes(kind, origin);
  note.sh_size = bytes.size();
  elf += bytes;
  headers[names_index].sh_offset = elf.size();
  headers[names_index].sh_size = names.size();
  elf += names;
  headers.push_back(note);
  pad(elf, 8);
  file.e_shoff = elf.size();
  // From SHN_LORESERVE sections on, the first header holds their number.
  file.e_shnum = headers.size() < SHN_LORESERVE ? uint16_t(headers.size()) : uint16_t(0);
  headers[0].sh_size = headers.size() < SHN_LORESERVE ? 0 : headers.size();
  elf.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
  put(elf, 0, file);
  return fill_content(elf, note.sh_offset + note_header_size + Digest::size);
}

Result<void> seal(std::string& elf, Note::Kind kind) {
  XAAS_TRY(const std::vector<PlacedNote> notes, placed_notes(elf));
  const PlacedNote* open = nullptr;
  for (const PlacedNote& placed :
       notes) { // the last one: the note of the file itself comes after those of its inputs
    if (placed.note.kind == kind && placed.note.content == Digest())
      open = &placed;
  }
  if (!open)
    return make_error(ErrorKind::failed, "the file has no origin note that could be completed");
  return fill_content(elf, open->content_offset);
}

std::string note_object(const std::string& arch, Note::Kind kind, const Digest& origin) {
  const bool arm = arch == "aarch64";
  std::string names(1, '\0');
  for (const char* name : {".note.xaas", ".note.gnu.property", ".note.GNU-stack", ".shstrtab"})
    names += std::string(name) + '\0';
  std::vector<Elf64_Shdr> headers(5);
  std::string elf(sizeof(Elf64_Ehdr), '\0');
  const auto add = [&](size_t index, const char* name, uint32_t type, uint64_t flags, uint64_t alignment,
                       const std::string& bytes) {
    pad(elf, 8);
    headers[index].sh_name = uint32_t(names.find(name));
    headers[index].sh_type = type;
    headers[index].sh_flags = flags;
    headers[index].sh_addralign = alignment;
    headers[index].sh_offset = elf.size();
    headers[index].sh_size = bytes.size();
    elf += bytes;
  };
  add(1, ".note.xaas", SHT_NOTE, SHF_ALLOC, 4, note_bytes(kind, origin));
  add(2, ".note.gnu.property", SHT_NOTE, SHF_ALLOC, 8,
      property_note(arm ? GNU_PROPERTY_AARCH64_FEATURE_1_AND : GNU_PROPERTY_X86_FEATURE_1_AND));
  add(3, ".note.GNU-stack", SHT_PROGBITS, 0, 1, "");
  add(4, ".shstrtab", SHT_STRTAB, 0, 1, names);
  pad(elf, 8);

  Elf64_Ehdr file{};
  std::memcpy(file.e_ident, "\177ELF", 4);
  file.e_ident[EI_CLASS] = ELFCLASS64;
  file.e_ident[EI_DATA] = ELFDATA2LSB;
  file.e_ident[EI_VERSION] = EV_CURRENT;
  file.e_type = ET_REL;
  file.e_machine = arm ? EM_AARCH64 : EM_X86_64;
  file.e_version = EV_CURRENT;
  file.e_ehsize = sizeof(Elf64_Ehdr);
  file.e_shentsize = sizeof(Elf64_Shdr);
  file.e_shnum = uint16_t(headers.size());
  file.e_shstrndx = 4;
  file.e_shoff = elf.size();
  elf.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof(Elf64_Shdr));
  put(elf, 0, file);
  return elf;
}

} // namespace xaas::link
