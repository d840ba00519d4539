#include "elf_file.h"

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

namespace xaas::system {

struct ElfFile::Parts {
  std::unique_ptr<llvm::MemoryBuffer> content;
  std::unique_ptr<llvm::object::ObjectFile> object;
};

ElfFile::ElfFile(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ElfFile::ElfFile(ElfFile&&) noexcept = default;
ElfFile& ElfFile::operator=(ElfFile&&) noexcept = default;
ElfFile::~ElfFile() = default;

std::optional<ElfFile> ElfFile::open(const fs::path& path) {
  std::error_code code;
  if (!fs::is_regular_file(path, code))
    return std::nullopt;
  auto parts = std::make_unique<Parts>();
  auto content = llvm::MemoryBuffer::getFile(path.native(), false, false);
  if (!content)
    return std::nullopt;
  parts->content = std::move(*content);
  auto object = llvm::object::ObjectFile::createELFObjectFile(parts->content->getMemBufferRef());
  if (!object) {
    llvm::consumeError(object.takeError());
    return std::nullopt;
  }
  parts->object = std::move(*object);
  return ElfFile(std::move(parts));
}

std::string ElfFile::text_of_symbol(const std::string& name) const {
  const auto& object = *llvm::cast<llvm::object::ELFObjectFileBase>(parts_->object.get());
  for (const llvm::object::SymbolRef symbol : object.getDynamicSymbolIterators()) {
    llvm::Expected<llvm::StringRef> found = symbol.getName();
    if (!found) {
      llvm::consumeError(found.takeError());
      return {};
    }
    if (*found != name)
      continue;
    llvm::Expected<uint64_t> address = symbol.getAddress();
    if (!address) {
      llvm::consumeError(address.takeError());
      return {};
    }
    for (const llvm::object::SectionRef& section : object.sections()) {
      if (section.isBSS() || *address < section.getAddress() ||
          *address - section.getAddress() >= section.getSize())
        continue;
      llvm::Expected<llvm::StringRef> content = section.getContents();
      if (!content) {
        llvm::consumeError(content.takeError());
        return {};
      }
      const llvm::StringRef text = content->substr(*address - section.getAddress(), 200);
      return text.substr(0, text.find('\0')).str();
    }
  }
  return {};
}

std::string ElfFile::text_after(const std::string& mark, bool (*accept)(const std::string&)) const {
  for (const llvm::object::SectionRef& section : parts_->object->sections()) {
    if (!section.isData() || section.isBSS())
      continue;
    llvm::Expected<llvm::StringRef> content = section.getContents();
    if (!content) {
      llvm::consumeError(content.takeError());
      continue;
    }
    for (size_t at = content->find(mark); at != llvm::StringRef::npos; at = content->find(mark, at + 1)) {
      const llvm::StringRef rest = content->substr(at + mark.size(), 80);
      if (const std::string text = rest.substr(0, rest.find('\0')).str(); accept(text))
        return text;
    }
  }
  return {};
}

} // namespace xaas::system
