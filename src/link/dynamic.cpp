#include <xaas/base/text.h>
#include <xaas/link/dynamic.h>

#include <llvm/Object/ELF.h>
#include <llvm/Object/ELFTypes.h>

#include <set>

namespace xaas::link {

namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

Error damaged(llvm::Error error) {
  return make_error(ErrorKind::integrity, "damaged ELF file: " + llvm::toString(std::move(error)));
}

// The versions that a file needs of each library (System V gABI supplement, "Symbol Versioning":
// .gnu.version_r).
Result<std::vector<std::string>> needed_glibc_versions(const Elf& elf,
                                                       const llvm::object::ELF64LE::Shdr& section) {
  auto versions = elf.getVersionDependencies(section);
  if (!versions)
    return damaged(versions.takeError());
  std::set<std::string> names;
  for (const llvm::object::VerNeed& need : *versions)
    for (const llvm::object::VernAux& entry : need.AuxV)
      if (entry.Name.starts_with("GLIBC_"))
        names.insert(entry.Name.substr(6));
  return std::vector<std::string>(names.begin(), names.end());
}

Result<bool> imports(const Elf& elf, const llvm::object::ELF64LE::Shdr& section, llvm::StringRef wanted) {
  auto symbols = elf.symbols(&section);
  if (!symbols)
    return damaged(symbols.takeError());
  auto names = elf.getStringTableForSymtab(section);
  if (!names)
    return damaged(names.takeError());
  for (const auto& symbol : *symbols) {
    auto name = symbol.getName(*names);
    if (!name)
      return damaged(name.takeError());
    if (symbol.isUndefined() && *name == wanted)
      return true;
  }
  return false;
}

Result<void> read_sections(const Elf& elf, Dynamic& dynamic) {
  auto sections = elf.sections();
  if (!sections)
    return damaged(sections.takeError());
  for (const auto& section : *sections) {
    if (section.sh_type == llvm::ELF::SHT_GNU_verneed) {
      XAAS_TRY(dynamic.glibc_versions, needed_glibc_versions(elf, section));
    } else if (section.sh_type == llvm::ELF::SHT_DYNSYM) {
      XAAS_TRY(dynamic.imports_dlopen, imports(elf, section, "dlopen"));
    }
  }
  return {};
}

Result<void> read_entries(const Elf& elf, Dynamic& dynamic) {
  auto entries = elf.dynamicEntries();
  if (!entries) {
    llvm::consumeError(entries.takeError()); // no dynamic section: a static program
    return {};
  }
  const char* strings = nullptr;
  uint64_t size = 0;
  for (const auto& entry : *entries) {
    if (entry.d_tag == llvm::ELF::DT_STRTAB) {
      auto address = elf.toMappedAddr(entry.getPtr());
      if (!address)
        return damaged(address.takeError());
      strings = reinterpret_cast<const char*>(*address);
    } else if (entry.d_tag == llvm::ELF::DT_STRSZ) {
      size = entry.getVal();
    }
  }
  const char* end = reinterpret_cast<const char*>(elf.base()) + elf.getBufSize();
  if (strings && size > static_cast<uint64_t>(end - strings))
    return make_error(ErrorKind::integrity, "damaged ELF file: the dynamic string table ends outside it");
  auto text = [&](uint64_t offset) -> std::string {
    if (!strings || offset >= size)
      return {};
    return std::string(strings + offset, strnlen(strings + offset, size - offset));
  };
  for (const auto& entry : *entries) {
    if (entry.d_tag == llvm::ELF::DT_NEEDED)
      dynamic.needed.push_back(text(entry.getVal()));
    else if (entry.d_tag == llvm::ELF::DT_SONAME)
      dynamic.soname = text(entry.getVal());
    else if (entry.d_tag == llvm::ELF::DT_RUNPATH || entry.d_tag == llvm::ELF::DT_RPATH)
      dynamic.runpath = split(text(entry.getVal()), ':');
  }
  return {};
}

} // namespace

Result<Dynamic> read_dynamic(std::string_view data) {
  auto elf = Elf::create(llvm::StringRef(data.data(), data.size()));
  if (!elf)
    return damaged(elf.takeError());
  Dynamic dynamic;
  auto headers = elf->program_headers();
  if (!headers)
    return damaged(headers.takeError());
  for (const auto& header : *headers)
    if (header.p_type == llvm::ELF::PT_INTERP && header.p_offset < data.size()) {
      const std::string_view rest = data.substr(header.p_offset, header.p_filesz);
      dynamic.interpreter = rest.substr(0, rest.find('\0'));
    }
  dynamic.shared = elf->getHeader().e_type == llvm::ELF::ET_DYN && dynamic.interpreter.empty();
  XAAS_CHECK(read_entries(*elf, dynamic));
  XAAS_CHECK(read_sections(*elf, dynamic));
  return dynamic;
}

} // namespace xaas::link
