#include "resolvers.h"

#include <xaas/ir/vector_returns.h>
#include <xaas/target/cpu.h>

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/TargetLowering.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <map>

namespace xaas::ir {

namespace {

// In every instruction set that has vectors, one register holds this many bits.
constexpr uint64_t width_of_all = 128;

uint64_t widest_vector(const llvm::Type* type) {
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    const llvm::Type* element = vector->getElementType();
    // Pointers are as wide as the widest that there are.
    return vector->getNumElements() * (element->isPointerTy() ? 64 : element->getScalarSizeInBits());
  }
  uint64_t widest = 0;
  for (const llvm::Type* part : type->subtypes())
    widest = std::max(widest, widest_vector(part));
  return widest;
}

uint64_t widest_vector_of(const llvm::FunctionType& type) {
  uint64_t widest = widest_vector(type.getReturnType());
  for (const llvm::Type* parameter : type.params())
    widest = std::max(widest, widest_vector(parameter));
  return widest;
}

// Calls between functions: not of LLVM's own, which are instructions, nor of inline assembly.
bool is_call(const llvm::CallBase& call) {
  if (call.isInlineAsm())
    return false;
  const llvm::Function* callee = function_of(call.getCalledOperand());
  return !callee || !callee->isIntrinsic();
}

// A part of a returned type, and how many registers LLVM makes of it.
struct Leaf {
  std::vector<unsigned> path; // of an aggregate's indices
  llvm::Type* type;
  unsigned registers;
};

// How a type is returned.
struct Form {
  enum Kind {
    as_it_is, // in registers that more features do not change
    pieces,   // in registers that are written out
    memory,   // where the caller says
    both,     // in one register, and the other pieces of the plain form
  } kind = as_it_is;
  llvm::Type* type = nullptr; // of the value that is returned instead; null for as_it_is
  std::vector<Leaf> leaves;   // of pieces; for both: of the plain form
  bool operator==(const Form& other) const { return kind == other.kind && type == other.type; }
};

// Asks LLVM in which registers a function with given attributes returns a type. The functions it asks about
// are in a module of their own.
class Registers {
public:
  static Result<Registers> create(const llvm::Module& module, const TargetAttributes& plain) {
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    std::string why;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(module.getTargetTriple(), why);
    if (!target)
      return make_error(ErrorKind::failed, why);
    Registers registers;
    registers.machine_.reset(target->createTargetMachine(module.getTargetTriple(), plain.cpu, plain.features,
                                                         llvm::TargetOptions(), llvm::Reloc::PIC_));
    registers.plain_ = plain;
    registers.module_ = std::make_unique<llvm::Module>("registers", module.getContext());
    registers.module_->setTargetTriple(module.getTargetTriple());
    registers.module_->setDataLayout(module.getDataLayout());
    registers.machines_ = std::make_unique<llvm::MachineModuleInfo>(registers.machine_.get());
    return registers;
  }

  // How `function`, or a call in it, returns `signature`'s result.
  Result<Form> form(const llvm::Function& function, llvm::FunctionType* signature,
                    llvm::CallingConv::ID convention) {
    return form_of(probe(function, false), signature, convention);
  }

  // The same, had `function` no attribute of its own.
  Result<Form> plain_form(const llvm::Function& function, llvm::FunctionType* signature,
                          llvm::CallingConv::ID convention) {
    return form_of(probe(function, true), signature, convention);
  }

  // Does an argument need several registers, so that more features may change them?
  bool moves_arguments(const llvm::Function& function, llvm::FunctionType* signature,
                       llvm::CallingConv::ID convention) {
    llvm::Function& probed = probe(function, false);
    for (llvm::Type* parameter : signature->params())
      for (const Leaf& leaf : leaves_of(probed, parameter, convention))
        if (leaf.registers > 1 && widest_vector(leaf.type) > width_of_all)
          return true;
    return false;
  }

