#include "note_format.h"

#include <xaas/base/text.h>
#include <xaas/link/dynamic.h>

#include <set>

namespace xaas::link {

namespace {

// The versions that a file needs of each library (Linux Standard Base, "Symbol Versioning": .gnu.version_r).
Result<std::vector<std::string>> needed_glibc_versions(const ElfImage& image, const ElfSection& section) {
  XAAS_TRY(const auto versions, checked(image.file().getVersionDependencies(*section.header)));
  std::set<std::string> names;
  for (const llvm::object::VerNeed& need : versions)
    for (const llvm::object::VernAux& entry : need.AuxV)
      if (entry.Name.starts_with("GLIBC_") && std::string_view(entry.Name.c_str()) != "GLIBC_PRIVATE")
        names.insert(entry.Name.c_str() + 6); // LLVM's string runs on to the end of its table
  return std::vector<std::string>(names.begin(), names.end());
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
  dynamic.shared = image.header().e_type == llvm::ELF::ET_DYN && dynamic.interpreter.empty();
  XAAS_TRY(const std::vector<DynamicString> strings, dynamic_strings(image));
  for (const DynamicString& entry : strings) {
    if (entry.tag == llvm::ELF::DT_NEEDED)
      dynamic.needed.push_back(entry.text);
    else if (entry.tag == llvm::ELF::DT_SONAME)
      dynamic.soname = entry.text;
    else if (entry.tag == llvm::ELF::DT_RUNPATH || entry.tag == llvm::ELF::DT_RPATH)
      dynamic.runpath = split(entry.text, ':');
  }
  for (const ElfSection& section : image.sections()) {
    if (section.header->sh_type == llvm::ELF::SHT_GNU_verneed) {
      XAAS_TRY(dynamic.glibc_versions, needed_glibc_versions(image, section));
    } else if (section.header->sh_type == llvm::ELF::SHT_DYNSYM) {
      XAAS_TRY(dynamic.imports_dlopen, imports(image, section, "dlopen"));
    }
  }
  return dynamic;
}

} // namespace xaas::link
