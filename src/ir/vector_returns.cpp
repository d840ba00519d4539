// The decisions; vector_returns.h has the problem, an example and what was rejected. vector_registers.h asks
// LLVM for the registers, vector_rewriting.h changes the IR.
#include "resolvers.h"
#include "vector_registers.h"
#include "vector_rewriting.h"

#include <xaas/ir/vector_returns.h>
#include <xaas/target/cpu.h>

#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace xaas::ir {

namespace {

// True for calls between functions. Calls of LLVM's own functions are instructions, and inline assembly is
// none.
bool is_call(const llvm::CallBase& call) {
  if (call.isInlineAsm())
    return false;
  const llvm::Function* callee = function_of(call.getCalledOperand());
  return !callee || !callee->isIntrinsic();
}

// Decides for every function and call of one module how it returns, then has it rewritten.
class Rewriter {
public:
  Rewriter(llvm::Module& module, Registers& registers, const IsVersion& is_version)
      : module_(module), registers_(registers), is_version_(is_version), early_(resolver_functions(module)),
        resolved_(resolved_functions(module)) {}

  Result<unsigned> run() {
    for (llvm::Function& function : module_)
      if (!function.isIntrinsic())
        XAAS_CHECK(decide(function));
    for (llvm::Function& function : module_)
      for (llvm::Instruction& instruction : llvm::instructions(function))
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && is_call(*call))
          XAAS_CHECK(decide(*call));
    for (const auto& [call, form] : calls_)
      XAAS_CHECK(rewrite_call(*call, form));
    unsigned defined = 0;
    for (const auto& [function, form] : functions_) {
      defined += !function->isDeclaration();
      rewrite_function(*function, form);
    }
    return defined;
  }

private:
  // True if both sides of all calls of the function agree on every target as they are: only this module calls
  // it, and each caller inlines it, has its features, or has the same registers for the result.
  Result<bool> is_private(const llvm::Function& function) {
    if (const auto known = private_.find(&function); known != private_.end())
      return known->second;
    XAAS_TRY(const bool found, finds_private(function));
    private_.emplace(&function, found);
    return found;
  }