  // One register and the pieces of the plain form that it does not hold.
  std::optional<Form> both(const llvm::Function& function, const Form& plain, llvm::FunctionType* signature,
                           llvm::CallingConv::ID convention) {
    if (plain.kind != Form::pieces || !signature->getReturnType()->isVectorTy())
      return std::nullopt;
    std::vector<llvm::Type*> types{signature->getReturnType()};
    const llvm::ArrayRef<llvm::Type*> all = llvm::cast<llvm::StructType>(plain.type)->elements();
    types.insert(types.end(), all.begin() + 1, all.end());
    Form form{Form::both, llvm::StructType::get(function.getContext(), types), plain.leaves};
    llvm::Function& probed = probe(function, false);
    const std::optional<std::vector<llvm::MVT>> registers =
        returned_in(probed, form.type, convention, signature->isVarArg());
    return registers && registers->size() == types.size() ? std::optional(form) : std::nullopt;
  }

  // Can `function` return in the registers of the plain form? It may have been denied some.
  bool can_return(const llvm::Function& function, const Form& plain, llvm::FunctionType* signature,
                  llvm::CallingConv::ID convention) {
    llvm::Type* type = plain.kind == Form::as_it_is ? signature->getReturnType() : plain.type;
    return returned_in(probe(function, false), type, convention, signature->isVarArg()) ==
           returned_in(probe(function, true), type, convention, signature->isVarArg());
  }

private:
  Registers() = default;

  // A function with the attributes that decide about registers.
  llvm::Function& probe(const llvm::Function& function, bool plain) {
    llvm::AttrBuilder attributes(function.getContext(), function.getAttributes().getFnAttrs());
    if (plain)
      for (const auto& [name, value] :
           {std::pair("target-cpu", &plain_.cpu), std::pair("tune-cpu", &plain_.tune),
            std::pair("target-features", &plain_.features)}) {
        attributes.removeAttribute(name);
        if (!value->empty())
          attributes.addAttribute(name, *value);
      }
    llvm::Function*& known = probes_[llvm::AttributeSet::get(function.getContext(), attributes)];
    if (!known) {
      auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(function.getContext()), false);
      known = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "", *module_);
      known->addFnAttrs(attributes);
    }
    return *known;
  }

  const llvm::TargetLowering& lowering_of(const llvm::Function& probed) const {
    return *machine_->getSubtargetImpl(probed)->getTargetLowering();
  }

  // The types of the registers; nothing if they do not suffice.
  std::optional<std::vector<llvm::MVT>> returned_in(llvm::Function& probed, llvm::Type* type,
                                                    llvm::CallingConv::ID convention, bool variadic) {
    const llvm::TargetLowering& lowering = lowering_of(probed);
    llvm::SmallVector<llvm::ISD::OutputArg> out;
    llvm::GetReturnInfo(convention, type, llvm::AttributeList(), out, lowering, module_->getDataLayout());
    llvm::MachineFunction& machine = machines_->getOrCreateMachineFunction(probed);
    if (!lowering.CanLowerReturn(convention, machine, variadic, out, module_->getContext(), type))
      return std::nullopt;
    std::vector<llvm::MVT> registers;
    for (const llvm::ISD::OutputArg& each : out)
      registers.push_back(each.VT);
    return registers;
  }

  void add_leaves(const llvm::Function& probed, llvm::Type* type, llvm::CallingConv::ID convention,
                  std::vector<unsigned>& path, std::vector<Leaf>& leaves) const {
    if (type->isAggregateType()) {
      const unsigned count = type->isStructTy() ? type->getStructNumElements()
                                                : static_cast<unsigned>(type->getArrayNumElements());
      for (unsigned i = 0; i < count; ++i) {
        path.push_back(i);
        add_leaves(probed, llvm::GetElementPtrInst::getTypeAtIndex(type, uint64_t{i}), convention, path,
                   leaves);
        path.pop_back();
      }
      return;
    }
    const llvm::TargetLowering& lowering = lowering_of(probed);
    const llvm::EVT value = lowering.getValueType(module_->getDataLayout(), type, true);
    leaves.push_back(
        {path, type, lowering.getNumRegistersForCallingConv(module_->getContext(), convention, value)});
  }

  std::vector<Leaf> leaves_of(const llvm::Function& probed, llvm::Type* type,
                              llvm::CallingConv::ID convention) const {
    std::vector<unsigned> path;
    std::vector<Leaf> leaves;
    add_leaves(probed, type, convention, path, leaves);
    return leaves;
  }

  static std::vector<llvm::Type*> pieces_of(const std::vector<Leaf>& leaves) {
    std::vector<llvm::Type*> pieces;
    for (const Leaf& leaf : leaves) {
      llvm::Type* piece = leaf.type;
      if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(leaf.type); vector && leaf.registers > 1)
        piece = leaf.registers == vector->getNumElements()
                    ? vector->getElementType()
                    : llvm::FixedVectorType::get(vector->getElementType(),
                                                 vector->getNumElements() / leaf.registers);
      pieces.insert(pieces.end(), llvm::isa<llvm::FixedVectorType>(leaf.type) ? leaf.registers : 1, piece);
    }
    return pieces;
  }

  Result<Form> form_of(llvm::Function& probed, llvm::FunctionType* signature,
                       llvm::CallingConv::ID convention) {
    llvm::Type* type = signature->getReturnType();
    if (widest_vector(type) <= width_of_all)
      return Form();
    const std::optional<std::vector<llvm::MVT>> registers =
        returned_in(probed, type, convention, signature->isVarArg());
    if (!registers)
      return Form{Form::memory, llvm::Type::getVoidTy(type->getContext()), {}};
    std::vector<Leaf> leaves = leaves_of(probed, type, convention);
    if (llvm::all_of(leaves, [](const Leaf& leaf) { return leaf.registers == 1; }))
      return Form();
    Form form{Form::pieces, llvm::StructType::get(type->getContext(), pieces_of(leaves)), std::move(leaves)};
    if (returned_in(probed, form.type, convention, signature->isVarArg()) != registers)
      return make_error(ErrorKind::failed, "a returned vector in registers that have no type in IR");
    return form;
  }

  std::unique_ptr<llvm::TargetMachine> machine_;
  TargetAttributes plain_;
  std::unique_ptr<llvm::Module> module_;
  std::unique_ptr<llvm::MachineModuleInfo> machines_;
  llvm::DenseMap<llvm::AttributeSet, llvm::Function*> probes_;
};

