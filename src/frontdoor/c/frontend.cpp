#include "c/frontend.h"

#include "c/lock_free_queries.h"
#include "c/wide_vectors.h"
#include "standard_input.h"

#include <xaas/ir/back_ends.h>
#include <xaas/ir/device_image.h>
#include <xaas/ir/needed_features.h>
#include <xaas/ir/vector_returns.h>
#include <xaas/known/include_names.h>
#include <xaas/known/known.h>
#include <xaas/link/note.h>

#include <clang/AST/ASTContext.h>
#include <clang/AST/Attr.h>
#include <clang/AST/Decl.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/ChainedDiagnosticConsumer.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace xaas::frontdoor {

namespace {

// The target attribute of a function in the source, in FeatureResolver's form.
std::string written_target(clang::CodeGenerator& generator, const llvm::Function& function) {
  const auto* declaration =
      llvm::dyn_cast_or_null<clang::FunctionDecl>(generator.GetDeclForMangledName(function.getName()));
  if (!declaration)
    return {};
  declaration = declaration->getMostRecentDecl();
  if (const auto* target = declaration->getAttr<clang::TargetAttr>())
    return "target:" + target->getFeaturesStr().str();
  if (const auto* clones = declaration->getAttr<clang::TargetClonesAttr>()) {
    // Mangled as <name>.<version>.<index>, with "arch=x" as "arch_x". A version that is written twice gives
    // one function.
    const llvm::StringRef mangled = function.getName().rsplit('.').first;
    for (unsigned i = 0; i < clones->featuresStrs_size(); ++i) {
      std::string version = clones->getFeatureStr(i).str();
      std::replace(version.begin(), version.end(), '=', '_');
      if (mangled.ends_with("." + version))
        return "clone:" + clones->getFeatureStr(i).str();
    }
    return "other";
  }
  if (declaration->hasAttr<clang::CPUSpecificAttr>() || declaration->hasAttr<clang::CPUDispatchAttr>() ||
      declaration->hasAttr<clang::TargetVersionAttr>())
    return "other";
  return {};
}

// True if `holds` accepts a string constant or a part of one.
template <typename Predicate> bool any_data(const llvm::Constant& constant, const Predicate& holds) {
  if (const auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(&constant))
    return holds(std::string_view(data->getRawDataValues()));
  // A long array that ends in zeros is a structure of two arrays.
  if (const auto* parts = llvm::dyn_cast<llvm::ConstantAggregate>(&constant))
    for (const llvm::Use& part : parts->operands())
      if (const auto* each = llvm::dyn_cast<llvm::Constant>(part.get()); each && any_data(*each, holds))
        return true;
  return false;
}

template <typename Predicate> bool any_data(const llvm::Module& module, const Predicate& holds) {
  return llvm::any_of(module.globals(), [&](const llvm::GlobalVariable& variable) {
    return variable.hasInitializer() && any_data(*variable.getInitializer(), holds);
  });
}

// True if an array (`xxd -i`) holds an object or program of this build. Deploying would ship the working code
// in it.
bool embeds_captured_code(const llvm::Module& module) {
  return any_data(module, [](std::string_view data) { return !link::find_note_bytes(data).empty(); });
}

// True if the module registers a fat binary of CUDA; Clang and nvcc both use this section.
bool registers_device_code(const llvm::Module& module) {
  return std::any_of(module.global_begin(), module.global_end(), [](const llvm::GlobalVariable& variable) {
    return variable.getSection() == ".nvFatBinSegment";
  });
}

// True if data names directories of the build, which do not exist where the program will run.
bool names_places(const llvm::Module& module, const session::Session& session) {
  return any_data(module, [&](std::string_view data) {
    return std::any_of(session.prefixes.begin(), session.prefixes.end(), [&](const auto& prefix) {
      return data.find(prefix.first.string()) != std::string_view::npos;
    });
  });
}

// Relocatable device code: Clang gives a static variable that the host names a suffix, so that the host can
// look it up (CodeGenModule::printPostfixForExternalizedDecl()). A kernel that comes before the first such
// use names the variable without the suffix, and nothing defines that.
//
//     static __device__ int calls;
//     __global__ void k() { ++calls; }                                  // calls
//     void* address() { void* p; cudaGetSymbolAddress(&p, calls); ... }  // calls__static__b04fd7
void join_static_variables(llvm::Module& module) {
  for (llvm::GlobalVariable& used : llvm::make_early_inc_range(module.globals())) {
    if (!used.isDeclaration())
      continue;
    for (llvm::GlobalVariable& defined : module.globals()) {
      llvm::StringRef name = defined.getName();
      if (defined.isDeclaration() || defined.getType() != used.getType() ||
          !name.consume_front(used.getName()) ||
          !(name.starts_with("__static__") || name.starts_with(".static."))) // of CUDA and of HIP
        continue;
      used.replaceAllUsesWith(&defined);
      used.eraseFromParent();
      break;
    }
  }
}

// Does not count settings of OpenMP's run-time library, which Clang adds to every module of device code.
bool has_definitions(const llvm::Module& module) {
  const auto defines = [](const llvm::GlobalValue& value) {
    return !value.isDeclaration() && !value.getName().starts_with("__omp_rtl_") &&
           !value.getName().starts_with("llvm.");
  };
  return llvm::any_of(module.functions(), defines) || llvm::any_of(module.globals(), defines);
}

// True for registers that an instruction set may lack, or give to inline assembly in another width.
bool names_vector_register(const llvm::InlineAsm& assembly) {
  for (const llvm::InlineAsm::ConstraintInfo& constraint : assembly.ParseConstraints())
    for (const std::string& code : constraint.Codes) {
      const bool is_register = llvm::StringRef(code).starts_with("{");
      if (is_register ? code.find("mm") != std::string::npos || llvm::StringRef(code).starts_with("{k")
                      : code.find_first_of("xvkyY") != std::string::npos)
        return true;
    }
  return false;
}

// True for atomics that x86 has only with cx16.
bool is_wide_atomic(const llvm::Instruction& instruction) {
  if (!instruction.isAtomic())
    return false;
  const llvm::Type* type = instruction.getType();
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
    type = store->getValueOperand()->getType();
  else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
    type = exchange->getCompareOperand()->getType();
  return type->isSized() && type->getPrimitiveSizeInBits() > 64;
}

// True if an atomic operation is a call of libatomic, which a wider instruction set may have inline.
bool calls_atomic_library(const llvm::Module& module) {
  return llvm::any_of(module.functions(), [](const llvm::Function& function) {
    return function.getName().starts_with("__atomic_");
  });
}

bool is_half(const llvm::Type* type) {
  const llvm::Type* scalar = type->getScalarType();
  return scalar->isHalfTy() || scalar->isBFloatTy();
}

// Features decide whether arithmetic of half precision is widened.
bool has_half(const llvm::Instruction& instruction) {
  return is_half(instruction.getType()) || llvm::any_of(instruction.operands(), [](const llvm::Use& operand) {
           return is_half(operand->getType());
         });
}

// True if a function has a target attribute that does more than add features. Such a function may be without
// features that the rest of the source has, and Clang refuses to inline other functions into it.
bool takes_features_away(const llvm::Module& module) {
  return llvm::any_of(module, [](const llvm::Function& function) {
    llvm::StringRef written = function.getFnAttribute(ir::written_attribute).getValueAsString();
    if (written.empty())
      return false;
    if (!written.consume_front("target:"))
      return true;
    return llvm::any_of(llvm::split(written, ','), [](llvm::StringRef part) {
      return part.trim().starts_with("no-") || part.contains('=');
    });
  });
}

// True for a vector of more than 128 bits, and for a type that has one inside.
bool holds_wide_vector(const llvm::Type* type) {
  if (!type)
    return false;
  if (type->isVectorTy())
    return type->getPrimitiveSizeInBits().getKnownMinValue() > 128;
  return llvm::any_of(type->subtypes(), holds_wide_vector);
}

// True for a value in memory that may be in a register of more than 128 bits with other features: one with
// such an alignment, or with such a vector in it.
bool may_be_wide(const llvm::Type* type, llvm::MaybeAlign align, const llvm::DataLayout& layout) {
  return align.value_or(type->isSized() ? layout.getABITypeAlign(const_cast<llvm::Type*>(type))
                                        : llvm::Align())
                 .value() > 16 ||
         holds_wide_vector(type);
}

// The same for what a call passes or returns through memory.
bool passes_wide(const llvm::CallBase& call, const llvm::DataLayout& layout) {
  for (unsigned i = 0; i < call.arg_size(); ++i)
    for (const llvm::Type* type : {call.getParamByValType(i), call.getParamStructRetType(i)})
      if (type && may_be_wide(type, call.getParamAlign(i), layout))
        return true;
  return false;
}

// True if a function takes, returns or computes a vector that not every instruction set has, also through
// memory.
bool uses_wide_vectors(const llvm::Function& function) {
  const llvm::DataLayout& layout = function.getDataLayout();
  if (holds_wide_vector(function.getFunctionType()))
    return true;
  for (const llvm::Argument& argument : function.args())
    if (const llvm::Type* type = argument.getPointeeInMemoryValueType();
        type && may_be_wide(type, argument.getParamAlign(), layout))
      return true;
  return llvm::any_of(llvm::instructions(function), [&](const llvm::Instruction& instruction) {
    if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
      return may_be_wide(variable->getAllocatedType(), variable->getAlign(), layout);
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return (call && passes_wide(*call, layout)) || holds_wide_vector(instruction.getType()) ||
           llvm::any_of(instruction.operands(),
                        [](const llvm::Use& operand) { return holds_wide_vector(operand->getType()); });
  });
}

// True if code reads variable arguments.
bool reads_variable_arguments(const llvm::Module& module) {
  return llvm::any_of(module.getIdentifiedStructTypes(), [](const llvm::StructType* type) {
    return type->getName().starts_with("struct.__va_list_tag");
  });
}

// The module's witness (known.cpp): nothing in it depends on features that only add instructions, but that
// functions may need some.
bool module_is_plain(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (uses_wide_vectors(function))
      return false;
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (is_wide_atomic(instruction) || has_half(instruction))
        return false;
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
            assembly && names_vector_register(*assembly))
          return false;
    }
  }
  return true;
}

