#include "vector_rewriting.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <vector>

namespace xaas::ir {

namespace {

// The pieces of a value, one for each register.
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

// A function type with its attributes. A result in memory adds a parameter. Clang's attributes of a returned
// vector do not apply to its pieces, and are dropped.
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

// Allocates space for the result of a call in the caller's frame.
llvm::Value* place_for(llvm::CallBase& call) {
  llvm::BasicBlock& entry = call.getFunction()->getEntryBlock();
  const llvm::DataLayout& layout = call.getModule()->getDataLayout();
  return new llvm::AllocaInst(call.getType(), layout.getAllocaAddrSpace(), nullptr,
                              layout.getPrefTypeAlign(call.getType()), "", entry.getFirstNonPHIOrDbg());
}

void rewrite_return(llvm::ReturnInst& old, const Form& form, llvm::Argument* place) {
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

} // namespace

Result<void> rewrite_call(llvm::CallBase& call, const Form& form) {
  if (call.isMustTailCall())
    return make_error(ErrorKind::failed, "a call that must be a tail call and returns a wide vector");
  const Signature to =
      rewrite(call.getFunctionType(), call.getAttributes(), form, call.getModule()->getDataLayout());
  std::vector<llvm::Value*> arguments(call.arg_begin(), call.arg_end());
  llvm::Value* place = form.kind == Form::memory ? place_for(call) : nullptr;
  if (place)
    arguments.insert(arguments.begin(), place);
  llvm::SmallVector<llvm::OperandBundleDef> bundles;
  call.getOperandBundlesAsDefs(bundles);
  llvm::CallBase* made;
  llvm::BasicBlock::iterator after;
  if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&call)) {
    // Only the way to the normal destination joins the pieces.
    llvm::BasicBlock* normal =
        llvm::BasicBlock::Create(call.getContext(), "", call.getFunction(), invoke->getNormalDest());
    invoke->getNormalDest()->replacePhiUsesWith(call.getParent(), normal);
    after = llvm::BranchInst::Create(invoke->getNormalDest(), normal)->getIterator();
    made = llvm::InvokeInst::Create(to.type, call.getCalledOperand(), normal, invoke->getUnwindDest(),
                                    arguments, bundles, "", call.getIterator());
  } else if (llvm::isa<llvm::CallInst>(call)) {
    auto* plain =
        llvm::CallInst::Create(to.type, call.getCalledOperand(), arguments, bundles, "", call.getIterator());
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

void rewrite_function(llvm::Function& old, const Form& form) {
  const Signature to =
      rewrite(old.getFunctionType(), old.getAttributes(), form, old.getParent()->getDataLayout());
  llvm::Function* made = llvm::Function::Create(to.type, old.getLinkage(), old.getAddressSpace());
  old.getParent()->getFunctionList().insert(old.getIterator(), made);
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

} // namespace xaas::ir