std::vector<llvm::Value*> split(llvm::IRBuilder<>& builder, llvm::Value* whole,
                                const std::vector<Leaf>& leaves) {
  std::vector<llvm::Value*> pieces;
  for (const Leaf& leaf : leaves) {
    llvm::Value* value = leaf.path.empty() ? whole : builder.CreateExtractValue(whole, leaf.path);
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(leaf.type);
    const unsigned count = vector ? leaf.registers : 1;
    const unsigned width = vector ? vector->getNumElements() / count : 0;
    for (unsigned i = 0; i < count; ++i)
      pieces.push_back(
          count == 1   ? value
          : width == 1 ? builder.CreateExtractElement(value, i)
                       : builder.CreateShuffleVector(value, llvm::createSequentialMask(i * width, width, 0)));
  }
  return pieces;
}

// The value that `pieces`, a structure, was split from.
llvm::Value* join(llvm::IRBuilder<>& builder, llvm::Value* pieces, llvm::Type* type,
                  const std::vector<Leaf>& leaves) {
  llvm::Value* whole = llvm::PoisonValue::get(type);
  unsigned next = 0;
  for (const Leaf& leaf : leaves) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(leaf.type);
    std::vector<llvm::Value*> own;
    for (unsigned i = 0; i < (vector ? leaf.registers : 1); ++i)
      own.push_back(builder.CreateExtractValue(pieces, next++));
    llvm::Value* value = own.front();
    if (own.size() > 1 && own.front()->getType()->isVectorTy()) {
      value = llvm::concatenateVectors(builder, own);
    } else if (own.size() > 1) {
      value = llvm::PoisonValue::get(leaf.type);
      for (unsigned i = 0; i < own.size(); ++i)
        value = builder.CreateInsertElement(value, own[i], i);
    }
    whole = leaf.path.empty() ? value : builder.CreateInsertValue(whole, value, leaf.path);
  }
  return whole;
}

