#include <xaas/base/build_id.h>

#include <cstring>
#include <link.h>
#include <string_view>

namespace xaas {

namespace {

constexpr size_t aligned(size_t size) {
  return (size + 3) & ~size_t(3);
}

// The build ID among the notes of a segment (elf(5), "Notes"); empty if there is none.
std::string build_id_in(std::string_view notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof(header));
    notes.remove_prefix(sizeof(header));
    const size_t name = aligned(header.n_namesz), content = aligned(header.n_descsz);
    if (name + content > notes.size())
      return {};
    if (header.n_type == NT_GNU_BUILD_ID && notes.substr(0, header.n_namesz) == std::string_view("GNU", 4))
      return std::string(notes.substr(name, header.n_descsz));
    notes.remove_prefix(name + content);
  }
  return {};
}

} // namespace

std::string build_id() {
  std::string id;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_NOTE)
            continue;
          const auto* start = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
          auto& found = *static_cast<std::string*>(result);
          if (found = build_id_in({start, segment.p_memsz}); !found.empty())
            break;
        }
        return 1; // only the first object, which is the program
      },
      &id);
  return id;
}

} // namespace xaas
