#include "code_objects.h"

#include <xaas/device/code_object.h>

#include <llvm/Object/ELF.h>

namespace xaas::check {

namespace {

using Elf = llvm::object::ELF64LE;

Error damaged(llvm::Error error) {
  return make_error(ErrorKind::integrity, "damaged ELF file: " + llvm::toString(std::move(error)));
}

// Empty: the file has no such section.
Result<std::string_view> fat_binaries(std::string_view elf) {
  auto file = llvm::object::ELFFile<Elf>::create(llvm::StringRef(elf.data(), elf.size()));
  if (!file)
    return damaged(file.takeError());
  auto sections = file->sections();
  if (!sections)
    return damaged(sections.takeError());
  for (const Elf::Shdr& section : *sections) {
    auto name = file->getSectionName(section);
    if (!name)
      return damaged(name.takeError());
    if (*name != ".hip_fatbin" || section.sh_type == llvm::ELF::SHT_NOBITS)
      continue;
    auto contents = file->getSectionContents(section);
    if (!contents)
      return damaged(contents.takeError());
    return std::string_view(reinterpret_cast<const char*>(contents->data()), contents->size());
  }
  return std::string_view();
}

} // namespace

Result<void> check_code_objects(std::string_view elf) {
  XAAS_TRY(const std::string_view bytes, fat_binaries(elf));
  constexpr std::string_view compressed = "CCOB";
  if (bytes.empty() || bytes.starts_with(compressed))
    return {};
  XAAS_TRY(const std::vector<device::BundleEntry> entries, device::parse_code_object_bundle(bytes));
  for (const device::BundleEntry& entry : entries) {
    const std::string arch = device::arch_of_entry(entry.id);
    if (arch.empty())
      continue;
    XAAS_TRY(const device::CodeObjectFacts facts, device::read_code_object(entry.bytes).in(entry.id));
    if (facts.arch != arch)
      return make_error(ErrorKind::integrity, entry.id + ": its code object is for " + facts.arch);
  }
  return {};
}

} // namespace xaas::check
