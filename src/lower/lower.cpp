// Three steps: load() reads and checks the module, set_up() gives it the target's instruction set and turns
// the unit's options into Clang's, emit() runs Clang's own optimizer and back end on it.
#include "bounded_stream.h"
#include "describe.h"
#include "for_ptxas.h"
#include "gpu_libraries.h"
#include "profiling.h"

#include <xaas/base/text.h>
#include <xaas/cpukernel/link.h>
#include <xaas/ir/back_ends.h>
#include <xaas/ir/canonical.h>
#include <xaas/ir/device_image.h>
#include <xaas/ir/options.h>
#include <xaas/ir/prepared.h>
#include <xaas/ir/retarget.h>
#include <xaas/ir/symbols.h>
#include <xaas/lower/lower.h>

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/CodeGen/BackendUtil.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/Analysis/GlobalsModRef.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/Annotation2Metadata.h>
#include <llvm/Transforms/IPO/ForceFunctionAttrs.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>

#include <algorithm>
#include <sys/resource.h>
#include <utility>

namespace xaas::lower {

bool is_gpu(const target::Cpu& target) {
  return target.arch == "nvptx64" || target.arch == "amdgcn";
}

std::string describe(const Job& job) {
  if (!job.linked.empty())
    return "lowering the device code of " + job.unit.source;
  std::string plugins;
  for (const PluginUse& use : job.plugins)
    plugins += (plugins.empty() ? " with the pass plugin " : ", ") + to_string(use.plugin);
  return "lowering " + job.unit.source + " (module " + job.unit.module.to_string() + ")" + plugins;
}

namespace {

void make_working(clang::CodeGenOptions& codegen) {
  codegen.OptimizationLevel = 0;
  codegen.OptimizeSize = 0;
  codegen.VectorizeLoop = 0;
  codegen.VectorizeSLP = 0;
}

llvm::OptimizationLevel optimization_level(const clang::CodeGenOptions& codegen) {
  switch (codegen.OptimizationLevel) {
  case 0:
    return llvm::OptimizationLevel::O0;
  case 1:
    return llvm::OptimizationLevel::O1;
  case 2:
    return codegen.OptimizeSize == 0   ? llvm::OptimizationLevel::O2
           : codegen.OptimizeSize == 1 ? llvm::OptimizationLevel::Os
                                       : llvm::OptimizationLevel::Oz;
  default:
    return llvm::OptimizationLevel::O3;
  }
}

// Adds one half of the optimizer's pipeline.
using AddHalf = void(llvm::PassBuilder& builder, llvm::ModulePassManager& passes,
                     llvm::OptimizationLevel level);

// The two halves of llvm::PassBuilder::buildPerModuleDefaultPipeline(); src/ir/prepared.cpp has the reasons.
void add_first_half(llvm::PassBuilder& builder, llvm::ModulePassManager& passes,
                    llvm::OptimizationLevel level) {
  passes.addPass(llvm::Annotation2MetadataPass());
  passes.addPass(llvm::ForceFunctionAttrsPass());
  builder.invokePipelineStartEPCallbacks(passes, level); // Clang's tracking of assignments for debuggers
  passes.addPass(builder.buildModuleSimplificationPipeline(level, llvm::ThinOrFullLTOPhase::None));
}
void add_second_half(llvm::PassBuilder& builder, llvm::ModulePassManager& passes,
                     llvm::OptimizationLevel level) {
  // The target's own passes of the first half ran for another CPU there. AArch64's finds idioms for SVE.
  llvm::LoopPassManager of_target;
  builder.invokeLateLoopOptimizationsEPCallbacks(of_target, level);
  if (!of_target.isEmpty())
    passes.addPass(
        llvm::createModuleToFunctionPassAdaptor(llvm::createFunctionToLoopPassAdaptor(std::move(of_target))));
  // The first half leaves this analysis behind, and the second brings it up to date only if it is there.
  passes.addPass(llvm::RequireAnalysisPass<llvm::GlobalsAA, llvm::Module>());
  passes.addPass(builder.buildModuleOptimizationPipeline(level, llvm::ThinOrFullLTOPhase::None));
}

// Ends a half.
struct EndOfHalf : llvm::PassInfoMixin<EndOfHalf> {
  std::function<void()> end;
  llvm::PreservedAnalyses run(llvm::Module&, llvm::ModuleAnalysisManager&) {
    end();
    return llvm::PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

// Makes Clang run only that half of the pipeline, then its action. Clang has no such mode. So it runs its
// pipeline for -O0 with the half in front of it: when it asks for callbacks, it has made the target machine,
// for the level in `codegen`, and builds the pipeline next. Of what follows the half, only required passes
// run, which find nothing in an optimized module: targets add loop passes to every pipeline (AArch64's
// LoopIdiomVectorize), and these would bring all loops back into simplified form. Everything else that Clang
// sets up (library functions, tuning) is as for its own pipelines. `codegen` lives as long as Clang uses it.
void use_half_of_pipeline(clang::CodeGenOptions& codegen, AddHalf* add) {
  codegen.PassBuilderCallbacks.emplace_back([add, &codegen](llvm::PassBuilder& builder) {
    const llvm::OptimizationLevel level = optimization_level(codegen);
    const unsigned speed = codegen.OptimizationLevel, size = codegen.OptimizeSize;
    codegen.OptimizationLevel = 0;
    codegen.OptimizeSize = 0;
    const auto ended = std::make_shared<bool>(false);
    builder.getPassInstrumentationCallbacks()->registerShouldRunOptionalPassCallback(
        [ended](llvm::StringRef, llvm::Any) { return !*ended; });
    const auto end = [ended, &codegen, speed, size] {
      *ended = true;
      codegen.OptimizationLevel = speed;
      codegen.OptimizeSize = size;
    };
    builder.registerPipelineStartEPCallback(
        [&builder, add, level, end, added = false](llvm::ModulePassManager& passes,
                                                   llvm::OptimizationLevel) mutable {
          if (std::exchange(added, true)) // called by add_first_half()
            return;
          add(builder, passes, level);
          passes.addPass(EndOfHalf{{}, end});
        });
  });
}

// Code that is linked gets the pass after the link (device_link.cpp).
void add_for_ptxas(llvm::PassBuilder& builder) {
  builder.registerOptimizerLastEPCallback(
      [](llvm::ModulePassManager& passes, llvm::OptimizationLevel level, llvm::ThinOrFullLTOPhase phase) {
        if (level != llvm::OptimizationLevel::O0 && phase == llvm::ThinOrFullLTOPhase::None)
          passes.addPass(llvm::createModuleToFunctionPassAdaptor(ForPtxas()));
      });
}

// The back end reports errors through the context, not through Clang's diagnostics. The context's default
// handler would exit.
void collect_errors(llvm::LLVMContext& context, std::string& errors) {
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* sink) {
        if (info->getSeverity() != llvm::DS_Error)
          return;
        llvm::raw_string_ostream stream(*static_cast<std::string*>(sink));
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
        stream << "\n";
      },
      &errors);
}

// Sets an option of LLVM's while it lives. The option belongs to the process. A worker runs one job at a
// time; elsewhere, another job would only be slower.
class ScopedOption {
public:
  static Result<ScopedOption> create(llvm::StringRef assignment) { // "name=value"
    const auto [name, value] = assignment.split('=');
    llvm::cl::Option* const option = llvm::cl::getRegisteredOptions().lookup(name);
    if (!option)
      return make_error(ErrorKind::failed, "LLVM has no option " + name.str());
    option->addOccurrence(0, option->ArgStr, value);
    return ScopedOption(option);
  }
  ScopedOption(ScopedOption&& other) noexcept : option_(std::exchange(other.option_, nullptr)) {}
  ScopedOption& operator=(ScopedOption&&) = delete;
  ~ScopedOption() {
    if (option_)
      option_->reset();
  }

private:
  explicit ScopedOption(llvm::cl::Option* option) : option_(option) {}
  llvm::cl::Option* option_;
};

// Prevents this process from opening files while it lives. Inline assembly can read files when it is
// assembled (`.incbin`). A hostile module can build such a directive from pieces, where no search for its
// name finds it.
class NoFiles {
public:
  NoFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  NoFiles(const NoFiles&) = delete;
  NoFiles& operator=(const NoFiles&) = delete;
  ~NoFiles() { setrlimit(RLIMIT_NOFILE, &before_); }

private:
  rlimit before_{};
};

} // namespace

// Features that functions have and the target lacks: from the unit's flags and from attributes.
static OwnCode own_code(const llvm::Module& module, const target::Cpu& target) {
  OwnCode own;
  std::set<llvm::StringRef> seen;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration())
      continue;
    const llvm::StringRef features = function.getFnAttribute("target-features").getValueAsString();
    if (!seen.insert(features).second)
      continue;
    for (const std::string& feature : split(features.str(), ','))
      if (feature.starts_with("+") && target::is_feature(target.arch, feature.substr(1)) &&
          !std::binary_search(target.features.begin(), target.features.end(), feature.substr(1)))
        own.features.insert(feature.substr(1));
  }
  own.assembly = ir::has_assembly(module);
  return own;
}

