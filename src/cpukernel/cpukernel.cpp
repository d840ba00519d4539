// The steps in their order, and what is done between them.
//
// Everything that depends on the thread is inlined into the kernels first, so that later steps see a kernel
// as one function. A large device function that asks neither for the thread's place nor for other threads
// stays a function.
#include "assembly.h"
#include "checks.h"
#include "divisions.h"
#include "facts.h"
#include "fibers.h"
#include "interchange.h"
#include "kernel.h"
#include "library.h"
#include "normalise.h"
#include "prefetch.h"
#include "shared.h"
#include "table.h"
#include "trip_counts.h"
#include "waits.h"

#include <xaas/base/result.h>

#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>

namespace xaas::cpukernel {

namespace {

class Maker {
public:
  Maker(llvm::Module& module, const std::string& arch, const std::string& image, const Options& options)
      : module_(module), arch_(arch), image_(image), options_(options) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
  }

  Result<std::vector<Kernel>> run() {
    const LibraryIr* const library = library_ir(arch_);
    if (!library)
      return make_error(ErrorKind::unsatisfied, "kernels have no form for CPUs of " + arch_);
    if (options_.checked)
      keep_places(module_);
    else
      llvm::StripDebugInfo(module_);
    collect_kernels();
    XAAS_TRY(shared_, normalise(module_, arch_));
    collect_variables();
    expand_copies(module_, shared_);
    translate_assembly(module_);
    for (llvm::Function& function : module_) // before anything concludes from a division that it has a result
      guard_divisions(function);
    XAAS_CHECK(add_library(module_, *library));
    inline_what_depends_on_threads();
    llvm::StripDebugInfo(module_);
    if (!options_.checked)
      choose_fibers();
    for (Work& work : works_)
      make_regions_of(work);
    inline_all();
    for (Work& work : works_)
      plan_rows_of(work);
    inline_all();
    for (Work& work : works_)
      make_block_function_of(work);
    XAAS_CHECK(finish());
    return report();
  }

private:
  struct Work {
    llvm::Function* kernel;
    std::string name;
    std::string source;
    Nodes nodes = {};
    SharedPlaces places = {};
    uint64_t shared_bytes = 0;
    Regions regions = {};
    std::vector<RowPlan> rows = {};
    std::string refusal = {};
    bool fibers = false, calls = false; // `calls`: functions on fibers
    llvm::Function* run = nullptr;
    llvm::Constant* checks = nullptr;
  };

  void collect_kernels() {
    for (llvm::Function& function : module_)
      if (!function.isDeclaration() && function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
        works_.push_back({&function, function.getName().str(),
                          function.getFnAttribute(source_attribute).getValueAsString().str()});
    std::sort(works_.begin(), works_.end(), [](const Work& a, const Work& b) { return a.name < b.name; });
  }

  // Variables that the host can name. No launch initializes them any more.
  void collect_variables() {
    for (llvm::GlobalVariable& variable : module_.globals())
      if (!variable.isDeclaration() && variable.isExternallyInitialized()) {
        variable.setExternallyInitialized(false);
        variables_.push_back(&variable);
      }
  }

  // Functions that ask for the thread's place, for shared memory or for other threads, or wait for these,
  // themselves or through what they call; and those with inline assembly or a call that nothing defines,
  // which is refused where a kernel needs it.
  void find_dependent() {
    dependent_.clear();
    for (llvm::Function& function : module_)
      if (!function.isDeclaration() && !find_waits(function).empty())
        dependent_.insert(&function);
    for (bool changed = true; changed;) {
      changed = false;
      for (llvm::Function& function : module_)
        if (!function.isDeclaration() && !dependent_.contains(&function) && depends(function))
          changed |= dependent_.insert(&function);
    }
  }

  bool depends(const llvm::Function& function) const {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
        const llvm::Function* callee = callee_of(*call);
        if (call->isInlineAsm() ||
            (callee ? !intrinsic_name(*callee).empty() || is_missing(*callee) || dependent_.contains(callee)
                    : !reached_through(*call).empty()))
          return true;
      }
      if (llvm::any_of(instruction.operands(),
                       [&](const llvm::Use& operand) { return names_shared(operand.get(), shared_); }))
        return true;
    }
    return false;
  }

