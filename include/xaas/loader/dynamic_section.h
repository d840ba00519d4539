// The dynamic section as it is in the file.
#pragma once

#include <xaas/loader/elf_image.h>

namespace xaas::loader {

// The dynamic section up to its end mark, as the loader finds it; empty without one. (LLVM's own reader does
// not check that it lies in the file.)
Result<std::vector<Elf::Dyn>> dynamic_entries(const ElfImage& image);

// An entry of the dynamic section that is a string (NEEDED, SONAME, RPATH, RUNPATH, AUXILIARY, FILTER).
struct DynamicString {
  uint64_t tag;
  std::string text;
};
Result<std::vector<DynamicString>> dynamic_strings(const ElfImage& image);

} // namespace xaas::loader