static bool makes_kernels(Form form) {
  return form == Form::kernels || form == Form::checked_kernels;
}

// A module of the job. Clang's own options would verify it after every pass (and are off in its releases);
// once, here, a failure is an error message.
static Result<std::unique_ptr<llvm::Module>> load(const Job& job, const std::string& source,
                                                  const std::string& bitcode, llvm::LLVMContext& context) {
  llvm::Expected<std::unique_ptr<llvm::Module>> parsed =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, source), context);
  const auto refuse = [](const std::string& why) { return make_error(ErrorKind::integrity, why); };
  if (!parsed)
    return refuse(llvm::toString(parsed.takeError()));
  const llvm::Module& module = **parsed;
  const bool for_cpu = makes_kernels(job.form) || job.form == Form::kernel_forms;
  const std::string arch = for_cpu ? "nvptx64" : job.target.arch;
  if (module.getTargetTriple().getArchName() != arch)
    return refuse("the module is for " + module.getTargetTriple().str() + ", not for " + arch);
  if (!job.unit.offload.empty() && ir::wants_device_image(module))
    return refuse("its device code is linked, and the module has a place for it");
  std::string malformed;
  llvm::raw_string_ostream stream(malformed);
  if (llvm::verifyModule(module, &stream))
    return refuse("malformed IR: " + malformed.substr(0, malformed.find('\n')));
  XAAS_CHECK(ir::check_assembly(module));
  return std::move(*parsed);
}

