#include "debug_metadata.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/TrackingMDRef.h>

namespace xaas::frontdoor {

namespace {

// Visits all metadata that a module reaches.
class Walk {
public:
  explicit Walk(const llvm::Module& module) {
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

  DebugMetadata found() && { return std::move(found_); }

private:
  void add(const llvm::MDNode* node) {
    if (!node || !seen_.insert(node).second)
      return;
    pending_.push_back(node);
    if (const auto* file = llvm::dyn_cast<llvm::DIFile>(node))
      found_.files.push_back(const_cast<llvm::DIFile*>(file));
    if (const auto* subprogram = llvm::dyn_cast<llvm::DISubprogram>(node))
      found_.subprograms.push_back(const_cast<llvm::DISubprogram*>(subprogram));
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
  DebugMetadata found_;
};

} // namespace

DebugMetadata debug_metadata_of(const llvm::Module& module) {
  return Walk(module).found();
}

void rename_files(const DebugMetadata& metadata,
                  const std::function<std::string(const std::string&)>& portable) {
  // LLVM replaces a node that becomes equal to another everywhere, in this list, too.
  std::vector<llvm::TrackingMDNodeRef> files;
  for (llvm::DIFile* file : metadata.files)
    files.emplace_back(file);
  for (const llvm::TrackingMDNodeRef& file : files)
    for (unsigned i = 0; i < 2; ++i) { // name and directory
      llvm::MDNode* node = file;
      const auto* text = llvm::dyn_cast_or_null<llvm::MDString>(node->getOperand(i));
      if (!text)
        continue;
      const std::string before = text->getString().str();
      if (const std::string after = portable(before); after != before)
        node->replaceOperandWith(i, llvm::MDString::get(node->getContext(), after));
    }
}

} // namespace xaas::frontdoor