ir::VscaleLimits vscale_limits(const clang::LangOptions& options) {
  return {options.VScaleMin, options.VScaleMax, options.VScaleStreamingMin, options.VScaleStreamingMax};
}

class CaptureAction : public clang::ASTFrontendAction {
public:
  CaptureAction(FrontendResult& result, const session::Session& session, known::TokenListener* listener)
      : result_(result), session_(session), listener_(listener), context_(*new llvm::LLVMContext) {
    context_.setDiscardValueNames(true);
  }

protected:
  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    known::keep_names_in_includes(compiler);
    if (listener_)
      listener_->attach(compiler);
    return true;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef file) override {
    const clang::TargetOptions& options = compiler.getTargetOpts();
    emitted_ = {options.Triple,
                options.ABI,
                options.FPMath,
                options.CPU,
                options.TuneCPU,
                options.FeaturesAsWritten,
                {},
                vscale_limits(compiler.getLangOpts())};
    std::unique_ptr<clang::CodeGenerator> generator = clang::CreateLLVMCodeGen(compiler, file, context_);
    generator_ = generator.get();
    return generator;
  }

  void EndSourceFileAction() override {
    llvm::Module* module =
        getCompilerInstance().getDiagnostics().hasErrorOccurred() ? nullptr : generator_->GetModule();
    if (!module)
      return;
    if (listener_)
      result_.preprocessed = listener_->finish(getCompilerInstance());
    result_.needs_optimization = ir::needs_optimization(
        *module, [&](const llvm::Function& function) { return is_of_system(function); });
    if (is_for_gpu())
      join_static_variables(*module);
    finish_module(session_, *module, [this](llvm::Module& each) { return canonicalize(each); }, result_);
    const bool plain = result_.refusal.empty() && !is_for_gpu() && is_plain(*module);
    result_.plain = result_.refusal.empty() && (is_for_gpu() || (plain && !needs_features(*module)));
    result_.upward = plain && !result_.plain && !takes_features_away(*module);
    if (result_.upward)
      result_.needed_features = features_above_lowest_level(*module);
    const LockFreeQueries queries = lock_free_queries(getCompilerInstance().getASTContext());
    result_.lock_free_queries = queries.written;
    result_.reads_wide_atomics = queries.wide || calls_atomic_library(*module);
  }