static Result<std::unique_ptr<llvm::Module>> load(const Job& job, llvm::LLVMContext& context) {
  if (job.linked.empty())
    return load(job, job.unit.source, job.bitcode, context);
  std::vector<cpukernel::SourceModule> modules;
  for (const auto& [source, bitcode] : job.linked) {
    cpukernel::SourceModule& each = modules.emplace_back(source, nullptr);
    XAAS_TRY(each.module, load(job, source, bitcode, context).in(source));
  }
  return cpukernel::link_modules(std::move(modules), job.form == Form::checked_kernels);
}

namespace {

// What the back end needs besides the module.
struct Setup {
  std::string cpu;
  OwnCode own;
  std::shared_ptr<clang::CompilerInvocation> invocation;
  clang::BackendAction action;
};

} // namespace

static Result<Setup> set_up(const Job& job, llvm::Module& module) {
  target::Cpu cpu = job.target;
  if (job.form == Form::prepared) {
    XAAS_TRY(cpu, ir::preparation_cpu(module, job.target.arch));
    ir::note_targets(module);
  }
  const ir::InstructionSet set = ir::instruction_set(job.unit.machine, job.options, cpu);
  const bool cpu_is_fixed = !job.unit.machine.cpu.empty() && job.unit.machine.cpu != "native";
  // Sources with equal modules share the prepared one.
  XAAS_CHECK(ir::retarget(module, set, cpu_is_fixed, job.form == Form::prepared ? "" : job.unit.source));
  if (is_gpu(job.target))
    set_gpu_options(job.options, job.target);
  if (job.unit.has_device_image())
    XAAS_CHECK(ir::set_device_image(module, job.device_image));

  Setup setup{set.cpu, is_gpu(job.target) ? OwnCode() : own_code(module, job.target),
              std::make_shared<clang::CompilerInvocation>(),
              job.target.arch == "nvptx64" ? clang::Backend_EmitAssembly : clang::Backend_EmitObj};
  clang::CompilerInvocation& invocation = *setup.invocation;
  clang::CodeGenOptions& codegen = invocation.getCodeGenOpts();
  XAAS_CHECK(ir::apply_options(job.options, invocation));
  clang::TargetOptions& target = invocation.getTargetOpts();
  target.CPU = set.cpu;
  target.TuneCPU = set.tune;
  target.FeaturesAsWritten = set.machine;
  target.FeaturesAsWritten.insert(target.FeaturesAsWritten.end(), set.features.begin(), set.features.end());
  codegen.VerifyModule = 0;
  codegen.VerifyEach = 0;
  set_own_profile(job.profiling, codegen);
  if (job.form == Form::working)
    make_working(codegen);
  if (setup.action == clang::Backend_EmitAssembly)
    codegen.PassBuilderCallbacks.emplace_back(add_for_ptxas);
  for (const PluginUse& use : job.plugins) {
    codegen.PassPlugins.push_back(use.plugin.file.string());
    codegen.VerifyModule = 1;
  }
  // Of a link that merges its units, the author asked for LTO, and answers for what these can be combined
  // with.
  const bool suits = job.form == Form::lto
                         ? ir::only_instructions(module)
                         : ir::suits_lto(module) && !ir::exports_any(module, job.interposed);
  if (is_for_lto(job.form) && !is_gpu(job.target) && suits) {
    XAAS_CHECK(ir::set_plain_attributes(module, set));
    ir::keep_sections(module);
    if (job.form == Form::lto)
      codegen.PrepareForLTO = 1;
    else
      codegen.PrepareForThinLTO = 1;
    if (job.prepared && job.plugins.empty()) // only the summary is missing
      codegen.OptimizationLevel = 0;
    setup.action = clang::Backend_EmitBC;
  }
  if (job.form == Form::prepared) {
    use_half_of_pipeline(codegen, add_first_half);
    setup.action = clang::Backend_EmitNothing;
  }
  if (job.form == Form::lto && is_gpu(job.target)) {
    keep_kernel_options(module, job.options);
    codegen.PrepareForLTO = 1;
    setup.action = clang::Backend_EmitBC;
  }
  return setup;
}

