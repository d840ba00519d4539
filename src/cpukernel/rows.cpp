// Problem: run a region for all threads of a block, fast.
//
// For each row of threads (z, y), the loop over x has parts: the threads of the core (ranges.cpp), and the
// others. The core may have segments (quotients.cpp), and may itself be several loops (interchange.cpp), of
// which each prefetches what it reads next (prefetch.cpp).
//
// Between nodes, threads are independent of each other. The loops say so (`llvm.loop.parallel_accesses`), so
// that LLVM vectorizes them without asking which addresses may be equal. This does not hold for atomic and
// volatile accesses, nor for a thread's own variables that did not become registers: they have one place for
// all threads of the loop. LLVM may then move accesses of one thread, too, where it joins those to members of
// a structure, so they are compiled with an option against that (llvm_option).
//
// The innermost loop is over x, because the index of a thread in x usually is the index of its data.
#include "rows.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <utility>

namespace xaas::cpukernel {

namespace {

// Rows are short, often a single vector, so loops over them have masks where the CPU has them. Masked stores
// do not save reading the cache line, though, which halves the speed of a copy on Zen 5. A loop over as many
// threads as fill whole vectors of any element, several times, has none: blocks mostly have multiples of
// them.
constexpr int whole_vectors = 64;

// True for regions that get loops of both kinds. The block's own memory mostly is in a cache, where masks
// cost nothing, and long regions compute more than they store.
bool stores_outside_of_block(llvm::Function& region, unsigned place) {
  constexpr unsigned most_of_region = 256;
  if (region.getInstructionCount() > most_of_region)
    return false;
  const auto is_of_block = [&](const llvm::Value* pointer) {
    const llvm::Value* object = llvm::getUnderlyingObject(pointer);
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(object))
      object = llvm::getUnderlyingObject(load->getPointerOperand());
    return object == region.getArg(place);
  };
  return llvm::any_of(llvm::instructions(region), [&](const llvm::Instruction& instruction) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    return store && !is_of_block(store->getPointerOperand());
  });
}

class Rows {
public:
  Rows(BlockCode& code, unsigned parameters, bool vector_masks)
      : code_(code), builder_(code.builder), frame_(code.frame), parameters_(parameters),
        vector_masks_(vector_masks), module_(*code.frame.function->getParent()),
        context_(module_.getContext()) {}

  // All threads of a region; results are those of the last one that ran. Threads outside of the rows' cores
  // come last, in a function of their own: they are few, and their code is long.
  void run(llvm::Function& region, const RowPlan& plan, const Results& results) {
    const Row& row = plan.split;
    if (!row.bounds) {
      code_.for_each_row(
          [&](const Thread& start) { run_row(plan, start, start.x, frame_.sizes[0], results); });
      return;
    }
    llvm::Type* const flag = builder_.getInt1Ty();
    // Idle threads need not run. But if no core has any thread, one of them must, for the result.
    llvm::AllocaInst *const has_rest = code_.allocate(flag), *const lacks_result = code_.allocate(flag);
    builder_.CreateStore(builder_.getFalse(), has_rest);
    builder_.CreateStore(builder_.getInt1(row.is_idle && !row.is_exhaustive), lacks_result);
    code_.for_each_row([&](const Thread& start) {
      const Bounds bounds = bounds_of(row, start);
      code_.if_less(bounds.first, bounds.last, [&] {
        builder_.CreateStore(builder_.getFalse(), lacks_result);
        run_row(plan, start, bounds.first, bounds.last, results);
      });
      if (row.is_exhaustive)
        run_other(row, start, bounds, results, Loops::rare);
      builder_.CreateStore(
          builder_.CreateOr(builder_.CreateLoad(flag, has_rest), has_threads_left(row, bounds)), has_rest);
    });
    llvm::BasicBlock *const start = code_.new_block(), *const after = code_.new_block();
    builder_.CreateCondBr(
        builder_.CreateOr(builder_.CreateLoad(flag, has_rest), builder_.CreateLoad(flag, lacks_result)),
        start, after);
    builder_.SetInsertPoint(start);
    std::vector<llvm::Value*> arguments = frame_.arguments;
    arguments.push_back(frame_.block);
    arguments.insert(arguments.end(), frame_.uniform.begin(), frame_.uniform.end());
    store(parts_of(*builder_.CreateCall(make_rest(region, row), arguments)), results);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }

  void run_each(llvm::Function& region,
                const std::function<llvm::Instruction*(const Thread&, llvm::CallInst&)>& keep) {
    llvm::MDNode* const group = llvm::MDNode::getDistinct(context_, {});
    code_.for_each_row([&](const Thread& start) {
      code_.loop(start.x, frame_.sizes[0], independent(*group, vector_masks_), [&](llvm::Value* x) {
        const Thread thread{x, start.y, start.z, builder_.CreateNUWAdd(start.t, x)};
        llvm::CallInst* const call = builder_.CreateCall(&region, code_.arguments_of(thread));
        for (llvm::Instruction* each : {static_cast<llvm::Instruction*>(call), keep(thread, *call)})
          each->setMetadata(llvm::LLVMContext::MD_access_group, group);
      });
    });
  }

private:
  // How a loop is optimized: `rare` and `scalar` make less code.
  enum class Loops { frequent, rare, scalar };

  // Threads of a row for which its core and its other part are right; none if the row is not split.
  struct Bounds {
    llvm::Value *outer_first, *first, *last, *outer_last, *exact;
  };
  Bounds bounds_of(const Row& row, const Thread& start) {
    llvm::Value* const bounds = builder_.CreateCall(row.bounds, code_.arguments_of_row(start));
    llvm::Value* const exact = builder_.CreateExtractValue(bounds, 4);
    const auto part = [&](unsigned k) {
      return builder_.CreateSelect(exact, builder_.CreateExtractValue(bounds, k), builder_.getInt32(0));
    };
    return {part(0), part(1), part(2), part(3), exact};
  }

  // Whether a row has threads that must run and are not in its core.
  llvm::Value* has_threads_left(const Row& row, const Bounds& bounds) {
    llvm::Value* const inexact = builder_.CreateNot(bounds.exact);
    if (row.is_exhaustive)
      return inexact;
    llvm::Value* const core = builder_.CreateSub(bounds.last, bounds.first);
    if (!row.is_idle)
      return builder_.CreateICmpULT(core, frame_.sizes[0]);
    llvm::Value* const inner = builder_.CreateSub(bounds.outer_last, bounds.outer_first);
    return builder_.CreateOr(inexact, builder_.CreateICmpULT(core, inner));
  }

  // Threads from one up to before another.
  using Run = std::function<void(llvm::Value*, llvm::Value*)>;

  void run_other(const Row& row, const Thread& start, const Bounds& bounds, const Results& results,
                 Loops loops) {
    run_around(
        bounds, start.x, bounds.outer_first, bounds.outer_last, frame_.sizes[0],
        [&](llvm::Value* from, llvm::Value* to) { run_part(*row.other, start, from, to, results, loops); });
  }

  // The threads of a row that is split, from one up to before another, but for those in its middle.
  void run_around(const Bounds& bounds, llvm::Value* start, llvm::Value* first, llvm::Value* last,
                  llvm::Value* end, const Run& run) {
    llvm::BasicBlock *const split = code_.new_block(), *const done = code_.new_block();
    builder_.CreateCondBr(bounds.exact, split, done);
    builder_.SetInsertPoint(split);
    code_.if_less(start, first, [&] { run(start, first); });
    code_.if_less(last, end, [&] { run(last, end); });
    builder_.CreateBr(done);
    builder_.SetInsertPoint(done);
  }

