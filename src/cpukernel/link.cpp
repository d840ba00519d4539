// Problem: with relocatable device code, a kernel calls functions and uses variables of other sources. All
// that depends on the thread must be inlined into a kernel before its threads become loops (cpukernel.cpp),
// so the sources cannot be made for the CPU one by one and left to the linker.
//
//     a.cu: extern __device__ float scale; __device__ float twice(float);
//           __global__ void k(float* a) { a[threadIdx.x] = scale * twice(a[threadIdx.x]); }
//     b.cu: __device__ float scale = 3; __device__ float twice(float x) { return 2 * x; }
//
// Approach: link the modules of a.cu and b.cu as the front end made them, and keep the kernels, `scale`,
// which the host can name, and what these need. All members of an archive take part; of a library of device
// code most of it is dropped here.
//
// Rejected: LTO, as for GPUs (lower/device_link.cpp). Its first half optimizes each unit for a GPU: it takes
// loops and branches into a form that is good for threads, and not for loops over them. Modules of units with
// other options contradict each other in their flags, but these say nothing to a CPU, and are dropped.
#include "checks.h"
#include "normalise.h"

#include <xaas/cpukernel/link.h>

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Internalize.h>

namespace xaas::cpukernel {

namespace {

bool is_kernel(const llvm::GlobalValue& value) {
  const auto* function = llvm::dyn_cast<llvm::Function>(&value);
  return function && function->getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

// Collects errors of LLVM while it lives. Otherwise the context's own handler may end the process.
class CollectedErrors {
public:
  explicit CollectedErrors(llvm::LLVMContext& context)
      : context_(context), before_(context.getDiagnosticHandler()) {
    context.setDiagnosticHandler(std::make_unique<Handler>(text));
  }
  ~CollectedErrors() { context_.setDiagnosticHandler(std::move(before_)); }
  CollectedErrors(const CollectedErrors&) = delete;
  CollectedErrors& operator=(const CollectedErrors&) = delete;

  std::string text;

private:
  struct Handler : llvm::DiagnosticHandler {
    explicit Handler(std::string& text) : text(text) {}
    bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
      if (info.getSeverity() != llvm::DS_Error)
        return true;
      llvm::raw_string_ostream stream(text);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
      return true;
    }
    std::string& text;
  };

  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> before_;
};

class ModuleLinker {
public:
  ModuleLinker(std::vector<SourceModule> modules, bool keep_lines)
      : modules_(std::move(modules)), keep_lines_(keep_lines) {}

  Result<std::unique_ptr<llvm::Module>> run() {
    for (SourceModule& each : modules_) {
      strip(*each.module);
      XAAS_CHECK(compare_kinds(each));
      XAAS_CHECK(note_definitions(each));
      note_declarations(each);
      for (llvm::Function& function : *each.module)
        if (is_kernel(function) && !function.isDeclaration())
          function.addFnAttr(source_attribute, each.source);
    }
    std::unique_ptr<llvm::Module> whole = std::move(modules_.front().module);
    XAAS_CHECK(link(*whole));
    drop_unneeded(*whole);
    XAAS_CHECK(check_references(*whole));
    return whole;
  }

private:
  // What a CPU has no use for: flags, debug information, and lists of what a GPU's linker must keep.
  void strip(llvm::Module& module) const {
    if (keep_lines_)
      keep_places(module); // here, where functions have their own names still
    else
      llvm::StripDebugInfo(module);
    if (llvm::NamedMDNode* flags = module.getModuleFlagsMetadata())
      module.eraseNamedMetadata(flags);
    for (const char* list : {"llvm.used", "llvm.compiler.used"})
      if (llvm::GlobalVariable* used = module.getGlobalVariable(list))
        used->eraseFromParent();
  }

