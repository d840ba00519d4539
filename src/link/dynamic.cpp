#include "note_format.h"

#include <xaas/base/text.h>
#include <xaas/link/dynamic.h>

#include <cstring>
#include <set>

namespace xaas::link {

namespace {

std::string text_of(const auto& name) {
  return name.c_str(); // LLVM's string runs on to the end of its table
}

// Linux Standard Base, "Symbol Versioning": .gnu.version_r, .gnu.version_d.
Result<void> read_needed_versions(const ElfImage& image, const ElfSection& section, Dynamic& dynamic) {
  XAAS_TRY(const auto libraries, checked(image.file().getVersionDependencies(*section.header)));
  std::set<std::string> glibc;
  for (const llvm::object::VerNeed& library : libraries)
    for (const llvm::object::VernAux& entry : library.AuxV) {
      const std::string name = text_of(entry.Name);
      if (!(entry.Flags & llvm::ELF::VER_FLG_WEAK))
        dynamic.needed_versions[text_of(library.File)].push_back(name);
      if (name.starts_with("GLIBC_") && name != "GLIBC_PRIVATE")
        glibc.insert(name.substr(6));
    }
  dynamic.glibc_versions.assign(glibc.begin(), glibc.end());
  return {};
}

Result<void> read_versions(const ElfImage& image, const ElfSection& section, Dynamic& dynamic) {
  XAAS_TRY(const auto definitions, checked(image.file().getVersionDefinitions(*section.header)));
  for (const llvm::object::VerDef& definition : definitions)
    dynamic.versions.push_back(text_of(definition.Name));
  return {};
}

// Four words: the system (0: Linux), and the version of its kernel.
std::string kernel_of(std::string_view note) {
  constexpr size_t header = 16; // sizes, type, "GNU"
  uint32_t words[4];
  if (note.size() < header + sizeof(words) || note.substr(12, 3) != "GNU")
    return {};
  std::memcpy(words, note.data() + header, sizeof(words));
  if (words[0] != 0) // ELF_NOTE_OS_LINUX
    return {};
  return std::to_string(words[1]) + "." + std::to_string(words[2]) + "." + std::to_string(words[3]);
}

Result<bool> imports(const ElfImage& image, const ElfSection& section, llvm::StringRef wanted) {
  XAAS_TRY(const auto symbols, checked(image.file().symbols(section.header)));
  XAAS_TRY(const llvm::StringRef names, checked(image.file().getStringTableForSymtab(*section.header)));
  for (const auto& symbol : symbols) {
    XAAS_TRY(const llvm::StringRef name, checked(symbol.getName(names)));
    if (symbol.isUndefined() && name == wanted)
      return true;
  }
  return false;
}

Result<std::string> interpreter_of(const ElfImage& image) {
  XAAS_TRY(const auto headers, checked(image.file().program_headers()));
  for (const auto& header : headers)
    if (header.p_type == llvm::ELF::PT_INTERP && header.p_offset < image.data().size()) {
      const std::string_view text = image.data().substr(header.p_offset, header.p_filesz);
      return std::string(text.substr(0, text.find('\0')));
    }
  return std::string();
}

} // namespace

Result<Dynamic> read_dynamic(std::string_view elf) {
  XAAS_TRY(const ElfImage image, ElfImage::open(elf));
  Dynamic dynamic;
  XAAS_TRY(dynamic.interpreter, interpreter_of(image));
  dynamic.machine = image.header().e_machine;
  dynamic.shared = image.header().e_type == llvm::ELF::ET_DYN && dynamic.interpreter.empty();
  XAAS_TRY(const std::vector<DynamicString> strings, dynamic_strings(image));
  for (const DynamicString& entry : strings) {
    if (entry.tag == llvm::ELF::DT_NEEDED)
      dynamic.needed.push_back(entry.text);
    else if (entry.tag == llvm::ELF::DT_SONAME)
      dynamic.soname = entry.text;
    else if (entry.tag == llvm::ELF::DT_RUNPATH || entry.tag == llvm::ELF::DT_RPATH) {
      dynamic.runpath = split(entry.text, ':');
      dynamic.rpath_is_first = entry.tag == llvm::ELF::DT_RPATH;
    }
  }
  for (const ElfSection& section : image.sections()) {
    if (section.header->sh_type == llvm::ELF::SHT_GNU_verneed) {
      XAAS_CHECK(read_needed_versions(image, section, dynamic));
    } else if (section.header->sh_type == llvm::ELF::SHT_GNU_verdef) {
      XAAS_CHECK(read_versions(image, section, dynamic));
    } else if (section.header->sh_type == llvm::ELF::SHT_NOTE && section.name == ".note.ABI-tag") {
      dynamic.kernel = kernel_of(section.bytes);
    } else if (section.header->sh_type == llvm::ELF::SHT_DYNSYM) {
      XAAS_TRY(dynamic.imports_dlopen, imports(image, section, "dlopen"));
    }
  }
  return dynamic;
}

} // namespace xaas::link
