// Problem: LTO must not rely on a definition that another file of the application replaces when programs are
// loaded (deploy/interposition.cpp). In LLVM, only a weak definition is such a one. But a linker takes the
// first of two weak definitions, and a library may have a weak and a strong one of the same name.
//
// Example: the library's default, its replacement, and the program's.
//
//     liblog.so   default.c   __attribute__((weak)) void report(int) {}
//                 log.c       void report(int a) { ... }       LTO must choose this one,
//     viewer      main.c      void report(int a) { ... }       and not inline it
//
// Approach: bitcode says twice what it defines, in the module for LLVM and in a symbol table for linkers. The
// definition is weak in the former and strong in the latter.
//
// Rejected: the module flag for semantic interposition, which a link with summaries does not see; objects in
// place of bitcode for such units, whose other functions would lose LTO.
#include "replaceable.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Object/IRSymtab.h>
#include <llvm/Support/MemoryBufferRef.h>

namespace xaas::lower {

std::set<std::string> make_replaceable(llvm::Module& module, const std::set<std::string>& names) {
  std::set<std::string> made;
  for (llvm::GlobalValue& value : module.global_values()) // also aliases and resolvers
    if (value.hasExternalLinkage() && value.hasDefaultVisibility() && !value.isDeclaration() &&
        names.contains(value.getName().str())) {
      value.setLinkage(llvm::GlobalValue::WeakAnyLinkage);
      made.insert(value.getName().str());
    }
  return made;
}

Result<void> keep_strong(std::string& bitcode, const std::set<std::string>& names) {
  if (names.empty())
    return {};
  using namespace llvm::irsymtab::storage;
  llvm::Expected<llvm::BitcodeFileContents> contents =
      llvm::getBitcodeFileContents(llvm::MemoryBufferRef(bitcode, "bitcode"));
  if (!contents)
    return make_error(ErrorKind::failed, "the bitcode for LTO: " + llvm::toString(contents.takeError()));
  const llvm::StringRef table = contents->Symtab;
  if (table.size() < sizeof(Header))
    return make_error(ErrorKind::failed, "the bitcode for LTO has no symbol table");
  const auto* header = reinterpret_cast<const Header*>(table.data());
  char* symbols = bitcode.data() + (table.data() - bitcode.data()) + header->Symbols.Offset;
  for (size_t i = 0; i < header->Symbols.Size; ++i) {
    auto* symbol = reinterpret_cast<Symbol*>(symbols + i * sizeof(Symbol));
    if (names.contains(symbol->Name.get(contents->StrtabForSymtab).str()))
      symbol->Flags = symbol->Flags & ~(1U << Symbol::FB_weak);
  }
  return {};
}

} // namespace xaas::lower