  void inline_what_depends_on_threads() {
    find_dependent();
    for (llvm::Function& function : module_) {
      if (function.isDeclaration())
        continue;
      function.removeFnAttr(llvm::Attribute::NoInline);
      function.removeFnAttr(llvm::Attribute::OptimizeNone);
      function.setCallingConv(llvm::CallingConv::C);
      const bool is_kernel = llvm::any_of(works_, [&](const Work& work) { return work.kernel == &function; });
      if (is_kernel)
        function.removeFnAttr(llvm::Attribute::AlwaysInline);
      else if (dependent_.contains(&function) || is_small(function) ||
               (options_.checked && !function.getName().starts_with("__nv_")))
        function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
    inline_all();
    find_dependent(); // those that are left
    for (Work& work : works_) {
      end_threads(*work.kernel);
      copy_changed_structures(*work.kernel);
      if (options_.checked)
        check(work);
      simplify(*work.kernel);
      mark_structures(*work.kernel);
    }
  }

  // Variables that become registers have no checks. Checks are for the masked form.
  void check(Work& work) {
    if (const std::string need = need_without_checks(*work.kernel); !need.empty()) {
      work.refusal = need + "; kernels with checks have no form for it";
      return;
    }
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.run(*work.kernel, functions_);
    functions_.invalidate(*work.kernel, llvm::PreservedAnalyses::none());
    add_checks(*work.kernel, shared_);
  }

  // Why the kernel has no form with checks: it would run on fibers, or has loops that wait. These are known
  // by their reads when they are simplified and have no checks, so a copy is asked.
  std::string need_without_checks(llvm::Function& kernel) {
    llvm::ValueToValueMapTy values;
    llvm::Function* const copy = llvm::CloneFunction(&kernel, values);
    llvm::stripDebugInfo(*copy);
    simplify(*copy);
    std::string need = need_of(*copy);
    if (need.empty())
      if (const Result<Nodes> nodes = find_nodes(*copy, shared_variables());
          nodes && nodes->reason == wait_reason)
        need = wait_reason;
    functions_.clear(*copy, copy->getName());
    copy->eraseFromParent();
    return need;
  }

  // Why a kernel needs fibers; empty if it does not.
  std::string need_of(llvm::Function& kernel) const {
    std::string need = need_of_fibers(kernel);
    return need.empty() ? dependent_call(kernel) : need;
  }

  // Other functions are inlined where that does not add much code: loops over threads that contain calls are
  // not vectorized.
  static bool is_small(const llvm::Function& function) {
    constexpr size_t most_instructions = 2000;
    return !function.hasAddressTaken() &&
           function.getInstructionCount() * function.getNumUses() <= most_instructions;
  }

  void inline_all() {
    llvm::ModulePassManager passes;
    passes.addPass(llvm::AlwaysInlinerPass());
    passes.run(module_, modules_);
  }

  void simplify(llvm::Function& function) {
    llvm::FunctionPassManager passes;
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
    passes.addPass(llvm::EarlyCSEPass(true));
    passes.addPass(llvm::SimplifyCFGPass());
    passes.addPass(llvm::ADCEPass());
    passes.run(function, functions_);
    functions_.invalidate(function, llvm::PreservedAnalyses::none());
  }

  // A thread that ends within a function that was inlined ends where the kernel returns.
  static void end_threads(llvm::Function& kernel) {
    std::vector<llvm::Instruction*> ends;
    for (llvm::Instruction& instruction : llvm::instructions(kernel))
      if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::nvvm_exit)
        ends.push_back(&instruction);
    for (llvm::Instruction* end : ends) {
      llvm::BasicBlock* const before = end->getParent();
      llvm::SplitBlock(before, end);
      before->getTerminator()->eraseFromParent();
      llvm::ReturnInst::Create(kernel.getContext(), before);
      end->eraseFromParent();
    }
  }