// `errors` collects what Clang and the back end report.
static Result<Object> emit(const Job& job, llvm::Module& module, Setup setup, std::string& errors,
                           const OutputLimit& limit) {
  const auto match = std::make_shared<ProfileMatch>();
  add_profiling(job.profiling, match, setup.invocation->getCodeGenOpts());
  llvm::raw_string_ostream error_stream(errors);
  clang::CompilerInstance compiler(setup.invocation);
  compiler.createVirtualFileSystem(file_system_with(job.profiling));
  compiler.createDiagnostics(
      new clang::TextDiagnosticPrinter(error_stream, setup.invocation->getDiagnosticOpts()));
  compiler.setTarget(
      clang::TargetInfo::CreateTargetInfo(compiler.getDiagnostics(), setup.invocation->getTargetOpts()));
  if (!compiler.hasTarget())
    return make_error(ErrorKind::integrity, describe(job) + ": " + errors);
  if (is_gpu(job.target))
    if (Result<void> linked = link_gpu_libraries(module, job.libraries, compiler); !linked)
      return make_error(linked.error().kind, describe(job) + ": " + linked.error().message +
                                                 (errors.empty() ? "" : ": " + errors));

  compiler.LoadRequestedPlugins(); // which this process has loaded

  std::vector<ScopedOption> for_profile;
  if (job.profiling.kind == Profiling::Kind::use)
    for (const std::string& option : profile_options(job.profiling.cold_for_size)) {
      XAAS_TRY(ScopedOption scoped, ScopedOption::create(option));
      for_profile.push_back(std::move(scoped));
    }
  const NoFiles no_files;
  BoundedOutput object{limit};
  clang::CodeGenOptions& codegen = compiler.getCodeGenOpts();
  // With counts, the first half does better. Passes of plugins have their places in the whole.
  const bool again = job.profiling.kind == Profiling::Kind::use || !job.plugins.empty();
  if (job.prepared && setup.action == clang::Backend_EmitObj && !again)
    use_half_of_pipeline(codegen, add_second_half);
  clang::emitBackendOutput(compiler, codegen, compiler.getTarget().getDataLayoutString(), &module,
                           setup.action, compiler.getVirtualFileSystemPtr(),
                           std::make_unique<BoundedStream>(object));
  if (job.form == Form::prepared) {
    ir::restore_targets(module);
    BoundedStream stream(object);
    // With the order of uses, on which decisions of later passes depend.
    llvm::WriteBitcodeToFile(module, stream, /*ShouldPreserveUseListOrder=*/true);
  }
  if (compiler.getDiagnostics().hasErrorOccurred() || !errors.empty())
    return make_error(ErrorKind::failed, describe(job) + " for " + setup.cpu + ": " + errors);
  if (object.exceeded())
    return make_error(ErrorKind::failed,
                      describe(job) + ": an object of more than " + std::to_string(limit.bytes) + " bytes");
  Object made{std::string(object.bytes), std::move(setup.own), {}};
  made.profilable = std::move(match->functions);
  made.profiled = std::move(match->matched);
  if (is_gpu(job.target) || job.form == Form::working || job.form == Form::prepared)
    return made;
  XAAS_TRY(ir::Symbols symbols,
           ir::symbols_of(llvm::MemoryBufferRef(made.bytes, job.unit.source)).in(describe(job)));
  made.wanted = std::move(symbols.wanted);
  return made;
}