  // Runs each segment of threads `from` up to before `to`, or all of them where the row must not be cut.
  void run_segments(const Segments& segments, const Thread& start, llvm::Value* from, llvm::Value* to,
                    const Run& run_whole, const Run& run_segment) {
    llvm::Value* const numbers = builder_.CreateCall(segments.numbers, code_.arguments_of_row(start));
    llvm::BasicBlock *const before = code_.new_block(), *const segment = code_.new_block(),
                            *const whole = code_.new_block(), *const after = code_.new_block();
    builder_.CreateCondBr(builder_.CreateExtractValue(numbers, 0), before, whole);
    builder_.SetInsertPoint(whole);
    run_whole(from, to);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(before);
    builder_.CreateBr(segment);
    builder_.SetInsertPoint(segment);
    llvm::PHINode* const first = builder_.CreatePHI(from->getType(), 2);
    first->addIncoming(from, before);
    const std::vector<llvm::Value*> outer = frame_.uniform;
    frame_.uniform.push_back(first);
    llvm::Value *const place = builder_.CreateZExt(first, builder_.getInt64Ty()),
                       *end = builder_.CreateZExt(to, builder_.getInt64Ty());
    for (unsigned i = 0; i < segments.pairs; ++i) {
      llvm::Value *const dividend =
                             builder_.CreateNUWAdd(builder_.CreateExtractValue(numbers, 2 * i + 1), place),
                         *const divisor = builder_.CreateExtractValue(numbers, 2 * i + 2),
                         *const quotient = builder_.CreateUDiv(dividend, divisor),
                         *const remainder =
                             builder_.CreateNUWSub(dividend, builder_.CreateNUWMul(quotient, divisor));
      frame_.uniform.insert(frame_.uniform.end(), {quotient, remainder});
      end = builder_.CreateBinaryIntrinsic(
          llvm::Intrinsic::umin, end,
          builder_.CreateNUWAdd(place, builder_.CreateNUWSub(divisor, remainder)));
    }
    llvm::Value* const last = builder_.CreateTrunc(end, from->getType());
    run_segment(first, last);
    frame_.uniform = outer;
    first->addIncoming(last, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpULT(last, to), segment, after);
    builder_.SetInsertPoint(after);
  }

  void run_row(const RowPlan& plan, const Thread& start, llvm::Value* from, llvm::Value* to,
               const Results& results) {
    if (!plan.segments.core) {
      run_core(plan.core, start, from, to, results, Loops::frequent);
      return;
    }
    run_segments(
        plan.segments, start, from, to,
        [&](llvm::Value* first, llvm::Value* last) {
          run_core(plan.core, start, first, last, results, Loops::rare);
        },
        [&](llvm::Value* first, llvm::Value* last) {
          run_core(plan.segment_core, start, first, last, results, Loops::frequent);
        });
  }

  // As run_part(); where the core is cut, part by part.
  void run_core(const CorePlan& core, const Thread& start, llvm::Value* from, llvm::Value* to,
                const Results& results, Loops loops) {
    const Regions& parts = core.parts;
    if (parts.functions.empty()) {
      run_part(*core.function, start, from, to, results, loops);
      return;
    }
    Results all = results;
    for (llvm::Type* type : parts.uniform)
      all.push_back(code_.allocate(type));
    builder_.CreateStore(builder_.getInt32(part_code(0)), all.front());
    llvm::BasicBlock *const choose = code_.new_block(), *const end = code_.new_block();
    builder_.CreateBr(choose);
    builder_.SetInsertPoint(choose);
    llvm::SwitchInst* const jump =
        builder_.CreateSwitch(builder_.CreateLoad(builder_.getInt32Ty(), all.front()), end);
    for (size_t i = 0; i < parts.functions.size(); ++i) {
      llvm::BasicBlock* const block = code_.new_block();
      jump->addCase(builder_.getInt32(part_code(i)), block);
      builder_.SetInsertPoint(block);
      const std::vector<llvm::Value*> outer = frame_.uniform;
      for (size_t k = 0; k < parts.uniform.size(); ++k)
        frame_.uniform.push_back(builder_.CreateLoad(parts.uniform[k], all[results.size() + k]));
      const auto run = [&](llvm::Function& part, Loops how) {
        return
            [&, how](llvm::Value* first, llvm::Value* last) { run_part(part, start, first, last, all, how); };
      };
      if (core.prefetches[i])
        builder_.CreateCall(core.prefetches[i], code_.arguments_of_row(start));
      llvm::Function& part = *parts.functions[i];
      if (const Segments& segments = core.part_segments[i]; segments.core)
        run_segments(segments, start, from, to, run(part, Loops::rare), run(*segments.core, loops));
      else
        run(part, loops)(from, to);
      frame_.uniform = outer;
      builder_.CreateBr(choose);
    }
    builder_.SetInsertPoint(end);
  }

