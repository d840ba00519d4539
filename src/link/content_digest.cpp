// Problem: a file that we emitted may be stripped, copied into an archive, or get another RPATH (in place, or
// by a tool that moves sections), and is still what we emitted. A file with another byte of code, another
// symbol or another needed library is not. A digest of the bytes changes with both.
//
// Example: what happens to `solver`, linked by a build, and whether its digest stays.
//
//     strip solver                            stays: symbols and debug information are not loaded
//     patchelf --set-rpath '$ORIGIN' solver   stays, though sections move, and offsets and addresses change
//     objcopy --add-section payload=f solver  changes: a section that neither linkers nor debuggers make
//     execstack -s solver                     changes: a flag of a segment that the loader reads
//     cat f >> solver                         changes: bytes behind all that the headers describe
//
// Approach: the digest is of parts in an order of its own, with everything that these tools renumber (string
// offsets, section and symbol indices, header offsets) resolved to what it stands for: a relocation names its
// symbol, an address is a place in a section.
//
// Rejected: a list of known tools whose traces are recognized; it fails open.
#include <xaas/link/note.h>

#include "note_format.h"

#include <llvm/BinaryFormat/ELF.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

namespace xaas::link {
namespace {

using namespace llvm::ELF;

// The identification bytes. GNU's tools write ELFOSABI_GNU if a symbol is unique or an ifunc, lld writes
// ELFOSABI_NONE, and loaders treat both the same.
std::string identification(const ElfImage& image) {
  std::string bytes(reinterpret_cast<const char*>(image.header().e_ident), EI_NIDENT);
  if (bytes[EI_OSABI] == ELFOSABI_GNU)
    bytes[EI_OSABI] = ELFOSABI_NONE;
  return bytes;
}

// The text that is hashed; every part is delimited.
class Parts {
public:
  Parts& text(std::string_view part) {
    number(part.size());
    data_ += part;
    return *this;
  }
  Parts& number(uint64_t value) {
    for (int i = 0; i < 8; ++i)
      data_.push_back(char(value >> 8 * i));
    return *this;
  }
  Parts& digest_of_bytes(std::string_view bytes) {
    const Digest digest = digest_of(bytes);
    data_.append(reinterpret_cast<const char*>(digest.bytes().data()), Digest::size);
    return *this;
  }
  const std::string& data() const { return data_; }

private:
  std::string data_;
};

// GNU tools write the x86-64 type of unwind tables as plain data.
uint32_t section_type(const ElfSection& section) {
  return section.header->sh_type == SHT_X86_64_UNWIND ? uint32_t(SHT_PROGBITS)
                                                      : uint32_t(section.header->sh_type);
}

uint64_t entry_size(const ElfSection& section) { // meaningful for merged sections only
  return section.header->sh_flags & SHF_MERGE ? uint64_t(section.header->sh_entsize) : 0;
}

// The digest of a relocatable object. A section's number is its position among those that count.
class ObjectDigest {
public:
  explicit ObjectDigest(const ElfImage& image) : image_(image) {}

  Result<Digest> compute() {
    number_sections();
    XAAS_CHECK(read_symbols());
    const Elf::Ehdr& header = image_.header();
    parts_.text("object").text(identification(image_)).number(header.e_version);
    parts_.number(header.e_machine).number(header.e_flags).number(header.e_entry);
    parts_.number(wants_executable_stack());
    for (const ElfSection& section : image_.sections())
      if (counts(section))
        add_section(section);
    XAAS_CHECK(add_groups());
    for (const ElfSection& section : image_.sections())
      XAAS_CHECK(add_relocations(section));
    for (const std::string& symbol : globals_)
      parts_.text(symbol);
    return digest_of(parts_.data());
  }

private:
  static bool counts(const ElfSection& section) {
    return section.allocated() && section.name != note_section;
  }

  // Linkers read the protection of the stack from this section, which is not loaded. Without the section the
  // stack is not executable, so stripping it is harmless.
  bool wants_executable_stack() const {
    return std::any_of(image_.sections().begin(), image_.sections().end(), [](const ElfSection& section) {
      return section.name == ".note.GNU-stack" && (section.header->sh_flags & SHF_EXECINSTR);
    });
  }

  void number_sections() {
    ordinals_.assign(image_.sections().size(), 0);
    uint64_t next = 0;
    for (size_t i = 0; i < image_.sections().size(); ++i)
      if (counts(image_.sections()[i]))
        ordinals_[i] = ++next;
  }