  Result<bool> finds_private(const llvm::Function& function) {
    const bool inlined = function.hasFnAttribute(llvm::Attribute::AlwaysInline);
    if (!(function.hasLocalLinkage() || (inlined && function.isDiscardableIfUnused())) ||
        resolved_.count(&function))
      return false;
    const auto is_direct_call = [&](const llvm::Use& use) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
      return call && call->isCallee(&use) && call->getFunctionType() == function.getFunctionType();
    };
    if (!llvm::all_of(function.uses(), is_direct_call))
      return false;
    if (inlined)
      return true;
    if (early_.count(&function))
      return false;
    std::set<const llvm::Function*> callers;
    for (const llvm::Use& use : function.uses())
      callers.insert(llvm::cast<llvm::CallBase>(use.getUser())->getFunction());
    llvm::FunctionType* type = function.getFunctionType();
    const llvm::CallingConv::ID convention = function.getCallingConv();
    XAAS_TRY(const Form own, registers_.form(function, type, convention));
    for (const llvm::Function* caller : callers) {
      if (early_.count(caller))
        return false;
      if (same_attributes(*caller, function))
        continue;
      XAAS_TRY(const Form form, registers_.form(*caller, type, convention));
      if (own.kind != Form::as_it_is || form.kind != Form::as_it_is ||
          registers_.moves_arguments(*caller, type, convention))
        return false;
    }
    return true;
  }

  static bool same_attributes(const llvm::Function& one, const llvm::Function& other) {
    return llvm::all_of(
        std::initializer_list<const char*>{"target-cpu", "tune-cpu", "target-features"},
        [&](const char* name) { return one.getFnAttribute(name) == other.getFnAttribute(name); });
  }

  bool chosen_at_start(const llvm::Function& function) const {
    return resolved_.count(&function) || is_version_(function);
  }

  Result<void> check_arguments(const llvm::Function& function, llvm::FunctionType* type,
                               llvm::CallingConv::ID convention) {
    if (registers_.moves_arguments(function, type, convention))
      return make_error(ErrorKind::failed,
                        "a vector argument in registers that depend on the instruction set");
    return {};
  }

  Result<void> decide(llvm::Function& function) {
    llvm::FunctionType* type = function.getFunctionType();
    if (widest_vector_of(*type) <= width_of_all)
      return {};
    XAAS_TRY(const bool stays, is_private(function));
    if (stays)
      return {};
    const llvm::CallingConv::ID convention = function.getCallingConv();
    XAAS_CHECK(check_arguments(function, type, convention));
    XAAS_TRY(Form form, registers_.form(function, type, convention));
    XAAS_TRY(const Form plain, registers_.plain_form(function, type, convention));
    if (!function.isDeclaration() && !(form == plain)) {
      const std::optional<Form> both =
          form.kind == Form::as_it_is ? registers_.both(function, plain, type, convention) : std::nullopt;
      if (both)
        form = *both;
      else if (chosen_at_start(function) && registers_.can_return(function, plain, type, convention))
        form = plain;
    }
    if (form.kind != Form::as_it_is)
      functions_.emplace_back(&function, form);
    decided_.emplace(&function, std::move(form));
    return {};
  }

  Result<void> decide(llvm::CallBase& call) {
    llvm::FunctionType* type = call.getFunctionType();
    if (widest_vector_of(*type) <= width_of_all)
      return {};
    const llvm::Function& caller = *call.getFunction();
    const llvm::Function* callee = function_of(call.getCalledOperand());
    if (callee && callee->getFunctionType() == type) {
      XAAS_TRY(const bool stays, is_private(*callee));
      if (stays)
        return {};
    }
    const llvm::CallingConv::ID convention = call.getCallingConv();
    XAAS_CHECK(check_arguments(caller, type, convention));
    const bool through_ifunc =
        llvm::isa<llvm::GlobalIFunc>(call.getCalledOperand()->stripPointerCastsAndAliases());
    XAAS_TRY(Form form, through_ifunc ? registers_.plain_form(caller, type, convention)
                                      : registers_.form(caller, type, convention));
    // Where the ABI is the same, the type is, too: otherwise LLVM would not recognize the callee in the call.
    if (const auto known = callee ? decided_.find(callee) : decided_.end();
        known != decided_.end() && known->second.kind == Form::both && form.kind == Form::as_it_is)
      form = known->second;
    if (form.kind != Form::as_it_is)
      calls_.emplace_back(&call, std::move(form));
    return {};
  }

  llvm::Module& module_;
  Registers& registers_;
  const IsVersion& is_version_;
  std::set<const llvm::Function*> early_, resolved_;
  std::vector<std::pair<llvm::Function*, Form>> functions_; // to be rewritten
  std::map<const llvm::Function*, Form> decided_;
  std::map<const llvm::Function*, bool> private_;
  std::vector<std::pair<llvm::CallBase*, Form>> calls_; // to be rewritten
};

} // namespace

uint64_t widest_vector_passed(const llvm::Function& function) {
  uint64_t widest = widest_vector_of(*function.getFunctionType());
  for (const llvm::Instruction& instruction : llvm::instructions(function))
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && is_call(*call))
      widest = std::max(widest, widest_vector_of(*call->getFunctionType()));
  return widest;
}

Result<unsigned> fix_vector_returns(llvm::Module& module, const TargetAttributes& plain,
                                    const IsVersion& is_version) {
  const std::string arch = module.getTargetTriple().getArchName().str();
  if (target::isa_levels(arch).empty()) // a GPU: all of its code is generated together
    return 0;
  if (llvm::none_of(module, [](const llvm::Function& function) {
        return !function.isIntrinsic() && widest_vector_passed(function) > width_of_all;
      }))
    return 0;
  XAAS_TRY(Registers registers, Registers::create(module, plain));
  return Rewriter(module, registers, is_version).run();
}

} // namespace xaas::ir