  // LLVM's linker lets a variable be a function elsewhere.
  Result<void> compare_kinds(const SourceModule& of) {
    for (const llvm::GlobalValue& value : of.module->global_values()) {
      if (value.hasLocalLinkage() || value.hasAppendingLinkage())
        continue;
      const bool is_function = llvm::isa_and_nonnull<llvm::Function>(value.getAliaseeObject());
      const auto known = kinds_.emplace(value.getName().str(), Kind{of.source, is_function}).first;
      if (const Kind& first = known->second; first.is_function != is_function)
        return make_error(ErrorKind::failed,
                          value.getName().str() + " is a " + (is_function ? "variable" : "function") +
                              " in " + first.source + " and a " + (is_function ? "function" : "variable") +
                              " in " + of.source);
    }
    return {};
  }

  // Of a symbol's definitions, the strong one prevails, else the first weak one.
  Result<void> note_definitions(const SourceModule& of) {
    for (const llvm::GlobalValue& value : of.module->global_values()) {
      if (value.isDeclarationForLinker() || value.hasLocalLinkage() || value.hasAppendingLinkage())
        continue;
      const bool weak = value.isWeakForLinker();
      const auto [known, first] = definitions_.emplace(value.getName().str(), Definition{of.source, weak});
      if (first || weak)
        continue;
      if (!known->second.weak)
        return make_error(ErrorKind::failed, value.getName().str() + " is defined in " +
                                                 known->second.source + " and in " + of.source);
      known->second = {of.source, false};
    }
    return {};
  }

  // The first source that declares a variable or a function.
  void note_declarations(const SourceModule& of) {
    for (const llvm::GlobalValue& value : of.module->global_values())
      if (value.isDeclarationForLinker())
        declarations_.emplace(value.getName().str(), of.source);
  }

  Result<void> link(llvm::Module& whole) {
    CollectedErrors errors(whole.getContext());
    llvm::Linker linker(whole);
    for (size_t i = 1; i < modules_.size(); ++i)
      if (linker.linkInModule(std::move(modules_[i].module)) || !errors.text.empty())
        return make_error(ErrorKind::failed,
                          modules_[i].source + " contradicts sources that it is linked with: " + errors.text);
    return {};
  }

  static void drop_unneeded(llvm::Module& module) {
    llvm::internalizeModule(module, [](const llvm::GlobalValue& value) {
      const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&value);
      return is_kernel(value) || (variable && variable->isExternallyInitialized());
    });
    llvm::ModuleAnalysisManager analyses; // it needs none
    llvm::GlobalDCEPass().run(module, analyses);
  }

  // Calls of functions that are not there are refused kernel by kernel, because CUDA has some (library.cpp).
  // Anything else might find a symbol of the host.
  Result<void> check_references(const llvm::Module& module) const {
    for (const llvm::GlobalValue& value : module.global_values())
      if (value.isDeclaration() && !value.hasExternalWeakLinkage() && needs_definition(value))
        return make_error(ErrorKind::failed, value.getName().str() + ", which " +
                                                 declarations_.at(value.getName().str()) +
                                                 " uses, is defined in no source that it is linked with");
    return {};
  }

  static bool needs_definition(const llvm::GlobalValue& value) {
    if (const auto* function = llvm::dyn_cast<llvm::Function>(&value))
      return !function->isIntrinsic() && function->hasAddressTaken();
    // A declaration of shared memory is the memory that a launch asks for.
    return !value.use_empty() && value.getAddressSpace() != AddressSpace::shared;
  }

  struct Definition {
    std::string source;
    bool weak;
  };
  struct Kind {
    std::string source;
    bool is_function;
  };

  std::vector<SourceModule> modules_;
  bool keep_lines_;
  std::map<std::string, Kind> kinds_;
  std::map<std::string, Definition> definitions_;
  std::map<std::string, std::string> declarations_;
};

} // namespace

Result<std::unique_ptr<llvm::Module>> link_modules(std::vector<SourceModule> modules, bool keep_lines) {
  return ModuleLinker(std::move(modules), keep_lines).run();
}

} // namespace xaas::cpukernel
