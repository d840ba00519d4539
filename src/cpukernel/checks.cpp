// Problem: an author of kernels wants to know which access is out of bounds, or races with which other one.
//
//     a[i] = s[t];                                        // app.cu:12
//
// becomes, in a kernel with checks,
//
//     %p = call ptr @xaas.thread.check.access(ptr %s.t, ptr @s, i64 0, ptr @place0)    ; read 4, "app.cu", 12
//     %v = load float, ptr %p
//     %q = call ptr @xaas.thread.check.access(ptr %a.i, ptr null, i64 %bits, ptr @place1)
//     store float %v, ptr %q
//
// Approach: checks are inserted when a kernel is one function, whose variables are registers or memory, and
// before anything is simplified: accesses are then those of the source, each with its line. The check returns
// the address, or that of other memory if the access is not possible, so that the program goes on. Kernels
// with checks have the form in which each thread has its own place in the code (kernel.cpp). The calls, which
// write memory, keep the loops over threads there from being taken for independent (rows.cpp).
//
// The check is an intrinsic of the thread like others, so that regions.cpp gives it the thread's place.
//
// A thread's own variables are checked only where an index is not constant. What is not inlined (recursive
// functions, those called through pointers, CUDA's mathematical functions) has no checks.
//
// Rejected: checks before inlining. Each variable of the source is in memory then, so that most checks would
// be of what becomes a register; and a function would need its thread as an argument.
#include "checks.h"
#include "library.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <array>

namespace xaas::cpukernel {

namespace {

constexpr const char* function_metadata = "xaas.function";
constexpr const char* place_metadata = "xaas.place";

// As in library/checks.h.
enum class Access : uint32_t { load, store, atomic };
enum class Object : uint32_t { unknown, shared, dynamic, global, local };

constexpr const char* access_check = "xaas.thread.check.access";
constexpr const char* range_check = "xaas.thread.check.range";
constexpr const char* meeting_check_name = "xaas_check_meeting";

// LLVM joins equal ones.
llvm::Constant* text(llvm::Module& module, llvm::StringRef value) {
  llvm::Constant* const bytes = llvm::ConstantDataArray::getString(module.getContext(), value);
  auto* variable = new llvm::GlobalVariable(module, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                            bytes, "xaas.text"); // the module owns it
  variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return variable;
}

// A source place.
struct Source {
  std::string file, function;
  unsigned line = 0, column = 0;
};

// True for a header of CUDA's or Clang's, by its name: the place of an atomic function is that of its call.
bool is_of_toolkit(const llvm::DILocation& location) {
  const llvm::StringRef file = location.getFilename(), name = llvm::sys::path::filename(file);
  static constexpr llvm::StringLiteral headers[] = {"device_atomic_functions.hpp",
                                                    "device_functions.hpp",
                                                    "device_double_functions.hpp",
                                                    "math_functions.hpp",
                                                    "cuda_fp16.hpp",
                                                    "cuda_bf16.hpp",
                                                    "cuda_fp8.hpp",
                                                    "mma.hpp",
                                                    "vector_functions.hpp"};
  return name.starts_with("__clang_") || file.contains("/lib/clang/") ||
         file.contains("/cooperative_groups/") || (name.starts_with("sm_") && name.ends_with(".hpp")) ||
         llvm::is_contained(headers, name);
}

Source source_of(const llvm::Instruction& instruction) {
  Source source;
  const llvm::DILocation* best = nullptr;
  for (const llvm::DILocation* each = instruction.getDebugLoc(); each; each = each->getInlinedAt())
    if (each->getLine() != 0 && (!best || is_of_toolkit(*best)))
      best = each;
  if (best) {
    source = {best->getFilename().str(), "", best->getLine(), best->getColumn()};
    if (const llvm::DISubprogram* function = best->getScope()->getSubprogram())
      source.function = function->getName().str();
  } else if (const llvm::MDNode* function = instruction.getMetadata(function_metadata)) {
    source.function = llvm::cast<llvm::MDString>(function->getOperand(0))->getString().str();
  }
  if (source.function.empty()) {
    llvm::StringRef name = instruction.getFunction()->getName();
    name.consume_front("device.");
    source.function = llvm::demangle(name.str());
  }
  return source;
}

class Checker {
public:
  Checker(llvm::Function& kernel, const SharedVariables& shared)
      : kernel_(kernel), shared_(shared), module_(*kernel.getParent()), context_(module_.getContext()),
        layout_(module_.getDataLayout()), pointer_(llvm::PointerType::get(context_, 0)),
        word_(llvm::Type::getInt32Ty(context_)), size_(llvm::Type::getInt64Ty(context_)) {}