// Parameters, with their attributes, where the result is perhaps in memory. What Clang says of a returned
// vector is lost.
struct Signature {
  llvm::FunctionType* type;
  llvm::AttributeList attributes;
};

Signature rewrite(llvm::FunctionType* type, const llvm::AttributeList& attributes, const Form& form,
                  const llvm::DataLayout& layout) {
  llvm::LLVMContext& context = type->getContext();
  std::vector<llvm::Type*> parameters(type->param_begin(), type->param_end());
  std::vector<llvm::AttributeSet> sets;
  if (form.kind == Form::memory) {
    parameters.insert(parameters.begin(), llvm::PointerType::get(context, layout.getAllocaAddrSpace()));
    llvm::AttrBuilder result(context);
    result.addStructRetAttr(type->getReturnType());
    result.addAttribute(llvm::Attribute::NoAlias);
    result.addAlignmentAttr(layout.getABITypeAlign(type->getReturnType()));
    sets.push_back(llvm::AttributeSet::get(context, result));
  }
  for (unsigned i = 0; llvm::AttributeList::FirstArgIndex + 1 + i < attributes.getNumAttrSets(); ++i)
    sets.push_back(attributes.getParamAttrs(i).removeAttribute(context, llvm::Attribute::Returned));
  llvm::AttributeSet own = attributes.getFnAttrs();
  if (form.kind == Form::memory) // a function that only computes now writes its result
    own = own.removeAttribute(context, llvm::Attribute::Memory);
  return {llvm::FunctionType::get(form.type, parameters, type->isVarArg()),
          llvm::AttributeList::get(context, own, {}, sets)};
}

