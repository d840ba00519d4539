// Information in a shared library. Reads only the necessary parts of the file.
#pragma once

#include <xaas/base/file.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xaas::system {

class ElfFile {
public:
  // Nothing if LLVM cannot read it as an ELF file.
  static std::optional<ElfFile> open(const fs::path& path);
  ElfFile(ElfFile&&) noexcept;
  ElfFile& operator=(ElfFile&&) noexcept;
  ~ElfFile();

  // The text at the exported symbol `name`, up to its end or 200 bytes.
  std::string text_of_symbol(const std::string& name) const;
  // Up to 80 bytes after `mark` in the constants, at the first place that `accept` approves.
  std::string text_after(const std::string& mark, bool (*accept)(const std::string&)) const;

private:
  struct Parts;
  explicit ElfFile(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

} // namespace xaas::system
