// An ELF64 little-endian file with validated headers.
#pragma once

#include <xaas/loader/dynamic.h>

#include <llvm/Object/ELF.h>

#include <string>
#include <string_view>
#include <vector>

namespace xaas::loader {

using Elf = llvm::object::ELF64LE;

// The integrity error for a damaged file.
Error damaged(const std::string& what);
Error damaged(llvm::Error error);

// Converts llvm::Expected to Result.
template <typename T> Result<T> checked(llvm::Expected<T> value) {
  if (!value)
    return damaged(value.takeError());
  return std::move(*value);
}

struct ElfSection {
  const Elf::Shdr* header;
  std::string name;
  std::string_view bytes; // empty for SHT_NOBITS
  bool allocated() const { return header->sh_flags & llvm::ELF::SHF_ALLOC; }
};

class ElfImage {
public:
  // `data` must outlive the image.
  static Result<ElfImage> open(std::string_view data);

  const Elf::Ehdr& header() const { return file_.getHeader(); }
  const llvm::object::ELFFile<Elf>& file() const { return file_; }
  const std::vector<ElfSection>& sections() const { return sections_; } // by section index
  std::string_view data() const { return data_; }
  bool relocatable() const { return header().e_type == llvm::ELF::ET_REL; }

private:
  ElfImage(llvm::object::ELFFile<Elf> file, std::string_view data) : file_(std::move(file)), data_(data) {}
  llvm::object::ELFFile<Elf> file_;
  std::string_view data_;
  std::vector<ElfSection> sections_;
};

inline std::string_view view(llvm::StringRef text) {
  return {text.data(), text.size()};
}
inline llvm::StringRef ref(std::string_view text) {
  return {text.data(), text.size()};
}

// A little-endian number at `offset`; the caller has checked the bounds.
uint32_t read_u32(std::string_view data, size_t offset);

// One entry of a note section.
struct RawNote {
  std::string_view name, descriptor;
  uint32_t type;
  size_t offset; // of the descriptor, in the section
};

// The entries of a note section. With `strict` an incomplete entry is an error; otherwise it ends the list.
Result<std::vector<RawNote>> split_notes(std::string_view section, size_t alignment, bool strict);

} // namespace xaas::loader
