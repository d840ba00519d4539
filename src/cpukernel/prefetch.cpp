// Problem: in a loop over the grid's threads, a block reads a row of neighbouring elements, and then the next
// row at a distance. CPUs prefetch neighbouring lines, and learn nothing from the rows before.
//
//     for (i = blockIdx.x * 1024; i < n; i += gridDim.x * 1024)
//       for x in 0 .. 1024: sum[x] += a[i + x] * b[i + x]
//
// becomes
//
//     for (i = ...; i < n; i += step)
//       prefetch the first lines from &a[i + step], &b[i + step]
//       for x in 0 .. 1024: sum[x] += a[i + x] * b[i + x]
//
// Approach: a part of a region that is cut at a loop (interchange.cpp) returns the uniform values with which
// it runs again. The addresses of its loads are computed with these values in place of its parameters. The
// first lines of a row suffice; while they are read, the CPU recognizes the row. Prefetching does nothing
// where an address is wrong, behind the end of an array or after the last iteration.
//
// Rejected: prefetching in the loop over the threads, which LLVM then does not vectorize; prefetching in all
// loops around rows: LLVM keeps no values in registers across it, which halves the speed of a stencil whose
// rows are in a cache.
#include "prefetch.h"
#include "affine.h"
#include "regions.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <vector>

namespace xaas::cpukernel {

namespace {

constexpr unsigned line_bytes = 64;
// Lines of each row, of which it has this many times as many at least.
constexpr unsigned most_lines = 8;
constexpr unsigned least_share = 8;
// A CPU follows few rows at once.
constexpr size_t most_rows = 8;

class Prefetcher {
public:
  Prefetcher(llvm::Function& part, unsigned place, unsigned uniform)
      : part_(part), values_(Place(part, place)), uniform_(uniform) {}

  llvm::Function* run(uint32_t code) {
    find_next(code);
    if (next_.empty())
      return nullptr;
    find_rows();
    return rows_.empty() ? nullptr : make();
  }

private:
  struct Row {
    llvm::Value* address;
    uint64_t element_bytes;
    llvm::Value* base; // with constant offsets removed
  };

  // The uniform values of the next iteration that differ from those of this one.
  void find_next(uint32_t code) {
    for (llvm::BasicBlock& block : part_)
      if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
        if (const llvm::BasicBlock* from = way_of(code, *end))
          for (unsigned k = 0; k < uniform_; ++k)
            add_next(k, *end, *from);
  }

  // The block that comes to the end with a code; null if there is none, or several.
  static const llvm::BasicBlock* way_of(uint32_t code, llvm::ReturnInst& end) {
    const auto* codes = llvm::dyn_cast_or_null<llvm::PHINode>(element(end, 0));
    if (!codes || codes->getParent() != end.getParent())
      return nullptr;
    const llvm::BasicBlock* found = nullptr;
    for (unsigned i = 0; i < codes->getNumIncomingValues(); ++i) {
      const auto* number = llvm::dyn_cast<llvm::ConstantInt>(codes->getIncomingValue(i));
      if (!number || number->getZExtValue() != code)
        continue;
      if (found)
        return nullptr;
      found = codes->getIncomingBlock(i);
    }
    return found;
  }

  static llvm::Value* element(llvm::ReturnInst& end, unsigned index) {
    return llvm::FindInsertedValue(end.getReturnValue(), {index});
  }

  void add_next(unsigned k, llvm::ReturnInst& end, const llvm::BasicBlock& from) {
    const unsigned elements = part_.getReturnType()->getStructNumElements();
    llvm::Value* value = element(end, elements - uniform_ + k);
    if (auto* phi = llvm::dyn_cast_or_null<llvm::PHINode>(value); phi && phi->getParent() == end.getParent())
      value = phi->getIncomingValueForBlock(&from);
    llvm::Argument* const now = part_.getArg(static_cast<unsigned>(part_.arg_size()) - uniform_ + k);
    if (!value || value == now)
      return;
    const std::optional<Affine> form = values_.find(value);
    if (form && form->coefficient == 0)
      next_.push_back({now, value});
  }