  uint64_t ordinal(uint64_t index) const { return index < ordinals_.size() ? ordinals_[index] : 0; }

  void add_section(const ElfSection& section) {
    const Elf::Shdr& header = *section.header;
    parts_.text(section.name)
        .number(section_type(section))
        .number(header.sh_flags)
        .number(header.sh_addralign);
    parts_.number(entry_size(section)).number(header.sh_size).digest_of_bytes(section.bytes);
    if (header.sh_flags & SHF_LINK_ORDER)
      parts_.number(ordinal(header.sh_link));
  }

  // Resolves each symbol to its meaning for a relocation: globals by name, locals by place.
  Result<void> read_symbols() {
    for (const ElfSection& section : image_.sections()) {
      if (section.header->sh_type != SHT_SYMTAB)
        continue;
      XAAS_TRY(const auto symbols, checked(image_.file().symbols(section.header)));
      XAAS_TRY(const llvm::StringRef names, checked(image_.file().getStringTableForSymtab(*section.header)));
      llvm::ArrayRef<Elf::Word> extended;
      for (const ElfSection& other : image_.sections())
        if (other.header->sh_type == SHT_SYMTAB_SHNDX) {
          XAAS_TRY(extended, checked(image_.file().getSHNDXTable(*other.header)));
        }
      for (const Elf::Sym& symbol : symbols)
        XAAS_CHECK(add_symbol(symbol, symbols, names, extended));
      break;
    }
    std::sort(globals_.begin(), globals_.end());
    return {};
  }

  Result<void> add_symbol(const Elf::Sym& symbol, Elf::SymRange symbols, llvm::StringRef names,
                          llvm::ArrayRef<Elf::Word> extended) {
    // The reserved numbers (absolute, common) stand for themselves; others become the section's number.
    uint64_t index = symbol.st_shndx;
    if (index == SHN_XINDEX || index < SHN_LORESERVE) {
      XAAS_TRY(index, checked(image_.file().getSectionIndex(symbol, symbols, extended)));
    }
    const bool reserved = symbol.st_shndx >= SHN_LORESERVE && symbol.st_shndx != SHN_XINDEX;
    const bool in_note = !reserved && index != 0 && index < image_.sections().size() &&
                         image_.sections()[index].name == note_section;
    const uint64_t place = reserved ? index << 32 : ordinal(index);
    XAAS_TRY(const llvm::StringRef name, checked(symbol.getName(names)));
    Parts parts;
    if (symbol.getBinding() == STB_LOCAL) {
      parts.text("local").number(place).number(symbol.st_value);
      parts.text(place == 0 ? view(name) : std::string_view{});
      parts.number(symbol.getType() == STT_TLS || symbol.getType() == STT_GNU_IFUNC ? symbol.getType() : 0);
    } else {
      parts.text("global").text(view(name)).number(symbol.st_info).number(symbol.st_other);
      parts.number(place).number(symbol.st_value).number(symbol.st_size);
      if (!in_note)
        globals_.push_back(parts.data());
    }
    meanings_.push_back(parts.data());
    return {};
  }

  Result<void> add_groups() {
    for (const ElfSection& section : image_.sections()) {
      if (section.header->sh_type != SHT_GROUP)
        continue;
      if (section.bytes.size() < 4 || section.bytes.size() % 4 != 0 ||
          section.header->sh_info >= meanings_.size())
        return damaged("a section group is malformed");
      std::vector<uint64_t> members;
      for (size_t offset = 4; offset < section.bytes.size(); offset += 4)
        if (const uint64_t place = ordinal(read_u32(section.bytes, offset)); place != 0)
          members.push_back(place);
      if (members.empty())
        continue; // the group held debug information only
      parts_.text("group").text(meanings_[section.header->sh_info]).number(read_u32(section.bytes, 0));
      for (const uint64_t member : members)
        parts_.number(member);
    }
    return {};
  }