static Object symbols_object(llvm::Module& module) {
  std::optional<ir::Symbols> symbols = ir::symbols_of(module);
  if (!symbols)
    return {};
  return {to_bytes(symbols->defined), {}, std::move(symbols->wanted)};
}

// The module gets its kernels for a CPU.
static Result<std::vector<cpukernel::Kernel>> make_kernels(const Job& job, llvm::Module& module) {
  const auto has = [&](const char* feature) {
    return std::binary_search(job.target.features.begin(), job.target.features.end(), feature);
  };
  const cpukernel::Options options{.vector_masks = has("sve") || (has("avx512bw") && has("avx512vl")),
                                   .checked = job.form == Form::checked_kernels};
  return cpukernel::make_cpu_module(module, job.target.arch, job.unit.id().hex(), options).in(describe(job));
}

static Result<Object> kernel_forms(const Job& job, llvm::Module& module) {
  XAAS_TRY(std::vector<cpukernel::Kernel> kernels, make_kernels(job, module));
  return Object{{}, {}, {}, std::move(kernels)};
}

// The module with its kernels for a CPU becomes a module like any other: with the optimization level of the
// device code, and nothing else of its options, which are a GPU's.
static Result<Object> lower_kernels(const Job& job, llvm::Module& module, std::string& errors,
                                    const OutputLimit& limit) {
  XAAS_TRY(std::vector<cpukernel::Kernel> kernels, make_kernels(job, module));
  Job host;
  host.unit.source = job.unit.source;
  host.unit.module = job.unit.module;
  host.target = job.target;
  host.options.text["triple"] = target::triple(job.target.arch);
  const auto level = job.options.codegen.find("OptimizationLevel");
  host.options.codegen["OptimizationLevel"] = level == job.options.codegen.end() ? 0 : level->second;
  if (host.options.codegen["OptimizationLevel"] > 1)
    for (const char* option : {"VectorizeLoop", "VectorizeSLP", "UnrollLoops"})
      host.options.codegen[option] = 1;
  host.options.codegen["UseInitArray"] = 1;
  XAAS_TRY(Setup setup, set_up(host, module).in(describe(job)));
  XAAS_TRY(const ScopedOption without, ScopedOption::create(cpukernel::llvm_option));
  XAAS_TRY(Object object, emit(host, module, std::move(setup), errors, limit));
  object.kernels = std::move(kernels);
  return object;
}

Result<Object> lower(const Job& job, const OutputLimit& limit, const std::function<Result<void>()>& loaded) {
  XAAS_CHECK(load_plugins(job.plugins).in(describe(job)));
  if (loaded)
    XAAS_CHECK(loaded());
  XAAS_CHECK(set_plugin_options(job.plugins).in(describe(job)));
  ir::initialize_back_ends();
  std::string errors;
  llvm::LLVMContext context;
  collect_errors(context, errors);
  context.setDiscardValueNames(true); // as Clang does: they cost time, and bytes in prepared modules and PTX
  XAAS_TRY(const std::unique_ptr<llvm::Module> module, load(job, context).in(describe(job)));
  if (job.form == Form::symbols)
    return symbols_object(*module);
  if (makes_kernels(job.form))
    return lower_kernels(job, *module, errors, limit);
  if (job.form == Form::kernel_forms)
    return kernel_forms(job, *module);
  XAAS_TRY(Setup setup, set_up(job, *module).in(describe(job)));
  return emit(job, *module, std::move(setup), errors, limit);
}

} // namespace xaas::lower
