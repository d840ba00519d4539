#include "fortran/module.h"
#include "debug_metadata.h"
#include "fortran/loop_versions.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <vector>

namespace xaas::frontdoor {

namespace {

using Portable = std::function<std::string(const std::string&)>;

// The path in a constant of the form that flang uses for source files: text with a terminating zero.
std::string path_in(const llvm::Value* value) {
  const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(value);
  if (!variable || !variable->isConstant() || !variable->hasInitializer() ||
      !variable->getName().starts_with("_QQcl"))
    return {};
  const auto* text = llvm::dyn_cast<llvm::ConstantDataArray>(variable->getInitializer());
  return text && text->isCString() ? text->getAsCString().str() : std::string();
}

// A constant like `from` with another text. As in flang, its name derives from the text, so a link merges
// equal ones.
llvm::GlobalVariable* constant_with(llvm::Module& module, const llvm::GlobalVariable& from,
                                    const std::string& text) {
  const std::string name = "_QQclX" + llvm::toHex(llvm::StringRef(text.c_str(), text.size() + 1));
  if (llvm::GlobalVariable* known = module.getGlobalVariable(name))
    return known;
  llvm::Constant* content = llvm::ConstantDataArray::getString(module.getContext(), text);
  auto* made = new llvm::GlobalVariable(module, content->getType(), true, from.getLinkage(), content, name);
  made->copyAttributesFrom(&from);
  if (from.hasComdat()) {
    llvm::Comdat* comdat = module.getOrInsertComdat(name);
    comdat->setSelectionKind(from.getComdat()->getSelectionKind());
    made->setComdat(comdat);
  }
  return made;
}

// In calls of the run-time library, the line, an int, follows the source file. The length, a size_t, follows
// a character value of the program.
bool is_source_file(const llvm::CallBase& call, unsigned argument) {
  return argument + 1 < call.arg_size() && call.getArgOperand(argument + 1)->getType()->isIntegerTy(32);
}

void replace_source_files(llvm::Module& module, const Portable& portable) {
  std::map<llvm::GlobalVariable*, llvm::GlobalVariable*> replaced;
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
      if (!callee || !callee->getName().starts_with("_Fortran"))
        continue;
      for (unsigned i = 0; i < call->arg_size(); ++i) {
        const std::string path = path_in(call->getArgOperand(i));
        if (path.empty() || !is_source_file(*call, i))
          continue;
        const std::string name = portable(path);
        if (name == path)
          continue;
        auto* from = llvm::cast<llvm::GlobalVariable>(call->getArgOperand(i));
        llvm::GlobalVariable*& to = replaced[from];
        if (!to)
          to = constant_with(module, *from, name);
        call->setArgOperand(i, to);
      }
    }
  for (const auto& [from, to] : replaced)
    if (from->use_empty())
      from->eraseFromParent();
}

// Describes an import of a procedure.
std::string description(const llvm::DIImportedEntity& import) {
  std::string entity;
  if (const auto* used = llvm::dyn_cast_or_null<llvm::DIModule>(import.getEntity()))
    entity = used->getName();
  else if (const auto* variable = llvm::dyn_cast_or_null<llvm::DIGlobalVariable>(import.getEntity()))
    entity = variable->getLinkageName().str() + " " + variable->getName().str();
  else if (const auto* scope = llvm::dyn_cast_or_null<llvm::DIScope>(import.getEntity()))
    entity = scope->getName();
  return std::to_string(import.getTag()) + " " + entity + " " + import.getName().str() + " " +
         std::to_string(import.getLine());
}

void sort_imports(llvm::DISubprogram& subprogram) {
  std::vector<llvm::Metadata*> nodes;
  std::vector<std::pair<std::string, llvm::Metadata*>> imports;
  for (llvm::Metadata* node : subprogram.getRetainedNodes()) {
    nodes.push_back(node);
    if (const auto* import = llvm::dyn_cast<llvm::DIImportedEntity>(node))
      imports.emplace_back(description(*import), node);
  }
  std::sort(imports.begin(), imports.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  auto next = imports.begin();
  for (llvm::Metadata*& node : nodes)
    if (llvm::isa<llvm::DIImportedEntity>(node))
      node = (next++)->second;
  if (imports.size() > 1)
    subprogram.replaceRetainedNodes(llvm::MDTuple::get(subprogram.getContext(), nodes));
}

} // namespace

void make_reproducible(llvm::Module& module, const Portable& portable) {
  replace_source_files(module, portable);
  const DebugMetadata metadata = debug_metadata_of(module);
  for (llvm::DISubprogram* subprogram : metadata.subprograms)
    if (subprogram->isDistinct()) // a definition
      sort_imports(*subprogram);
  rename_files(metadata, portable);
  order_loop_versions(module);
}

} // namespace xaas::frontdoor