  // Kernels that no other form has run on fibers, if these have all that a kernel comes to.
  void choose_fibers() {
    llvm::SmallPtrSet<const llvm::Function*, 16> known;
    for (Work& work : works_) {
      std::string need = need_of(*work.kernel);
      if (need.empty() && !options_.fibers)
        continue;
      const std::vector<llvm::Function*> reached = reached_from(*work.kernel);
      for (llvm::Function* function : reached) {
        if (function != work.kernel && known.insert(function).second)
          simplify(*function); // before constants become instructions
        if (const std::string obstacle = obstacle_to_fibers(*function, shared_);
            !obstacle.empty() && work.refusal.empty())
          work.refusal = function == work.kernel
                             ? obstacle
                             : need + ", and " + function->getName().str() + " has " + obstacle;
      }
      work.fibers = work.refusal.empty();
      work.calls = reached.size() > 1;
      work.nodes.reason = std::move(need);
      if (work.fibers)
        on_fibers_.insert(reached.begin() + 1, reached.end());
    }
    const std::vector<llvm::Function*> callees(on_fibers_.begin(), on_fibers_.end());
    common_bytes_ = place_fixed(callees, shared_, common_, 0);
    for (llvm::Function* function : callees)
      run_on_fiber(*function, shared_, common_);
  }