  Result<void> add_relocations(const ElfSection& section) {
    const uint32_t type = section.header->sh_type;
    if ((type != SHT_REL && type != SHT_RELA && type != SHT_CREL) || ordinal(section.header->sh_info) == 0)
      return {};
    parts_.text("relocations").number(ordinal(section.header->sh_info));
    if (type == SHT_RELA) {
      XAAS_TRY(const auto relocations, checked(image_.file().relas(*section.header)));
      for (const Elf::Rela& relocation : relocations)
        XAAS_CHECK(add_relocation(relocation, uint64_t(int64_t(relocation.r_addend))));
    } else if (type == SHT_REL) {
      XAAS_TRY(const auto relocations, checked(image_.file().rels(*section.header)));
      for (const Elf::Rel& relocation : relocations)
        XAAS_CHECK(add_relocation(relocation, 0));
    } else {
      XAAS_TRY(const auto relocations, checked(image_.file().crels(*section.header)));
      for (const Elf::Rel& relocation : relocations.first)
        XAAS_CHECK(add_relocation(relocation, 0));
      for (const Elf::Rela& relocation : relocations.second)
        XAAS_CHECK(add_relocation(relocation, uint64_t(int64_t(relocation.r_addend))));
    }
    return {};
  }

  Result<void> add_relocation(const Elf::Rel& relocation, uint64_t addend) {
    const uint32_t symbol = relocation.getSymbol(false);
    if (symbol != 0 && symbol >= meanings_.size())
      return damaged("a relocation names symbol " + std::to_string(symbol) + ", which does not exist");
    parts_.number(relocation.r_offset).number(relocation.getType(false)).number(addend);
    parts_.text(symbol == 0 ? std::string_view{} : std::string_view(meanings_[symbol]));
    return {};
  }