  void run() {
    declare();
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Instruction& instruction : llvm::instructions(kernel_))
      instructions.push_back(&instruction);
    for (llvm::Instruction* instruction : instructions)
      visit(*instruction);
  }

private:
  // The intrinsics, and the functions of the run-time library by which regions.cpp replaces them.
  void declare() {
    declare_both(access_check, pointer_, {pointer_, pointer_, size_, pointer_});
    declare_both(range_check, size_, {pointer_, pointer_, size_, pointer_});
    provide(meeting_check_name, llvm::Type::getVoidTy(context_), {pointer_, pointer_, pointer_, pointer_});
  }

  void declare_both(const char* intrinsic, llvm::Type* result, std::vector<llvm::Type*> parameters) {
    auto* function = llvm::cast<llvm::Function>(
        module_.getOrInsertFunction(intrinsic, llvm::FunctionType::get(result, parameters, false))
            .getCallee());
    function->addFnAttr(llvm::Attribute::NoUnwind);
    const std::array<llvm::Type*, 5> place = {pointer_, word_, word_, word_, word_};
    parameters.insert(parameters.begin(), place.begin(), place.end());
    provide(thread_prefix + intrinsic_name(*function), result, parameters);
  }

  void provide(const std::string& name, llvm::Type* result, const std::vector<llvm::Type*>& parameters) {
    auto* function = llvm::cast<llvm::Function>(
        module_.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false)).getCallee());
    function->addFnAttr(provided_attribute);
    function->addFnAttr(llvm::Attribute::NoUnwind);
  }

  void visit(llvm::Instruction& instruction) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
      check(*load, load->getPointerOperandIndex(), load->getType(), load->getAlign(),
            load->isAtomic() ? Access::atomic : Access::load);
    else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      check(*store, store->getPointerOperandIndex(), store->getValueOperand()->getType(), store->getAlign(),
            store->isAtomic() ? Access::atomic : Access::store, store->getValueOperand());
    else if (auto* operation = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
      check(*operation, operation->getPointerOperandIndex(), operation->getType(), operation->getAlign(),
            Access::atomic);
    else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
      check(*exchange, exchange->getPointerOperandIndex(), exchange->getNewValOperand()->getType(),
            exchange->getAlign(), Access::atomic);
    else if (auto* range = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction))
      check_ranges(*range);
    else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
      note_place(*call);
  }

  void note_place(llvm::CallBase& call) {
    const llvm::Function* callee = callee_of(call);
    if (callee && !intrinsic_name(*callee).empty() && !callee->doesNotAccessMemory())
      call.setMetadata(place_metadata,
                       llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(place(call, {}))));
  }

  // What a pointer leads to.
  struct Target {
    Object object = Object::unknown;
    llvm::Value* start = nullptr;
    uint64_t size = 0;
    bool is_sure = false; // nobody else's, and inside
  };

  Target target_of(llvm::Value* pointer, uint64_t bytes) const {
    llvm::Value* const object = llvm::getUnderlyingObject(pointer, 0);
    Target target;
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
      target.is_sure = argument->hasByValAttr(); // only read, at places that the compiler chose
      return target;
    }
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(object)) {
      const std::optional<llvm::TypeSize> size = variable->getAllocationSize(layout_);
      if (!size || size->isScalable())
        return target;
      target = {Object::local, object, size->getFixedValue()};
      llvm::APInt offset(64, 0);
      target.is_sure = pointer->stripAndAccumulateConstantOffsets(layout_, offset, true) == object &&
                       !offset.isNegative() && offset.ule(target.size) &&
                       bytes <= target.size - offset.getZExtValue();
    } else if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object)) {
      const bool is_dynamic = llvm::is_contained(shared_.dynamic, global);
      if (!is_dynamic && global->isDeclaration())
        return target;
      target = {is_dynamic                                  ? Object::dynamic
                : llvm::is_contained(shared_.fixed, global) ? Object::shared
                                                            : Object::global,
                object, is_dynamic ? 0 : layout_.getTypeAllocSize(global->getValueType()).getFixedValue()};
    }
    return target;
  }

  // What the place of an access says of it.
  struct Description {
    uint64_t size = 0, alignment = 1;
    Access access = Access::load;
    Target target = {};
    bool has_value = false;
  };

  llvm::GlobalVariable* place(const llvm::Instruction& instruction, const Description& description) {
    const Source source = source_of(instruction);
    const auto word = [&](uint64_t value) { return llvm::ConstantInt::get(word_, value); };
    llvm::Constant* const value = llvm::ConstantStruct::getAnon(
        {text(module_, source.file), text(module_, source.function), word(source.line), word(source.column),
         word(description.size), word(description.alignment), word(static_cast<uint32_t>(description.access)),
         word(static_cast<uint32_t>(description.target.object)),
         llvm::ConstantInt::get(size_, description.target.size), word(description.has_value), word(0)});
    return new llvm::GlobalVariable(module_, value->getType(), false, llvm::GlobalValue::PrivateLinkage,
                                    value, "xaas.place"); // the module owns it
  }

  llvm::Value* start_of(const Target& target) const {
    return target.start ? target.start : llvm::ConstantPointerNull::get(pointer_);
  }

  void check(llvm::Instruction& access, unsigned operand, llvm::Type* type, llvm::Align alignment,
             Access kind, llvm::Value* stored = nullptr) {
    llvm::Value* const pointer = access.getOperand(operand);
    const uint64_t bytes = layout_.getTypeStoreSize(type).getFixedValue();
    Description description{bytes, 1, kind, target_of(pointer, bytes)};
    if (bytes == 0 || description.target.is_sure)
      return;
    // A GPU wants no more alignment than an access is large.
    description.alignment = std::min<uint64_t>(alignment.value(), llvm::PowerOf2Ceil(bytes));
    llvm::IRBuilder<> builder(&access);
    llvm::Value* value = stored && kind == Access::store ? bits_of(builder, stored) : nullptr;
    description.has_value = value != nullptr;
    if (!value)
      value = builder.getInt64(0);
    access.setOperand(
        operand, builder.CreateCall(module_.getFunction(access_check), {pointer, start_of(description.target),
                                                                        value, place(access, description)}));
  }

  // A value of at most 8 bytes, as they are in memory.
  llvm::Value* bits_of(llvm::IRBuilder<>& builder, llvm::Value* value) const {
    llvm::Type* const type = value->getType();
    if (type->isPointerTy())
      return builder.CreatePtrToInt(value, size_);
    if (type->isAggregateType() || layout_.getTypeSizeInBits(type).isScalable() ||
        layout_.getTypeSizeInBits(type) > 64 ||
        layout_.getTypeSizeInBits(type) != layout_.getTypeStoreSizeInBits(type))
      return nullptr;
    if (type->getScalarType()->isPointerTy())
      return nullptr;
    llvm::Type* const integer = builder.getIntNTy(static_cast<unsigned>(layout_.getTypeSizeInBits(type)));
    return builder.CreateZExt(builder.CreateBitCast(value, integer), size_);
  }

  void check_ranges(llvm::MemIntrinsic& range) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(range.getLength());
    const uint64_t bytes = length ? length->getZExtValue() : UINT64_MAX;
    check_range(range, range.getRawDest(), bytes, Access::store);
    if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&range))
      check_range(range, transfer->getRawSource(), bytes, Access::load);
  }

  void check_range(llvm::MemIntrinsic& range, llvm::Value* pointer, uint64_t bytes, Access kind) {
    const Target target = target_of(pointer, bytes);
    if (bytes == 0 || target.is_sure)
      return;
    llvm::IRBuilder<> builder(&range);
    llvm::Value* const length = builder.CreateZExtOrTrunc(range.getLength(), size_);
    llvm::Value* const allowed =
        builder.CreateCall(module_.getFunction(range_check),
                           {pointer, start_of(target), length, place(range, {0, 1, kind, target})});
    range.setLength(builder.CreateZExtOrTrunc(allowed, range.getLength()->getType()));
  }

  llvm::Function& kernel_;
  const SharedVariables& shared_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const llvm::DataLayout& layout_;
  llvm::PointerType* pointer_;
  llvm::Type* word_;
  llvm::Type* size_;
};

} // namespace

