#include <xaas/loader/dynamic_section.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace xaas::loader {

using namespace llvm::ELF;

Result<std::vector<Elf::Dyn>> dynamic_entries(const ElfImage& image) {
  XAAS_TRY(const auto segments, checked(image.file().program_headers()));
  std::vector<Elf::Dyn> entries;
  for (const Elf::Phdr& segment : segments) {
    if (segment.p_type != PT_DYNAMIC)
      continue;
    if (segment.p_offset > image.data().size() || segment.p_filesz > image.data().size() - segment.p_offset)
      return damaged("the dynamic section lies outside the file");
    entries.resize(segment.p_filesz / sizeof(Elf::Dyn));
    std::memcpy(entries.data(), image.data().data() + segment.p_offset, entries.size() * sizeof(Elf::Dyn));
    break;
  }
  const auto end = std::find_if(entries.begin(), entries.end(),
                                [](const Elf::Dyn& entry) { return entry.getTag() == DT_NULL; });
  entries.erase(end, entries.end());
  return entries;
}

Result<std::vector<DynamicString>> dynamic_strings(const ElfImage& image) {
  XAAS_TRY(const std::vector<Elf::Dyn> entries, dynamic_entries(image));
  const std::set<uint64_t> tags = {
      DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH, uint64_t(DT_AUXILIARY), uint64_t(DT_FILTER)};
  std::vector<DynamicString> strings;
  uint64_t table_address = 0, table_size = 0;
  for (const Elf::Dyn& entry : entries) {
    if (entry.getTag() == DT_STRTAB)
      table_address = entry.getPtr();
    if (entry.getTag() == DT_STRSZ)
      table_size = entry.getVal();
  }
  if (table_address == 0)
    return strings;
  XAAS_TRY(const uint8_t* const mapped, checked(image.file().toMappedAddr(table_address)));
  const size_t table_offset = size_t(reinterpret_cast<const char*>(mapped) - image.data().data());
  if (table_offset > image.data().size() || table_size > image.data().size() - table_offset)
    return damaged("the dynamic string table lies outside the file");
  const std::string_view table = image.data().substr(table_offset, table_size);
  for (const Elf::Dyn& entry : entries) {
    if (!tags.contains(uint64_t(entry.getTag())))
      continue;
    const uint64_t offset = entry.getVal();
    const size_t end = offset < table.size() ? table.find('\0', offset) : std::string_view::npos;
    if (end == std::string_view::npos)
      return damaged("a string of the dynamic section lies outside its table");
    strings.push_back({uint64_t(entry.getTag()), std::string(table.substr(offset, end - offset))});
  }
  return strings;
}

} // namespace xaas::loader
