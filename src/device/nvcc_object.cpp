#include <xaas/device/nvcc_object.h>

#include <xaas/base/text.h>

#include <llvm/Object/Archive.h>
#include <llvm/Object/ELF.h>

#include <charconv>
#include <set>

namespace xaas::device {

namespace {

using Elf = llvm::object::ELF64LE;
using ElfFile = llvm::object::ELFFile<Elf>;

// Sections of whole-program and of relocatable device code.
bool is_device_code(const ElfFile& file, const Elf::Shdr& section) {
  auto name = file.getSectionName(section);
  if (name)
    return *name == ".nv_fatbin" || *name == "__nv_relfatbin";
  llvm::consumeError(name.takeError());
  return false;
}

// The kernel whose stub a mangled name has: "_Z5scalePf" for "_Z24__device_stub__Z5scalePfPf", and for
// "_ZZL24__device_stub__Z5scalePfPfE5__tmp" of a variable in the stub. Clang names the stub after the
// kernel's identifier: "_Z20__device_stub__scalePf", and "__device_stub__scale" for an `extern "C"` kernel.
// Empty: the name has no stub.
std::string kernel_of(std::string_view symbol) {
  constexpr std::string_view stub = "__device_stub_";
  const size_t at = symbol.find(stub);
  if (at == std::string_view::npos)
    return {};
  size_t digits = at; // a source name of the C++ ABI: its length, then the identifier
  while (digits > 0 && is_digit(symbol[digits - 1]))
    --digits;
  const bool is_c = at == 0;
  size_t length = symbol.size();
  if (!is_c) {
    const auto [end, error] = std::from_chars(symbol.data() + digits, symbol.data() + at, length);
    if (error != std::errc() || end != symbol.data() + at)
      return {};
  }
  if (length <= stub.size() + 1 || length > symbol.size() - at)
    return {};
  const std::string_view kernel = symbol.substr(at + stub.size(), length - stub.size());
  if (kernel.starts_with("_Z"))
    return std::string(kernel);
  const std::string name(kernel.substr(1)); // without the second underscore of Clang's "__device_stub__"
  if (!kernel.starts_with("_") || symbol.starts_with("_ZZ"))
    return {};
  if (is_c)
    return name;
  return std::string(symbol.substr(0, digits)) + std::to_string(name.size()) + name +
         std::string(symbol.substr(at + length));
}

void add_kernels(const ElfFile& file, const Elf::Shdr& section, std::set<std::string>& kernels) {
  auto symbols = file.symbols(&section);
  auto names = file.getStringTableForSymtab(section);
  if (!symbols || !names) {
    llvm::consumeError(symbols.takeError());
    llvm::consumeError(names.takeError());
    return;
  }
  for (const Elf::Sym& symbol : *symbols) {
    auto name = symbol.getName(*names);
    if (!name)
      llvm::consumeError(name.takeError());
    else if (std::string kernel = kernel_of({name->data(), name->size()}); !kernel.empty())
      kernels.insert(std::move(kernel));
  }
}

void add_kernels_of_object(llvm::StringRef object, std::set<std::string>& kernels) {
  auto file = ElfFile::create(object);
  if (!file) {
    llvm::consumeError(file.takeError());
    return;
  }
  auto sections = file->sections();
  if (!sections) {
    llvm::consumeError(sections.takeError());
    return;
  }
  if (llvm::none_of(*sections, [&](const Elf::Shdr& section) { return is_device_code(*file, section); }))
    return;
  std::set<std::string> found;
  for (const Elf::Shdr& section : *sections)
    if (section.sh_type == llvm::ELF::SHT_SYMTAB)
      add_kernels(*file, section, found);
  if (found.empty())
    found.insert("");
  kernels.merge(found);
}

void add_kernels_of_archive(llvm::StringRef bytes, std::set<std::string>& kernels) {
  auto archive = llvm::object::Archive::create(llvm::MemoryBufferRef(bytes, ""));
  if (!archive) {
    llvm::consumeError(archive.takeError());
    return;
  }
  if ((*archive)->isThin()) // it has names of files only
    return;
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child& member : (*archive)->children(error)) {
    auto content = member.getBuffer();
    if (content)
      add_kernels_of_object(*content, kernels);
    else
      llvm::consumeError(content.takeError());
  }
  llvm::consumeError(std::move(error));
}

} // namespace

std::vector<std::string> nvcc_kernels(std::string_view file) {
  const llvm::StringRef bytes(file.data(), file.size());
  std::set<std::string> kernels;
  if (bytes.starts_with(llvm::object::ArchiveMagic))
    add_kernels_of_archive(bytes, kernels);
  else
    add_kernels_of_object(bytes, kernels);
  return {kernels.begin(), kernels.end()};
}

} // namespace xaas::device