  // Threads `from` up to before `to` of a row, of which there is at least one.
  void run_part(llvm::Function& region, const Thread& start, llvm::Value* from, llvm::Value* to,
                const Results& results, Loops loops) {
    const bool vectorized = loops != Loops::scalar;
    llvm::MDNode* const group =
        vectorized && is_parallel(region) ? llvm::MDNode::getDistinct(context_, {}) : nullptr;
    llvm::Value* const none = builder_.getInt32(0);
    const auto run = [&](llvm::Value* first, llvm::Value* count, llvm::MDNode* properties) {
      std::vector<llvm::Value*> parts;
      code_.loop(none, count, properties, [&](llvm::Value* index) {
        llvm::Value* const x = builder_.CreateNUWAdd(first, index);
        llvm::CallInst* const call = builder_.CreateCall(
            &region, code_.arguments_of({x, start.y, start.z, builder_.CreateNUWAdd(start.t, x)}));
        call->setMetadata(llvm::LLVMContext::MD_access_group, group);
        parts = parts_of(*call);
      });
      store(parts, results);
    };
    llvm::Value* const count = builder_.CreateNUWSub(to, from);
    if (!group || !vector_masks_ || loops == Loops::rare || !stores_outside_of_block(region, parameters_)) {
      run(from, count, !vectorized ? scalar() : group ? independent(*group, vector_masks_) : nullptr);
      return;
    }
    // A short row pays one comparison for the loop that it does not run.
    llvm::BasicBlock *const before = builder_.GetInsertBlock(), *const start_whole = code_.new_block(),
                            *const rest = code_.new_block(), *const masked = code_.new_block(),
                            *const after = code_.new_block();
    builder_.CreateCondBr(builder_.CreateICmpUGE(count, builder_.getInt32(whole_vectors)), start_whole, rest);
    builder_.SetInsertPoint(start_whole);
    llvm::Value* const whole = builder_.CreateAnd(count, builder_.getInt32(-whole_vectors));
    run(from, whole, independent(*group, false));
    llvm::Value* const next = builder_.CreateNUWAdd(from, whole);
    llvm::BasicBlock* const end_whole = builder_.GetInsertBlock();
    builder_.CreateBr(rest);
    builder_.SetInsertPoint(rest);
    llvm::PHINode* const first = builder_.CreatePHI(from->getType(), 2);
    first->addIncoming(from, before);
    first->addIncoming(next, end_whole);
    builder_.CreateCondBr(builder_.CreateICmpULT(first, to), masked, after);
    builder_.SetInsertPoint(masked);
    run(first, builder_.CreateNUWSub(to, first), independent(*group, true));
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }

  // The threads of all rows that run() leaves.
  llvm::Function* make_rest(llvm::Function& region, const Row& row) {
    std::vector<llvm::Type*> parameters;
    for (const std::vector<llvm::Value*>& values : {frame_.arguments, {frame_.block}, frame_.uniform})
      for (const llvm::Value* value : values)
        parameters.push_back(value->getType());
    llvm::Function* const rest =
        llvm::Function::Create(llvm::FunctionType::get(region.getReturnType(), parameters, false),
                               llvm::GlobalValue::InternalLinkage, region.getName() + ".rest", module_);
    rest->addFnAttr(llvm::Attribute::NoInline);
    rest->addFnAttr(llvm::Attribute::NoUnwind);
    const llvm::IRBuilder<>::InsertPoint here = builder_.saveIP();
    Frame outer = std::exchange(frame_, Frame{rest});
    for (llvm::Argument& argument : rest->args())
      if (argument.getArgNo() < outer.arguments.size())
        frame_.arguments.push_back(&argument);
      else if (!frame_.block)
        frame_.block = &argument;
      else
        frame_.uniform.push_back(&argument);
    builder_.SetInsertPoint(code_.new_block());
    code_.read_sizes();
    Results results;
    for (llvm::Type* type : llvm::cast<llvm::StructType>(region.getReturnType())->elements())
      results.push_back(code_.allocate(type));
    code_.for_each_row([&](const Thread& start) {
      const Bounds bounds = bounds_of(row, start);
      const auto run = [&](llvm::Value* from, llvm::Value* to) {
        run_part(region, start, from, to, results, Loops::scalar);
      };
      if (row.other && !row.is_exhaustive)
        run_other(row, start, bounds, results, Loops::scalar);
      run_around(bounds, bounds.outer_first, bounds.first, bounds.last, bounds.outer_last, run);
      llvm::BasicBlock *const whole = code_.new_block(), *const done = code_.new_block();
      builder_.CreateCondBr(bounds.exact, done, whole);
      builder_.SetInsertPoint(whole);
      run(start.x, frame_.sizes[0]);
      builder_.CreateBr(done);
      builder_.SetInsertPoint(done);
    });
    llvm::Value* result = llvm::PoisonValue::get(region.getReturnType());
    for (unsigned k = 0; k < results.size(); ++k)
      result = builder_.CreateInsertValue(result,
                                          builder_.CreateLoad(results[k]->getAllocatedType(), results[k]), k);
    builder_.CreateRet(result);
    frame_ = std::move(outer);
    builder_.restoreIP(here);
    return rest;
  }