void keep_places(llvm::Module& module) {
  llvm::stripNonLineTableDebugInfo(module);
  llvm::LLVMContext& context = module.getContext();
  for (llvm::Function& function : module) {
    if (function.isDeclaration())
      continue;
    llvm::MDNode* const name =
        llvm::MDNode::get(context, llvm::MDString::get(context, llvm::demangle(function.getName())));
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (!instruction.getDebugLoc() && instruction.mayReadOrWriteMemory() &&
          !instruction.getMetadata(function_metadata))
        instruction.setMetadata(function_metadata, name);
  }
}

void add_checks(llvm::Function& kernel, const SharedVariables& shared) {
  Checker(kernel, shared).run();
}

llvm::Constant* place_of(const llvm::Instruction& call) {
  const llvm::MDNode* place = call.getMetadata(place_metadata);
  return place ? llvm::cast<llvm::ConstantAsMetadata>(place->getOperand(0))->getValue() : nullptr;
}

llvm::Value* without_check(llvm::Value* pointer) {
  auto* call = llvm::dyn_cast_or_null<llvm::CallInst>(pointer);
  const llvm::Function* callee = call ? callee_of(*call) : nullptr;
  return callee && callee->getName() == access_check ? call->getArgOperand(0) : pointer;
}

llvm::Instruction& start_of_access(llvm::Instruction& access) {
  llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&access);
  return without_check(pointer) == pointer ? access : *llvm::cast<llvm::Instruction>(pointer);
}

