#include "resolvers.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace xaas::ir {

const llvm::Function* function_of(const llvm::Value* value) {
  return llvm::dyn_cast<llvm::Function>(value->stripPointerCastsAndAliases());
}

std::set<const llvm::Function*> resolver_functions(const llvm::Module& module) {
  std::set<const llvm::Function*> reached;
  std::vector<const llvm::Function*> pending;
  for (const llvm::GlobalIFunc& ifunc : module.ifuncs())
    if (const llvm::Function* resolver = ifunc.getResolverFunction())
      pending.push_back(resolver);
  while (!pending.empty()) {
    const llvm::Function* function = pending.back();
    pending.pop_back();
    if (!reached.insert(function).second)
      continue;
    for (const llvm::Instruction& instruction : llvm::instructions(*function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (const llvm::Function* callee = function_of(call->getCalledOperand());
            callee && !callee->isDeclaration())
          pending.push_back(callee);
  }
  return reached;
}

// Adds the functions that a constant refers to, directly or through tables in variables.
static void add_addresses(const llvm::Value* value, std::set<const llvm::Value*>& seen,
                          std::set<const llvm::Function*>& functions) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (!constant || !seen.insert(constant).second)
    return;
  if (const llvm::Function* function = function_of(constant))
    functions.insert(function);
  else if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(constant)) {
    if (variable->hasInitializer())
      add_addresses(variable->getInitializer(), seen, functions);
  } else if (!llvm::isa<llvm::GlobalValue>(constant)) {
    for (const llvm::Use& operand : constant->operands())
      add_addresses(operand.get(), seen, functions);
  }
}

std::set<const llvm::Function*> resolved_functions(const llvm::Module& module) {
  std::set<const llvm::Function*> functions;
  std::set<const llvm::Value*> seen;
  for (const llvm::Function* function : resolver_functions(module))
    for (const llvm::Instruction& instruction : llvm::instructions(*function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      for (const llvm::Use& operand : instruction.operands())
        if (!call || !call->isCallee(&operand))
          add_addresses(operand.get(), seen, functions);
    }
  return functions;
}

} // namespace xaas::ir
