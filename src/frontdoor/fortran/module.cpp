#include "fortran/module.h"
#include "fortran/loop_versions.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/TrackingMDRef.h>

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

// Visits all metadata that a module reaches.
class MetadataWalk {
public:
  explicit MetadataWalk(const llvm::Module& module) {
    for (const llvm::NamedMDNode& named : module.named_metadata())
      for (const llvm::MDNode* node : named.operands())
        add(node);
    for (const llvm::GlobalVariable& variable : module.globals())
      add_attachments(variable);
    for (const llvm::Function& function : module) {
      add_attachments(function);
      for (const llvm::Instruction& instruction : llvm::instructions(function))
        add_instruction(instruction);
    }
    while (!pending_.empty()) {
      const llvm::MDNode* node = pending_.pop_back_val();
      for (const llvm::MDOperand& operand : node->operands())
        add(llvm::dyn_cast_or_null<llvm::MDNode>(operand.get()));
    }
  }

  const std::vector<llvm::DIFile*>& files() const { return files_; }
  const std::vector<llvm::DISubprogram*>& subprograms() const { return subprograms_; }

private:
  void add(const llvm::MDNode* node) {
    if (!node || !seen_.insert(node).second)
      return;
    pending_.push_back(node);
    if (const auto* file = llvm::dyn_cast<llvm::DIFile>(node))
      files_.push_back(const_cast<llvm::DIFile*>(file));
    if (const auto* subprogram = llvm::dyn_cast<llvm::DISubprogram>(node))
      subprograms_.push_back(const_cast<llvm::DISubprogram*>(subprogram));
  }

  template <typename Value> void add_attachments(const Value& value) {
    llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>, 4> attachments;
    value.getAllMetadata(attachments);
    for (const auto& [kind, node] : attachments)
      add(node);
  }

  void add_instruction(const llvm::Instruction& instruction) {
    add_attachments(instruction);
    for (const llvm::DbgRecord& record : instruction.getDbgRecordRange()) {
      add(record.getDebugLoc().getAsMDNode());
      if (const auto* variable = llvm::dyn_cast<llvm::DbgVariableRecord>(&record))
        add(variable->getVariable());
    }
  }

  llvm::DenseSet<const llvm::MDNode*> seen_;
  llvm::SmallVector<const llvm::MDNode*, 64> pending_;
  std::vector<llvm::DIFile*> files_; // in visiting order
  std::vector<llvm::DISubprogram*> subprograms_;
};

void replace_debug_files(llvm::Module& module, const MetadataWalk& walk, const Portable& portable) {
  // LLVM replaces a node that becomes equal to another everywhere, in this list, too.
  std::vector<llvm::TrackingMDNodeRef> files;
  for (llvm::DIFile* file : walk.files())
    files.emplace_back(file);
  for (const llvm::TrackingMDNodeRef& file : files)
    for (unsigned i = 0; i < 2; ++i) { // name and directory
      llvm::MDNode* node = file;
      const auto* text = llvm::dyn_cast_or_null<llvm::MDString>(node->getOperand(i));
      if (!text)
        continue;
      const std::string before = text->getString().str();
      if (const std::string after = portable(before); after != before)
        node->replaceOperandWith(i, llvm::MDString::get(module.getContext(), after));
    }
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
  const MetadataWalk walk(module);
  for (llvm::DISubprogram* subprogram : walk.subprograms())
    if (subprogram->isDistinct()) // a definition
      sort_imports(*subprogram);
  replace_debug_files(module, walk, portable);
  order_loop_versions(module);
}

} // namespace xaas::frontdoor
