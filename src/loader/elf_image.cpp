#include <xaas/loader/elf_image.h>

#include <llvm/Support/Endian.h>

namespace xaas::loader {

Error damaged(const std::string& what) {
  return make_error(ErrorKind::integrity, "damaged ELF file: " + what);
}

Error damaged(llvm::Error error) {
  return damaged(llvm::toString(std::move(error)));
}

bool is_elf(std::string_view file) {
  return file.substr(0, 4) == "\177ELF";
}

bool is_elf_for(std::string_view start, const std::string& arch) {
  if (start.size() < elf_start || !is_elf(start) || start[llvm::ELF::EI_CLASS] != llvm::ELF::ELFCLASS64 ||
      start[llvm::ELF::EI_DATA] != llvm::ELF::ELFDATA2LSB)
    return false;
  constexpr size_t machine_at = 18; // Elf64_Ehdr
  return llvm::support::endian::read16le(start.data() + machine_at) ==
         (arch == "aarch64" ? llvm::ELF::EM_AARCH64 : llvm::ELF::EM_X86_64);
}

Result<ElfImage> ElfImage::open(std::string_view data) {
  if (data.size() < sizeof(Elf::Ehdr) || data.substr(0, 4) != "\177ELF")
    return damaged("no complete ELF header");
  if (data[llvm::ELF::EI_CLASS] != llvm::ELF::ELFCLASS64 ||
      data[llvm::ELF::EI_DATA] != llvm::ELF::ELFDATA2LSB)
    return make_error(ErrorKind::integrity, "an ELF file that is not 64 bit little endian");
  XAAS_TRY(auto file, checked(llvm::object::ELFFile<Elf>::create(ref(data))));
  ElfImage image(std::move(file), data);
  XAAS_TRY(const auto headers, checked(image.file_.sections()));
  if (headers.empty())
    return image;
  XAAS_TRY(const llvm::StringRef names, checked(image.file_.getSectionStringTable(headers)));
  for (const Elf::Shdr& header : headers) {
    ElfSection section{&header, {}, {}};
    XAAS_TRY(const llvm::StringRef name, checked(image.file_.getSectionName(header, names)));
    section.name = name.str();
    if (header.sh_type != llvm::ELF::SHT_NOBITS && header.sh_type != llvm::ELF::SHT_NULL) {
      XAAS_TRY(const auto bytes, checked(image.file_.getSectionContents(header)));
      section.bytes = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }
    image.sections_.push_back(std::move(section));
  }
  return image;
}

uint32_t read_u32(std::string_view data, size_t offset) {
  return llvm::support::endian::read32le(data.data() + offset);
}

Result<std::vector<RawNote>> split_notes(std::string_view section, size_t alignment, bool strict) {
  const auto padded = [&](uint64_t size) { return (size + alignment - 1) / alignment * alignment; };
  constexpr size_t header_size = 12;
  std::vector<RawNote> notes;
  size_t offset = 0;
  while (offset < section.size()) {
    const uint64_t rest = section.size() - offset;
    if (rest < header_size) {
      if (strict)
        return damaged("a note is cut off");
      break;
    }
    const uint32_t name_size = read_u32(section, offset), descriptor_size = read_u32(section, offset + 4);
    const uint64_t descriptor_at = padded(header_size + uint64_t(name_size));
    if (descriptor_at > rest || descriptor_size > rest - descriptor_at) {
      if (strict)
        return damaged("a note is larger than its section");
      break;
    }
    notes.push_back({section.substr(offset + header_size, name_size),
                     section.substr(offset + descriptor_at, descriptor_size), read_u32(section, offset + 8),
                     offset + descriptor_at});
    offset += std::min<uint64_t>(rest, padded(descriptor_at + descriptor_size));
  }
  return notes;
}

} // namespace xaas::loader