  // Properties of loops (llvm/docs/LangRef.rst, "llvm.loop"). Where the CPU has no masks, steps are small, so
  // that short rows are vectorized, too.
  llvm::MDNode* independent(llvm::MDNode& group, bool masks) {
    std::vector<llvm::Metadata*> all = {
        llvm::MDNode::get(context_, {llvm::MDString::get(context_, "llvm.loop.parallel_accesses"), &group})};
    if (masks)
      all.push_back(property("llvm.loop.vectorize.predicate.enable", builder_.getTrue()));
    else if (!vector_masks_)
      all.push_back(property("llvm.loop.interleave.count", builder_.getInt32(1)));
    return properties(std::move(all));
  }

  llvm::MDNode* scalar() { return properties({property("llvm.loop.vectorize.enable", builder_.getFalse())}); }

  llvm::MDNode* property(const char* name, llvm::Constant* value) {
    return llvm::MDNode::get(context_,
                             {llvm::MDString::get(context_, name), llvm::ConstantAsMetadata::get(value)});
  }

  llvm::MDNode* properties(std::vector<llvm::Metadata*> all) {
    all.insert(all.begin(), nullptr);
    llvm::MDNode* const loop = llvm::MDNode::getDistinct(context_, all);
    loop->replaceOperandWith(0, loop); // by which LLVM knows a loop
    return loop;
  }

  void store(llvm::ArrayRef<llvm::Value*> values, const Results& results) {
    for (size_t k = 0; k < results.size(); ++k)
      builder_.CreateStore(values[k], results[k]);
  }

  std::vector<llvm::Value*> parts_of(llvm::CallInst& call) {
    std::vector<llvm::Value*> parts;
    for (unsigned k = 0; k < call.getType()->getStructNumElements(); ++k)
      parts.push_back(builder_.CreateExtractValue(&call, k));
    return parts;
  }

  BlockCode& code_;
  llvm::IRBuilder<>& builder_;
  Frame& frame_;
  unsigned parameters_;
  bool vector_masks_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
};

} // namespace

bool is_parallel(const llvm::Function& region) {
  return llvm::none_of(llvm::instructions(region), [](const llvm::Instruction& instruction) {
    return llvm::isa<llvm::AllocaInst>(instruction) || instruction.isAtomic() || instruction.isVolatile() ||
           (llvm::isa<llvm::CallBase>(instruction) && instruction.mayWriteToMemory() &&
            !llvm::isa<llvm::IntrinsicInst>(instruction));
  });
}

void run_rows(BlockCode& code, llvm::Function& region, const RowPlan& plan, const Results& results,
              unsigned parameters, bool vector_masks) {
  Rows(code, parameters, vector_masks).run(region, plan, results);
}

void run_each(BlockCode& code, llvm::Function& region, bool vector_masks,
              const std::function<llvm::Instruction*(const Thread&, llvm::CallInst&)>& keep) {
  Rows(code, 0, vector_masks).run_each(region, keep);
}

} // namespace xaas::cpukernel