llvm::Function* meeting_check(const llvm::Module& module) {
  return module.getFunction(meeting_check_name);
}

llvm::Constant* describe_checks(llvm::Module& module, const std::string& name, const Nodes& nodes,
                                const SharedPlaces& places, const SharedVariables& shared) {
  llvm::LLVMContext& context = module.getContext();
  llvm::PointerType* const pointer = llvm::PointerType::get(context, 0);
  const auto size = [&](uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value);
  };
  const auto constant = [&](llvm::Constant* value) {
    return new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value);
  };
  std::vector<llvm::Constant*> variables, stops;
  std::vector<std::pair<uint64_t, const llvm::GlobalVariable*>> sorted; // the map's order is of addresses
  for (const auto& [variable, offset] : places)
    sorted.emplace_back(offset, variable);
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->getName() < b.second->getName();
  });
  for (const auto& [offset, variable] : sorted) {
    const bool is_dynamic = llvm::is_contained(shared.dynamic, variable);
    variables.push_back(llvm::ConstantStruct::getAnon(
        {text(module, llvm::demangle(variable->getName())), size(offset),
         size(is_dynamic ? 0 : module.getDataLayout().getTypeAllocSize(variable->getValueType()))}));
  }
  for (const Node& node : nodes.nodes)
    stops.push_back(node.place ? node.place : llvm::ConstantPointerNull::get(pointer));
  llvm::StructType* const entry = llvm::StructType::get(
      context, {pointer, llvm::Type::getInt64Ty(context), llvm::Type::getInt64Ty(context)});
  return constant(llvm::ConstantStruct::getAnon(
      {text(module, llvm::demangle(name)),
       constant(llvm::ConstantArray::get(llvm::ArrayType::get(entry, variables.size()), variables)),
       constant(llvm::ConstantArray::get(llvm::ArrayType::get(pointer, stops.size()), stops)),
       llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), variables.size())}));
}

} // namespace xaas::cpukernel