  const ElfImage& image_;
  Parts parts_;
  std::vector<uint64_t> ordinals_;    // by section index; 0: does not count
  std::vector<std::string> meanings_; // by symbol index
  std::vector<std::string> globals_;
};

// The bytes behind everything that the headers describe: an appended payload. Zeros are padding.
Result<std::string_view> trailing_bytes(const ElfImage& image) {
  const Elf::Ehdr& header = image.header();
  uint64_t end = std::max<uint64_t>(header.e_phoff + uint64_t(header.e_phnum) * header.e_phentsize,
                                    header.e_shoff + image.sections().size() * sizeof(Elf::Shdr));
  for (const ElfSection& section : image.sections())
    if (!section.bytes.empty())
      end = std::max<uint64_t>(end, section.header->sh_offset + section.header->sh_size);
  XAAS_TRY(const auto segments, checked(image.file().program_headers()));
  for (const Elf::Phdr& segment : segments)
    end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
  std::string_view rest = image.data().substr(std::min<uint64_t>(end, image.data().size()));
  const size_t last = rest.find_last_not_of('\0');
  return rest.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// The digest of a file without section headers: its loaded bytes. It never equals the digest of a file that
// has them.
Result<Digest> digest_of_segments(const ElfImage& image) {
  Parts parts;
  parts.text("segments").text(identification(image)).number(image.header().e_type);
  parts.number(image.header().e_machine).number(image.header().e_flags).number(image.header().e_entry);
  XAAS_TRY(const auto segments, checked(image.file().program_headers()));
  for (const Elf::Phdr& segment : segments) {
    if (segment.p_offset > image.data().size() || segment.p_filesz > image.data().size() - segment.p_offset)
      return damaged("a segment lies outside the file");
    parts.number(segment.p_type).number(segment.p_flags).number(segment.p_vaddr).number(segment.p_memsz);
    parts.digest_of_bytes(image.data().substr(segment.p_offset, segment.p_filesz));
  }
  return digest_of(parts.data());
}

// True for an added payload: a section that is not loaded and that neither linkers nor debuggers make.
// Sections that strip removes do not count.
bool added(const ElfSection& section) {
  if (section.allocated() || section.header->sh_type != SHT_PROGBITS)
    return false;
  for (const char* known :
       {".debug", ".zdebug", ".comment", ".gnu_debug", ".gdb_index", ".stab", ".line", ".GCC.command"})
    if (section.name.starts_with(known))
      return false;
  return true;
}

// The program headers, as far as they decide what a process sees. Tools that move sections (patchelf) add
// segments and renumber them all, so a segment counts by its effect on sections.
class Segments {
public:
  explicit Segments(const ElfImage& image) : image_(image) {}

  Result<void> read() {
    XAAS_TRY(const auto headers, checked(image_.file().program_headers()));
    segments_.assign(headers.begin(), headers.end());
    for (const Elf::Phdr& segment : segments_)
      if (segment.p_offset > image_.data().size() ||
          segment.p_filesz > image_.data().size() - segment.p_offset)
        return damaged("a segment lies outside the file");
    return {};
  }

  // Adds how a section is mapped. Tools move the loader's own tables and notes into writable segments, so for
  // these only reading counts.
  void add_protection(const ElfSection& section, Parts& parts) const {
    const Elf::Shdr& header = *section.header;
    const Elf::Phdr* const load = header.sh_flags & SHF_TLS && header.sh_type == SHT_NOBITS
                                      ? nullptr // occupies no memory
                                      : load_at(header.sh_addr, header.sh_size);
    uint64_t flags = load ? uint64_t(load->p_flags) : 0;
    if (is_table(section))
      flags &= PF_R;
    parts.number(load != nullptr).number(flags);
    // True if the loaded bytes are not those of the section.
    const bool in_file = header.sh_type != SHT_NOBITS;
    parts.number(load && in_file &&
                 (header.sh_offset - load->p_offset != header.sh_addr - load->p_vaddr ||
                  header.sh_addr - load->p_vaddr + header.sh_size > load->p_filesz));
  }

  void add_others(Parts& parts) const {
    std::vector<std::string> others;
    for (const Elf::Phdr& segment : segments_) {
      const uint32_t type = segment.p_type;
      if (type == PT_NULL || type == PT_LOAD || type == PT_PHDR || type == PT_NOTE)
        continue;
      // GNU objcopy drops RELRO from lld's files when it removes a note. Deploying restores the protection
      // that the link asked for.
      if (type == PT_GNU_RELRO)
        continue;
      Parts other;
      other.number(type).number(segment.p_flags).number(is_where_it_is_loaded(segment));
      // The contents of these two segments are read through them.
      if (type != PT_DYNAMIC && type != PT_INTERP)
        other.text(place(segment.p_vaddr)).number(segment.p_filesz).number(segment.p_memsz);
      if (type == PT_TLS)
        other.number(segment.p_align);
      if (type == PT_INTERP)
        other.text(image_.data().substr(segment.p_offset, segment.p_filesz));
      others.push_back(other.data());
    }
    std::sort(others.begin(), others.end());
    for (const std::string& other : others)
      parts.text(other);
  }

  // An address as a place in a section, because tools move sections to other addresses.
  std::string place(uint64_t address) const {
    for (const ElfSection& section : image_.sections()) {
      const Elf::Shdr& header = *section.header;
      if (section.allocated() && !(header.sh_flags & SHF_TLS && header.sh_type == SHT_NOBITS) &&
          address >= header.sh_addr && address - header.sh_addr < std::max<uint64_t>(header.sh_size, 1))
        return section.name + "+" + std::to_string(address - header.sh_addr);
    }
    return std::to_string(address);
  }

private:
  static bool is_table(const ElfSection& section) {
    switch (section_type(section)) {
    case SHT_PROGBITS:
      return section.name == ".interp";
    case SHT_NOBITS:
    case SHT_INIT_ARRAY:
    case SHT_FINI_ARRAY:
    case SHT_PREINIT_ARRAY:
      return false;
    default:
      return true;
    }
  }

  static bool covers(const Elf::Phdr& segment, uint64_t address, uint64_t size) {
    return address >= segment.p_vaddr && address - segment.p_vaddr <= segment.p_memsz &&
           size <= segment.p_memsz - (address - segment.p_vaddr);
  }

  const Elf::Phdr* load_at(uint64_t address, uint64_t size) const {
    for (const Elf::Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && covers(segment, address, size))
        return &segment;
    return nullptr;
  }

  // Loaders find a segment by its address, tools by its offset; both must agree.
  bool is_where_it_is_loaded(const Elf::Phdr& segment) const {
    const Elf::Phdr* const load = load_at(segment.p_vaddr, 0);
    return load && segment.p_offset - load->p_offset == segment.p_vaddr - load->p_vaddr;
  }

  const ElfImage& image_;
  std::vector<Elf::Phdr> segments_;
};

// Dynamic symbols, with names in place of offsets. Loaders ignore section numbers, except for undefined
// symbols, and strip leaves wrong ones where patchelf has moved sections.
Result<std::string> dynamic_symbols(const ElfImage& image, const ElfSection& section,
                                    const Segments& segments) {
  XAAS_TRY(const auto symbols, checked(image.file().symbols(section.header)));
  XAAS_TRY(const llvm::StringRef names, checked(image.file().getStringTableForSymtab(*section.header)));
  Parts parts;
  for (const Elf::Sym& symbol : symbols) {
    XAAS_TRY(const llvm::StringRef name, checked(symbol.getName(names)));
    const uint64_t index = symbol.st_shndx;
    const bool in_section = index != SHN_UNDEF && index < SHN_LORESERVE;
    parts.text(view(name)).number(symbol.st_info).number(symbol.st_other).number(symbol.st_size);
    parts.number(in_section ? uint64_t(1) << 32 : index);
    if (symbol.getType() == STT_SECTION)
      continue;
    parts.text(in_section && symbol.getType() != STT_TLS ? segments.place(symbol.st_value)
                                                         : std::to_string(symbol.st_value));
  }
  return parts.data();
}

// The dynamic section without its search paths for libraries. Strings keep their order, because libraries are
// loaded in that order.
Result<void> add_dynamic(const ElfImage& image, const Segments& segments, Parts& parts) {
  static const std::set<uint64_t> strings = {DT_NEEDED,
                                             DT_SONAME,
                                             DT_RPATH,
                                             DT_RUNPATH,
                                             DT_STRTAB,
                                             DT_STRSZ, // the table moves and grows
                                             uint64_t(DT_AUXILIARY),
                                             uint64_t(DT_FILTER)};
  static const std::set<uint64_t> addresses = {
      DT_PLTGOT, DT_HASH,   DT_SYMTAB,  DT_RELA,        DT_INIT,       DT_FINI,          DT_REL,
      DT_JMPREL, DT_RELR,   DT_CREL,    DT_INIT_ARRAY,  DT_FINI_ARRAY, DT_PREINIT_ARRAY, DT_GNU_HASH,
      DT_VERSYM, DT_VERDEF, DT_VERNEED, DT_TLSDESC_PLT, DT_TLSDESC_GOT};
  XAAS_TRY(const std::vector<DynamicString> texts, dynamic_strings(image));
  for (const DynamicString& text : texts)
    if (text.tag != DT_RPATH && text.tag != DT_RUNPATH)
      parts.number(text.tag).text(text.text);
  XAAS_TRY(const std::vector<Elf::Dyn> entries, dynamic_entries(image));
  std::vector<std::string> others;
  for (const Elf::Dyn& entry : entries) {
    const uint64_t tag = uint64_t(entry.getTag());
    if (strings.contains(tag))
      continue;
    Parts other;
    other.number(tag).text(addresses.contains(tag) ? segments.place(entry.getPtr())
                                                   : std::to_string(entry.getVal()));
    others.push_back(other.data());
  }
  std::sort(others.begin(), others.end());
  for (const std::string& other : others)
    parts.text(other);
  return {};
}

Result<Digest> digest_of_linked(const ElfImage& image) {
  if (image.sections().empty())
    return digest_of_segments(image);
  Segments segments(image);
  XAAS_CHECK(segments.read());
  const std::set<std::string_view> replaced = {note_section, ".note.gnu.build-id", ".dynamic", ".dynstr"};
  std::vector<std::string> sections; // sorted, because tools that move sections reorder the headers
  for (const ElfSection& section : image.sections()) {
    if ((!section.allocated() && !added(section)) || replaced.contains(section.name))
      continue;
    Parts parts;
    parts.text(section.name)
        .number(section_type(section))
        .number(section.header->sh_flags & ~uint64_t(SHF_INFO_LINK));
    parts.number(section.header->sh_size);
    if (section.header->sh_type == SHT_DYNSYM) {
      XAAS_TRY(const std::string symbols, dynamic_symbols(image, section, segments));
      parts.text(symbols);
    } else {
      parts.digest_of_bytes(section.bytes);
    }
    if (section.allocated())
      segments.add_protection(section, parts);
    sections.push_back(parts.data());
  }
  std::sort(sections.begin(), sections.end());

  Parts parts;
  const Elf::Ehdr& header = image.header();
  parts.text("linked").text(identification(image)).number(header.e_type).number(header.e_machine);
  parts.number(header.e_version).number(header.e_flags).number(header.e_ehsize).number(header.e_phentsize);
  parts.text(segments.place(header.e_entry));
  for (const std::string& section : sections)
    parts.text(section);
  segments.add_others(parts);
  XAAS_CHECK(add_dynamic(image, segments, parts));
  XAAS_TRY(const std::string_view payload, trailing_bytes(image));
  parts.text(payload);
  return digest_of(parts.data());
}

} // namespace

Result<Digest> content_digest(std::string_view elf) {
  XAAS_TRY(const ElfImage image, ElfImage::open(elf));
  if (image.relocatable())
    return ObjectDigest(image).compute();
  return digest_of_linked(image);
}

} // namespace xaas::link