// What was decided of one module, and its execution.
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
  // Do both sides of all calls of the function agree on every target as they are? Only this module calls it,
  // and a caller inlines it, has its features, or has the same registers for the result.
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
    // The same type on both sides, where it is the same ABI: else LLVM would not know that it calls it.
    if (const auto known = callee ? decided_.find(callee) : decided_.end();
        known != decided_.end() && known->second.kind == Form::both && form.kind == Form::as_it_is)
      form = known->second;
    if (form.kind != Form::as_it_is)
      calls_.emplace_back(&call, std::move(form));
    return {};
  }

  // Space for the result of a call, in the caller's frame.
  static llvm::Value* place_for(llvm::CallBase& call) {
    llvm::BasicBlock& entry = call.getFunction()->getEntryBlock();
    const llvm::DataLayout& layout = call.getModule()->getDataLayout();
    return new llvm::AllocaInst(call.getType(), layout.getAllocaAddrSpace(), nullptr,
                                layout.getPrefTypeAlign(call.getType()), "", entry.getFirstNonPHIOrDbg());
  }

  Result<void> rewrite_call(llvm::CallBase& call, const Form& form) {
    if (call.isMustTailCall())
      return make_error(ErrorKind::failed, "a call that must be a tail call and returns a wide vector");
    const Signature to = rewrite(call.getFunctionType(), call.getAttributes(), form, module_.getDataLayout());
    std::vector<llvm::Value*> arguments(call.arg_begin(), call.arg_end());
    llvm::Value* place = form.kind == Form::memory ? place_for(call) : nullptr;
    if (place)
      arguments.insert(arguments.begin(), place);
    llvm::SmallVector<llvm::OperandBundleDef> bundles;
    call.getOperandBundlesAsDefs(bundles);
    llvm::CallBase* made;
    llvm::BasicBlock::iterator after;
    if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call)) {
      // The result is put together on the way to the normal destination alone.
      llvm::BasicBlock* normal =
          llvm::BasicBlock::Create(call.getContext(), "", call.getFunction(), invoke->getNormalDest());
      invoke->getNormalDest()->replacePhiUsesWith(call.getParent(), normal);
      after = llvm::BranchInst::Create(invoke->getNormalDest(), normal)->getIterator();
      made = llvm::InvokeInst::Create(to.type, call.getCalledOperand(), normal, invoke->getUnwindDest(),
                                      arguments, bundles, "", call.getIterator());
    } else if (llvm::isa<llvm::CallInst>(call)) {
      auto* plain = llvm::CallInst::Create(to.type, call.getCalledOperand(), arguments, bundles, "",
                                           call.getIterator());
      plain->setTailCallKind(place ? llvm::CallInst::TCK_None
                                   : llvm::cast<llvm::CallInst>(call).getTailCallKind());
      made = plain;
      after = call.getIterator();
    } else {
      return make_error(ErrorKind::failed, "an assembly goto that returns a wide vector");
    }
    made->setCallingConv(call.getCallingConv());
    made->setAttributes(to.attributes);
    made->copyMetadata(call);
    made->setDebugLoc(call.getDebugLoc());
    llvm::IRBuilder<> builder(call.getContext());
    builder.SetInsertPoint(after->getParent(), after);
    builder.SetCurrentDebugLocation(call.getDebugLoc());
    llvm::Value* result = form.kind == Form::memory ? builder.CreateLoad(call.getType(), place)
                          : form.kind == Form::both ? builder.CreateExtractValue(made, 0)
                                                    : join(builder, made, call.getType(), form.leaves);
    call.replaceAllUsesWith(result);
    call.eraseFromParent();
    return {};
  }

  static void rewrite_return(llvm::ReturnInst& old, const Form& form, llvm::Argument* place) {
    llvm::IRBuilder<> builder(&old);
    llvm::Value* whole = old.getReturnValue();
    if (place) {
      builder.CreateStore(whole, place);
      builder.CreateRetVoid();
    } else {
      std::vector<llvm::Value*> pieces = split(builder, whole, form.leaves);
      if (form.kind == Form::both)
        pieces.front() = whole;
      llvm::Value* result = llvm::PoisonValue::get(form.type);
      for (unsigned i = 0; i < pieces.size(); ++i)
        result = builder.CreateInsertValue(result, pieces[i], i);
      builder.CreateRet(result);
    }
    old.eraseFromParent();
  }

  void rewrite_function(llvm::Function& old, const Form& form) {
    const Signature to = rewrite(old.getFunctionType(), old.getAttributes(), form, module_.getDataLayout());
    llvm::Function* made = llvm::Function::Create(to.type, old.getLinkage(), old.getAddressSpace());
    module_.getFunctionList().insert(old.getIterator(), made);
    made->copyAttributesFrom(&old);
    made->setAttributes(to.attributes);
    made->setComdat(old.getComdat());
    made->copyMetadata(&old, 0);
    made->takeName(&old);
    made->splice(made->begin(), &old);
    llvm::Argument* place = form.kind == Form::memory ? made->getArg(0) : nullptr;
    for (unsigned i = 0; i < old.arg_size(); ++i)
      old.getArg(i)->replaceAllUsesWith(made->getArg(i + (place ? 1 : 0)));
    for (llvm::BasicBlock& block : *made)
      if (auto* last = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
        rewrite_return(*last, form, place);
    old.replaceAllUsesWith(made);
    old.eraseFromParent();
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
  if (target::isa_levels(arch).empty()) // a GPU: all of its code is made for it at once
    return 0;
  if (llvm::none_of(module, [](const llvm::Function& function) {
        return !function.isIntrinsic() && widest_vector_passed(function) > width_of_all;
      }))
    return 0;
  XAAS_TRY(Registers registers, Registers::create(module, plain));
  return Rewriter(module, registers, is_version).run();
}

} // namespace xaas::ir
