#include <xaas/ir/back_ends.h>
#include <xaas/ir/symbols.h>

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Mangler.h>
#include <llvm/IR/Module.h>
#include <llvm/LTO/LTO.h>
#include <llvm/Object/Archive.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Object/ModuleSymbolTable.h>
#include <llvm/Object/SymbolicFile.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

namespace xaas::ir {

namespace {

using llvm::object::BasicSymbolRef;

std::string without_version(llvm::StringRef name) {
  return name.substr(0, name.find('@')).str();
}

void add(Symbols& symbols, llvm::StringRef name, uint32_t flags) {
  if (flags & BasicSymbolRef::SF_FormatSpecific || !(flags & BasicSymbolRef::SF_Global))
    return;
  const std::string base = without_version(name);
  if (flags & (BasicSymbolRef::SF_Undefined | BasicSymbolRef::SF_Common))
    symbols.wanted.insert(base);
  if (!(flags & BasicSymbolRef::SF_Undefined))
    symbols.defined.insert(base);
}

// A definition in assembly is a label, a directive or an assignment.
bool may_define(llvm::StringRef assembly) {
  return assembly.find_first_of(":.=") != llvm::StringRef::npos;
}

// Adds the words of the assembly and, because they may be its operands, all names of the module. Returns
// false for assembly with macros, which can make any name.
bool add_assembly(const llvm::Module& module, llvm::StringRef assembly, Symbols& symbols) {
  if (assembly.contains('\\'))
    return false;
  const auto in_name = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$'; };
  const auto add = [&](llvm::StringRef name) {
    symbols.defined.insert(name.str());
    symbols.wanted.insert(name.str());
  };
  for (size_t at = assembly.find_if(in_name); at != llvm::StringRef::npos;
       at = assembly.find_if(in_name, at)) {
    const llvm::StringRef word = assembly.drop_front(at).take_while(in_name);
    add(word);
    at += word.size();
  }
  for (const llvm::GlobalValue& value : module.global_values())
    if (!value.hasLocalLinkage() && !value.getName().starts_with("llvm."))
      add(value.getName());
  return true;
}

bool add_assembly_of_functions(const llvm::Module& module, Symbols& symbols) {
  for (const llvm::Function& function : module)
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()))
          if (may_define(assembly->getAsmString()) &&
              !add_assembly(module, assembly->getAsmString(), symbols))
            return false;
  return true;
}

Error damaged(const llvm::MemoryBufferRef& file, llvm::Error error) {
  return make_error(ErrorKind::integrity,
                    file.getBufferIdentifier().str() + ": " + llvm::toString(std::move(error)));
}

template <typename Range>
Result<void> add_all(const llvm::MemoryBufferRef& file, const Range& range, Symbols& symbols) {
  for (const BasicSymbolRef& symbol : range) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return damaged(file, flags.takeError());
    std::string name;
    llvm::raw_string_ostream stream(name);
    if (llvm::Error error = symbol.printName(stream))
      return damaged(file, std::move(error));
    add(symbols, name, *flags);
  }
  return {};
}

Result<void> add_file(const llvm::MemoryBufferRef& file, Symbols& symbols) {
  llvm::LLVMContext context;
  auto opened =
      llvm::object::SymbolicFile::createSymbolicFile(file, llvm::identify_magic(file.getBuffer()), &context);
  if (!opened)
    return damaged(file, opened.takeError());
  if (const auto* elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(opened->get());
      elf && elf->getEType() == llvm::ELF::ET_DYN)
    return add_all(file, elf->getDynamicSymbolIterators(), symbols);
  return add_all(file, (*opened)->symbols(), symbols);
}

Result<void> add_archive(const llvm::MemoryBufferRef& file, Symbols& symbols) {
  auto archive = llvm::object::Archive::create(file);
  if (!archive)
    return damaged(file, archive.takeError());
  llvm::Error error = llvm::Error::success();
  Result<void> added;
  for (const llvm::object::Archive::Child& child : (*archive)->children(error)) {
    auto member = child.getMemoryBufferRef();
    added = member ? add_file(*member, symbols) : damaged(file, member.takeError());
    if (!added)
      break;
  }
  if (error)
    return damaged(file, std::move(error));
  return added;
}

} // namespace

std::optional<Symbols> symbols_of(llvm::Module& module) {
  initialize_back_ends(); // for the assembly
  Symbols symbols;
  if (!add_assembly_of_functions(module, symbols))
    return std::nullopt;
  llvm::ModuleSymbolTable table;
  table.addModule(&module);
  for (const llvm::ModuleSymbolTable::Symbol& symbol : table.symbols()) {
    std::string name;
    llvm::raw_string_ostream stream(name);
    table.printSymbolName(stream, symbol);
    add(symbols, name, table.getSymbolFlags(symbol));
  }
  return symbols;
}

bool exports_any(const llvm::Module& module, const std::set<std::string>& names) {
  llvm::Mangler mangler;
  for (const llvm::GlobalValue& value : module.global_values()) {
    if (value.isDeclaration() || !value.hasDefaultVisibility() ||
        !(value.hasExternalLinkage() || value.hasWeakAnyLinkage()))
      continue;
    llvm::SmallString<64> name;
    mangler.getNameWithPrefix(name, &value, false);
    if (names.contains(without_version(name)))
      return true;
  }
  return false;
}

Result<Symbols> symbols_of(const llvm::MemoryBufferRef& file) {
  initialize_back_ends();
  Symbols symbols;
  XAAS_CHECK(llvm::identify_magic(file.getBuffer()) == llvm::file_magic::archive ? add_archive(file, symbols)
                                                                                 : add_file(file, symbols));
  return symbols;
}

std::set<std::string> runtime_functions(const std::string& triple) {
  const llvm::Triple target(triple);
  std::set<std::string> names;
  for (const char* name : llvm::lto::LTO::getRuntimeLibcallSymbols(target))
    names.insert(name);
  const llvm::TargetLibraryInfoImpl impl(target);
  const llvm::TargetLibraryInfo library(impl);
  for (unsigned function = 0; function < llvm::NumLibFuncs; ++function)
    names.insert(library.getName(static_cast<llvm::LibFunc>(function)).str());
  names.erase(""); // of functions that the target does not have
  return names;
}

} // namespace xaas::ir