  // How far the addresses of neighbouring threads are from each other; nothing if it is not a constant.
  std::optional<int64_t> stride(llvm::Value* pointer) {
    if (const std::optional<Affine> form = values_.find(pointer))
      return form->coefficient;
    auto* address = llvm::dyn_cast<llvm::GEPOperator>(pointer);
    if (!address)
      return {};
    std::optional<int64_t> sum = stride(address->getPointerOperand());
    llvm::SmallMapVector<llvm::Value*, llvm::APInt, 4> variable;
    llvm::APInt constant(64, 0);
    if (!sum || !address->collectOffset(part_.getDataLayout(), 64, variable, constant))
      return {};
    for (const auto& [index, bytes] : variable) {
      const std::optional<Affine> form = values_.find(index);
      if (!form)
        return {};
      *sum += form->coefficient * bytes.getSExtValue();
    }
    return sum;
  }

  bool changes(llvm::Value* value) const {
    if (llvm::any_of(next_, [&](const auto& each) { return each.first == value; }))
      return true;
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    return instruction && llvm::any_of(instruction->operands(),
                                       [&](const llvm::Use& operand) { return changes(operand.get()); });
  }

  void find_rows() {
    for (llvm::Instruction& instruction : llvm::instructions(part_)) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (!load || !load->isSimple() || rows_.size() == most_rows)
        continue;
      llvm::Value* const address = load->getPointerOperand();
      const uint64_t bytes = part_.getDataLayout().getTypeStoreSize(load->getType()).getFixedValue();
      llvm::APInt offset(64, 0);
      llvm::Value* const base =
          address->stripAndAccumulateConstantOffsets(part_.getDataLayout(), offset, true);
      if (stride(address) == static_cast<int64_t>(bytes) && changes(address) &&
          llvm::none_of(rows_, [&](const Row& row) { return row.base == base; }))
        rows_.push_back({address, bytes, base});
    }
  }

  llvm::Function* make() {
    llvm::LLVMContext& context = part_.getContext();
    llvm::Type *const word = llvm::Type::getInt32Ty(context), *const none = llvm::Type::getVoidTy(context);
    llvm::Function* const function = declare_like(part_, ".prefetch", none, {word});
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", function));
    llvm::DenseMap<llvm::Value*, llvm::Value*> now, then;
    for (const auto& [parameter, value] : next_)
      then[parameter] = values_.first(value, builder, now);
    llvm::Value* const size =
        builder.CreateZExt(function->getArg(function->arg_size() - 1), builder.getInt64Ty());
    for (const Row& row : rows_)
      prefetch(*values_.first(row.address, builder, then),
               *builder.CreateMul(size, builder.getInt64(row.element_bytes)), builder);
    builder.CreateRetVoid();
    return function;
  }

  static void prefetch(llvm::Value& address, llvm::Value& row_bytes, llvm::IRBuilder<>& builder) {
    llvm::Value* const lines = builder.CreateBinaryIntrinsic(
        llvm::Intrinsic::umin, builder.CreateUDiv(&row_bytes, builder.getInt64(line_bytes * least_share)),
        builder.getInt64(most_lines));
    llvm::BasicBlock* const before = builder.GetInsertBlock();
    llvm::Function* const function = before->getParent();
    const auto new_block = [&] { return llvm::BasicBlock::Create(builder.getContext(), "", function); };
    llvm::BasicBlock *const check = new_block(), *const line = new_block(), *const after = new_block();
    builder.CreateBr(check);
    builder.SetInsertPoint(check);
    llvm::PHINode* const index = builder.CreatePHI(builder.getInt64Ty(), 2);
    index->addIncoming(builder.getInt64(0), before);
    builder.CreateCondBr(builder.CreateICmpULT(index, lines), line, after);
    builder.SetInsertPoint(line);
    llvm::Value* const place = builder.CreateGEP(builder.getInt8Ty(), &address,
                                                 builder.CreateMul(index, builder.getInt64(line_bytes)));
    // Read, keep in all caches, data.
    builder.CreateIntrinsic(llvm::Intrinsic::prefetch, {place->getType()},
                            {place, builder.getInt32(0), builder.getInt32(3), builder.getInt32(1)});
    index->addIncoming(builder.CreateAdd(index, builder.getInt64(1)), line);
    builder.CreateBr(check);
    builder.SetInsertPoint(after);
  }

  llvm::Function& part_;
  AffineValues values_;
  unsigned uniform_;
  std::vector<std::pair<llvm::Value*, llvm::Value*>>
      next_; // a parameter, and its value in the next iteration
  std::vector<Row> rows_;
};

} // namespace

llvm::Function* make_prefetch(llvm::Function& part, unsigned place, unsigned uniform, uint32_t code) {
  return Prefetcher(part, place, uniform).run(code);
}

} // namespace xaas::cpukernel
