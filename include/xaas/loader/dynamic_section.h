// The raw dynamic section of a file.
#pragma once

#include <xaas/loader/elf_image.h>

namespace xaas::loader {

// The dynamic section up to its end mark, located as the loader does; empty if there is none. (LLVM's reader
// does not check that it lies inside the file.)
Result<std::vector<Elf::Dyn>> dynamic_entries(const ElfImage& image);

// An entry of the dynamic section with a string value (NEEDED, SONAME, RPATH, RUNPATH, AUXILIARY, FILTER).
struct DynamicString {
  uint64_t tag;
  std::string text;
};
Result<std::vector<DynamicString>> dynamic_strings(const ElfImage& image);

} // namespace xaas::loader
