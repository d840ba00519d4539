// What a shared library says of itself. Only as much of the file is read as is asked for.
#pragma once

#include <xaas/base/file.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xaas::system {

class ElfFile {
public:
  // Nothing if it is no ELF file that LLVM can read.
  static std::optional<ElfFile> open(const fs::path& path);
  ElfFile(ElfFile&&) noexcept;
  ElfFile& operator=(ElfFile&&) noexcept;
  ~ElfFile();

  // The text that the exported symbol `name` stands for, up to its end or 200 bytes.
  std::string text_of_symbol(const std::string& name) const;
  // Up to 80 bytes that follow `mark` in the constants: those at the first place for which `accept` holds.
  std::string text_after(const std::string& mark, bool (*accept)(const std::string&)) const;

private:
  struct Parts;
  explicit ElfFile(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

} // namespace xaas::system