  // The functions left that depend on the thread and that a kernel may call; the kernel first.
  std::vector<llvm::Function*> reached_from(llvm::Function& kernel) const {
    llvm::SetVector<llvm::Function*> reached;
    reached.insert(&kernel);
    for (size_t i = 0; i < reached.size(); ++i)
      for (const llvm::Instruction& instruction : llvm::instructions(*reached[i])) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (!call || call->isInlineAsm())
          continue;
        const llvm::Function* callee = callee_of(*call);
        if (callee && dependent_.contains(callee))
          reached.insert(const_cast<llvm::Function*>(callee));
        else if (!callee)
          for (const llvm::Function* each : reached_through(*call))
            reached.insert(const_cast<llvm::Function*>(each));
      }
    return {reached.begin(), reached.end()};
  }

  std::set<const llvm::Value*> shared_variables() const {
    std::set<const llvm::Value*> variables(shared_.fixed.begin(), shared_.fixed.end());
    variables.insert(shared_.dynamic.begin(), shared_.dynamic.end());
    return variables;
  }

  void make_regions_of(Work& work) {
    if (!work.refusal.empty())
      return;
    mark_indices(*work.kernel);
    if (work.fibers) {
      if (work.calls)
        work.places = common_;
      work.shared_bytes = place_shared({work.kernel}, shared_, work.places, work.calls ? common_bytes_ : 0);
      run_on_fiber(*work.kernel, shared_, work.places);
      return;
    }
    Result<Nodes> nodes = find_nodes(*work.kernel, shared_variables());
    if (!nodes) {
      work.refusal = nodes.error().message;
      return;
    }
    std::vector<llvm::Constant*> variables(shared_.fixed.begin(), shared_.fixed.end());
    variables.insert(variables.end(), shared_.dynamic.begin(), shared_.dynamic.end());
    llvm::convertUsersOfConstantsToInstructions(variables, work.kernel);
    if (names_shared_in_memory(*work.kernel, shared_)) {
      work.refusal = "a constant with the address of a shared variable";
      return;
    }
    work.nodes = *std::move(nodes);
    if (options_.checked && work.nodes.agree)
      work.nodes.reason = "the kernel has checks";
    work.nodes.agree &= !options_.masked && !options_.checked;
    work.shared_bytes = place_shared({work.kernel}, shared_, work.places, 0);
    work.regions = make_regions(*work.kernel, work.nodes, work.places);
  }

  // A call of a function that depends on the thread and was not inlined; empty if there is none.
  std::string dependent_call(const llvm::Function& kernel) const {
    for (const llvm::Instruction& instruction : llvm::instructions(kernel)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call || call->isInlineAsm())
        continue;
      const llvm::Function* callee = callee_of(*call);
      if (callee && dependent_.contains(callee))
        return "a call of " + callee->getName().str() + ", which is recursive and depends on the thread";
      if (!callee && !reached_through(*call).empty())
        return "a call through a pointer, perhaps of a function that depends on the thread";
    }
    return {};
  }

  // The functions that depend on the thread and that a call through a pointer may reach: those of its type
  // whose address is taken.
  std::vector<const llvm::Function*> reached_through(const llvm::CallBase& call) const {
    std::vector<const llvm::Function*> reached;
    for (const llvm::Function* function : dependent_)
      if (function->getFunctionType() == call.getFunctionType() && function->hasAddressTaken())
        reached.push_back(function);
    return reached;
  }

  void make_block_function_of(Work& work) {
    if (!work.refusal.empty())
      return;
    if (work.fibers) {
      work.run = make_fiber_kernel(*work.kernel, work.shared_bytes);
      return;
    }
    for (RowPlan& row : work.rows)
      for (CorePlan* core : {&row.core, &row.segment_core})
        for (size_t i = 0; i < core->parts.functions.size(); ++i) {
          llvm::Function* const part = core->parts.functions[i];
          simplify(*part);
          core->prefetches.push_back(
              core->reads_rows
                  ? make_prefetch(*part, static_cast<unsigned>(work.kernel->arg_size()),
                                  static_cast<unsigned>(core->parts.uniform.size()), part_code(i))
                  : nullptr);
          const bool is_rare = core == &row.core && row.segments.core;
          core->part_segments.push_back(is_rare ? Segments{} : segments_of(*part, work));
        }
    work.run = make_block_function(*work.kernel, work.nodes, work.regions, work.rows, options_.vector_masks);
    if (options_.checked)
      work.checks = describe_checks(module_, work.name, work.nodes, work.places, shared_);
  }

  void plan_rows_of(Work& work) {
    for (llvm::Function* region : work.regions.functions) {
      simplify(*region);
      if (!work.nodes.agree)
        continue;
      const auto place = static_cast<unsigned>(work.kernel->arg_size());
      const bool reads_rows = share_trip_counts(*region, place);
      // Without thread 0, which often has the last word, rows of a loop would start between cache lines.
      RowPlan row{split_row(*region, place, !reads_rows), {}, {}, {}};
      row.core.reads_rows = row.segment_core.reads_rows = reads_rows;
      for (llvm::Function* part : {row.split.bounds, row.split.core, row.split.other})
        if (part)
          simplify(*part);
      row.split.is_idle = row.split.other && !has_effects(*row.split.other);
      row.core.function = row.split.core ? row.split.core : region;
      row.segments = segments_of(*row.core.function, work);
      row.segment_core.function = row.segments.core;
      for (CorePlan* core : {&row.core, &row.segment_core})
        plan_core(*core, place, work);
      work.rows.push_back(std::move(row));
    }
  }

  static bool has_effects(llvm::Function& function) {
    return llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
      return instruction.mayHaveSideEffects();
    });
  }

  Segments segments_of(llvm::Function& region, const Work& work) {
    const Segments segments = cut_at_quotients(region, static_cast<unsigned>(work.kernel->arg_size()));
    for (llvm::Function* part : {segments.numbers, segments.core})
      if (part)
        simplify(*part);
    return segments;
  }

  void plan_core(CorePlan& core, unsigned place, Work& work) {
    if (!core.function)
      return;
    core.nodes = find_loops(*core.function, place);
    if (core.nodes.nodes.size() > 1)
      core.parts = cut_region(*core.function, place, core.nodes, work.regions);
  }

  // Functions that depend on the thread, are left and are not on fibers have their address in some table. No
  // kernel that could call them was made.
  void drop_dependent() {
    for (const Work& work : works_)
      dependent_.remove(work.kernel);
    std::vector<llvm::Function*> left;
    for (llvm::Function& function : module_)
      if (dependent_.contains(&function) && !on_fibers_.contains(&function))
        left.push_back(&function);
    for (llvm::Function* function : left)
      function->dropAllReferences();
    for (llvm::Function* function : left) {
      function->replaceAllUsesWith(llvm::ConstantPointerNull::get(function->getType()));
      function->eraseFromParent();
    }
    dependent_.clear();
  }

  // Which a pointer of unknown origin may lead to.
  std::vector<llvm::GlobalVariable*> all_variables() {
    std::vector<llvm::GlobalVariable*> variables;
    for (llvm::GlobalVariable& variable : module_.globals())
      if (variable.hasName() && !variable.isDeclaration() && !variable.use_empty() &&
          !is_shared(&variable, shared_) && !variable.getName().starts_with("llvm.") &&
          !variable.getName().starts_with("xaas."))
        variables.push_back(&variable);
    return variables;
  }

  Result<void> finish() {
    drop_dependent();
    TableContents table{{}, variables_, {}};
    if (options_.checked)
      table.memory = all_variables();
    for (Work& work : works_) {
      work.kernel->replaceAllUsesWith(llvm::PoisonValue::get(work.kernel->getType()));
      work.kernel->eraseFromParent();
      table.kernels.push_back({work.name, work.run, work.refusal, work.shared_bytes,
                               work.regions.thread_bytes, work.regions.arrays, work.fibers, work.checks});
    }
    for (const char* list : {"llvm.compiler.used", "llvm.used"})
      if (llvm::GlobalVariable* used = module_.getGlobalVariable(list))
        used->eraseFromParent();
    add_table(module_, table, image_text(image_).c_str());
    for (llvm::GlobalVariable& variable : module_.globals())
      if (!variable.isDeclaration() && !variable.getName().starts_with("llvm."))
        variable.setLinkage(llvm::GlobalValue::InternalLinkage);
    for (llvm::Function& function : module_) // until here the library's were kept
      if (!function.isDeclaration()) {
        function.setLinkage(llvm::GlobalValue::InternalLinkage);
        function.setVisibility(llvm::GlobalValue::DefaultVisibility);
        function.setDSOLocal(true);
      }
    inline_all();
    llvm::ModulePassManager passes;
    passes.addPass(llvm::GlobalDCEPass());
    passes.run(module_, modules_);
    std::string malformed;
    llvm::raw_string_ostream stream(malformed);
    if (llvm::verifyModule(module_, &stream))
      return make_error(ErrorKind::failed,
                        "kernels for the CPU: malformed IR: " + malformed.substr(0, malformed.find('\n')));
    return {};
  }

  std::vector<Kernel> report() const {
    std::vector<Kernel> kernels;
    for (const Work& work : works_)
      kernels.push_back({work.name,
                         !work.refusal.empty() ? Form::refused
                         : work.fibers         ? Form::fibers
                         : work.nodes.agree    ? Form::loops
                                               : Form::masked,
                         work.refusal.empty() ? work.nodes.reason : work.refusal, work.source});
    return kernels;
  }

  llvm::Module& module_;
  std::string arch_, image_;
  Options options_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
  SharedVariables shared_;
  std::vector<Work> works_;
  std::vector<llvm::GlobalVariable*> variables_;
  llvm::SmallSetVector<const llvm::Function*, 16> dependent_;
  SharedPlaces common_; // of fixed shared variables that functions on fibers name
  uint64_t common_bytes_ = 0;
  llvm::SmallSetVector<llvm::Function*, 16> on_fibers_; // those that are not kernels
};

} // namespace

std::string name(Form form) {
  switch (form) {
  case Form::loops:
    return "loops";
  case Form::masked:
    return "masked";
  case Form::fibers:
    return "fibers";
  case Form::refused:
    return "refused";
  }
  return {};
}

Result<std::vector<Kernel>> make_cpu_module(llvm::Module& module, const std::string& arch,
                                            const std::string& image, const Options& options) {
  return Maker(module, arch, image, options).run();
}

} // namespace xaas::cpukernel