private:
  bool is_for_gpu() const { return getCompilerInstance().getLangOpts().CUDAIsDevice; }

  bool is_plain(const llvm::Module& module) const {
    if (result_.module.fixed_functions != 0 || !module_is_plain(module))
      return false;
    const WideVectors wide = wide_vectors(getCompilerInstance());
    return !wide.hidden && !(wide.any && reads_variable_arguments(module));
  }

  bool is_of_system(const llvm::Function& function) {
    const clang::Decl* declaration = generator_->GetDeclForMangledName(function.getName());
    return declaration &&
           getCompilerInstance().getSourceManager().isInSystemHeader(declaration->getLocation());
  }

  bool is_of_clang(const llvm::Function& function) const {
    const clang::Decl* const declaration = generator_->GetDeclForMangledName(function.getName());
    const clang::SourceManager& sources = getCompilerInstance().getSourceManager();
    return declaration && known::is_header_of_clang(
                              sources, sources.getFileID(sources.getExpansionLoc(declaration->getLocation())),
                              getCompilerInstance().getHeaderSearchOpts());
  }

  std::optional<std::vector<std::string>> features_above_lowest_level(const llvm::Module& module) const {
    if (!getCompilerInstance().getTarget().getTriple().isX86_64())
      return std::nullopt;
    ir::InstructionSet lowest = emitted_;
    lowest.cpu = target::isa_levels(session_.arch).front();
    lowest.tune.clear();
    lowest.features = known::features_of_meaning(emitted_.features);
    auto needed = ir::needed_features(
        module, lowest, [this](const llvm::Function& function) { return is_of_clang(function); });
    return needed ? *std::move(needed) : std::nullopt;
  }

  Result<ir::CanonicalModule> canonicalize(llvm::Module& module) {
    XAAS_TRY(const ir::FeatureResolver resolver, ir::FeatureResolver::create(emitted_));
    XAAS_TRY(const ir::TargetAttributes plain, resolver.attributes({}));
    XAAS_TRY(result_.vector_returns,
             ir::fix_vector_returns(module, plain, [&](const llvm::Function& function) {
               const auto* declaration = llvm::dyn_cast_or_null<clang::FunctionDecl>(
                   generator_->GetDeclForMangledName(function.getName()));
               return declaration && declaration->isMultiVersion();
             }));
    return ir::canonicalize(module, resolver, [&](const llvm::Function& function) {
      return written_target(*generator_, function);
    });
  }

  FrontendResult& result_;
  const session::Session& session_;
  known::TokenListener* listener_;
  llvm::LLVMContext& context_; // never freed, like Clang's AST (-disable-free), because the process ends soon
  ir::InstructionSet emitted_;
  clang::CodeGenerator* generator_ = nullptr; // owned by the compiler instance
};

} // namespace

