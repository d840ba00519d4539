#include "profiling.h"

#include <clang/Basic/CodeGenOptions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/ProfileData/InstrProf.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Transforms/Instrumentation/InstrProfiling.h>
#include <llvm/Transforms/Instrumentation/PGOInstrumentation.h>

#include <optional>
#include <vector>

namespace xaas::lower {

namespace {

constexpr const char* counts_file = "counts"; // in a file system in memory

// Before the counts come: notes which functions are cold by the source, and removes the counts that the front
// end took from a profile of the project.
struct ReadyForCounts : llvm::PassInfoMixin<ReadyForCounts> {
  std::shared_ptr<ProfileMatch> match;
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    for (llvm::Function& function : module) {
      if (function.hasFnAttribute(llvm::Attribute::Cold))
        match->cold.insert(&function);
      if (function.getEntryCount())
        function.setMetadata(llvm::LLVMContext::MD_prof, nullptr);
    }
    if (llvm::NamedMDNode* const flags = module.getModuleFlagsMetadata()) {
      std::vector<llvm::MDNode*> kept;
      for (llvm::MDNode* const flag : flags->operands())
        if (const auto* name = llvm::dyn_cast<llvm::MDString>(flag->getOperand(1));
            !name || name->getString() != "ProfileSummary")
          kept.push_back(flag);
      flags->clearOperands();
      for (llvm::MDNode* const flag : kept)
        flags->addOperand(flag);
    }
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

bool may_have_counts(const llvm::Function& function) {
  return !function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
         !function.hasFnAttribute(llvm::Attribute::NoProfile) &&
         !function.hasFnAttribute(llvm::Attribute::SkipProfile) &&
         !function.hasFnAttribute(llvm::Attribute::Naked);
}

void note(const llvm::Function& function, bool has_counts, ProfileMatch& match) {
  const std::string name = llvm::getIRPGOFuncName(function);
  match.functions.insert(name);
  if (has_counts)
    match.matched.insert(name);
}

// After Clang's own pipeline has read the counts.
struct CountMatches : llvm::PassInfoMixin<CountMatches> {
  std::shared_ptr<ProfileMatch> match;
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    for (const llvm::Function& function : module)
      if (may_have_counts(function))
        note(function, function.getEntryCount().has_value(), *match);
    return llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

// A function that never ran in training may be the one that matters in another run: another mode of the
// program, another library that loads it. LLVM marks it as cold, and would optimize it for size; here it
// becomes as without a profile.
struct JudgeProfile : llvm::PassInfoMixin<JudgeProfile> {
  std::shared_ptr<ProfileMatch> match;
  bool cold_for_size = false; // leave it to LLVM
  llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
    for (llvm::Function& function : module) {
      if (!may_have_counts(function))
        continue;
      const std::optional<llvm::Function::ProfileCount> calls = function.getEntryCount();
      note(function, calls.has_value(), *match);
      if (!calls || calls->getCount() != 0 || cold_for_size)
        continue;
      function.setMetadata(llvm::LLVMContext::MD_prof, nullptr);
      if (!match->cold.contains(&function))
        function.removeFnAttr(llvm::Attribute::Cold);
    }
    return llvm::PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

// Adds counters, or the counts of a profile, in front of every other pass. Clang would do so after a first
// round of inlining, which depends on the target, so that counts of one target would not fit another one.
void add_passes(llvm::PassBuilder& builder, const Profiling& profiling,
                const std::shared_ptr<ProfileMatch>& match) {
  if (profiling.kind == Profiling::Kind::own) { // which Clang's own pipeline reads
    builder.registerOptimizerEarlyEPCallback(
        [match](llvm::ModulePassManager& passes, llvm::OptimizationLevel, llvm::ThinOrFullLTOPhase) {
          passes.addPass(CountMatches{{}, match});
        });
    return;
  }
  builder.registerPipelineStartEPCallback(
      [&profiling, match](llvm::ModulePassManager& passes, llvm::OptimizationLevel level) {
        if (profiling.kind == Profiling::Kind::count) {
          passes.addPass(llvm::PGOInstrumentationGen());
          llvm::InstrProfOptions options;
          options.DoCounterPromotion = level != llvm::OptimizationLevel::O0;
          options.Atomic = profiling.atomic;
          passes.addPass(llvm::InstrProfilingLoweringPass(options, false));
          return;
        }
        passes.addPass(ReadyForCounts{{}, match});
        passes.addPass(llvm::PGOInstrumentationUse(counts_file, "", false, file_system_with(profiling)));
        passes.addPass(JudgeProfile{{}, match, profiling.cold_for_size});
        if (level == llvm::OptimizationLevel::O0)
          return;
        // Calls through pointers and copies whose values are known, where Clang has them, too.
        passes.addPass(llvm::PGOIndirectCallPromotion(false, false));
        passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::PGOMemOPSizeOpt()));
      });
}

} // namespace

std::vector<std::string> profile_options(bool cold_for_size) {
  // A loop with a short average is vectorized only in whole, with masks, because LLVM assumes that all of its
  // runs are short. With AVX-512, a masked store delays the loads that follow it: esl_rnd_FChoose() of HMMER
  // reads the 2 to 4 numbers that esl_vec_FNorm() has just written, and took 40 % more time. Without a
  // profile, there is vector code for long runs and scalar code for short ones, which suits both.
  std::vector<std::string> options = {"vectorizer-min-trip-count=1"};
  if (!cold_for_size) // blocks that never ran
    options.push_back("pgso=false");
  return options;
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> file_system_with(const Profiling& profiling) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  if (profiling.counts)
    files->addFile(counts_file, 0, llvm::MemoryBuffer::getMemBuffer(*profiling.counts, "", false));
  return files;
}

void set_own_profile(const Profiling& profiling, clang::CodeGenOptions& codegen) {
  if (profiling.kind == Profiling::Kind::own)
    codegen.ProfileInstrumentUsePath = counts_file;
  else
    codegen.setProfileUse(llvm::driver::ProfileInstrKind::ProfileNone);
}

void add_profiling(const Profiling& profiling, const std::shared_ptr<ProfileMatch>& match,
                   clang::CodeGenOptions& codegen) {
  if (profiling.kind != Profiling::Kind::none)
    codegen.PassBuilderCallbacks.emplace_back(
        [&profiling, match](llvm::PassBuilder& builder) { add_passes(builder, profiling, match); });
}

} // namespace xaas::lower