bool needs_features(const llvm::Module& module) {
  return llvm::any_of(module, [](const llvm::Function& function) {
    return function.hasFnAttribute(ir::written_attribute) || function.isTargetIntrinsic();
  });
}

void finish_module(const session::Session& session, llvm::Module& module,
                   const std::function<Result<ir::CanonicalModule>(llvm::Module&)>& canonicalize,
                   FrontendResult& result) {
  result.compiled = true;
  if (embeds_captured_code(module)) {
    result.refusal = "data with code of this build in it";
    return;
  }
  result.names_places = names_places(module, session);
  result.wants_device_image = ir::wants_device_image(module);
  if (!result.wants_device_image && registers_device_code(module)) {
    result.refusal =
        "the host's part of a source whose device code nvcc made, which was called by its own path";
    return;
  }
  result.has_definitions = has_definitions(module);
  if (session.strip_debug)
    llvm::StripDebugInfo(module);
  Result<ir::CanonicalModule> canonical = canonicalize(module);
  if (canonical)
    result.module = *std::move(canonical);
  else
    result.refusal = canonical.error().message;
}

FrontendResult run_frontend(const session::Session& session,
                            std::shared_ptr<clang::CompilerInvocation> invocation,
                            llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files,
                            const clang::TextDiagnosticBuffer* messages, known::TokenListener* listener) {
  ir::initialize_back_ends(); // Clang's parser asks for the target of assembly in Microsoft's form
  FrontendResult result;
  // Messages are collected, because a later compile that finds this outcome prints them again.
  llvm::raw_string_ostream said(result.messages);
  said.enable_colors(true); // the invocation decides whether there are any
  clang::CompilerInstance compiler(std::move(invocation));
  compiler.createVirtualFileSystem(std::move(files));
  compiler.setVerboseOutputStream(said);
  std::unique_ptr<clang::DiagnosticConsumer> consumer;
  if (messages)
    consumer = std::make_unique<clang::TextDiagnosticPrinter>(said, compiler.getDiagnosticOpts());
  else
    consumer = std::make_unique<clang::IgnoringDiagConsumer>();
  if (listener)
    consumer = std::make_unique<clang::ChainedDiagnosticConsumer>(&listener->messages(), std::move(consumer));
  compiler.createDiagnostics(consumer.release());
  if (!compiler.hasDiagnostics())
    return result;
  if (messages)
    messages->FlushDiagnostics(compiler.getDiagnostics());
  CaptureAction action(result, session, listener);
  rewind_standard_input();
  if (!compiler.ExecuteAction(action))
    result.compiled = false;
  return result;
}

} // namespace xaas::frontdoor
