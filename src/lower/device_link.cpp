// Problem: relocatable device code calls functions and names variables of other units, but no linker here can
// join the objects of a GPU back end: NVIDIA's format needs NVIDIA's own linker, nvlink. Approach: link IR
// with LLVM's LTO. Each unit first runs LTO's pre-link pipeline with its own options, where libdevice is
// linked and options that a front end leaves to later passes are read. The result is one whole module, which
// an assembler or a driver accepts like any other. Rejected: nvlink, a second vendor tool on the target,
// which inlines no calls across units; linking modules as they are, because the module flags of units with
// different options contradict each other.
#include "bounded_stream.h"
#include "for_ptxas.h"
#include "gpu_libraries.h"

#include <xaas/base/worker.h>
#include <xaas/ir/back_ends.h>
#include <xaas/ir/options.h>
#include <xaas/lower/device_link.h>

#include <clang/Basic/LangOptions.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <llvm/Frontend/Offloading/OffloadWrapper.h>
#include <llvm/Frontend/Offloading/Utility.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/LTO/LTO.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/OffloadBinary.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unistd.h>

namespace xaas::lower {

namespace {

constexpr const char* optimization_key = "OptimizationLevel";
constexpr const char* contraction_key = "DefaultFPContractMode";

void raise(std::map<std::string, int64_t>& values, const std::string& name, int64_t value) {
  int64_t& present = values.try_emplace(name, value).first->second;
  present = std::max(present, value);
}

class DeviceLinker {
public:
  DeviceLinker(const std::vector<DeviceInput>& inputs, const std::vector<std::string>& libraries,
               const target::Cpu& gpu, const std::vector<std::string>& features)
      : inputs_(inputs), libraries_(libraries) {
    std::vector<ir::UnitOptions> all;
    for (const DeviceInput& input : inputs)
      all.push_back(input.options);
    options_ = link_options(all);
    target_ = gpu;
    config_.CPU = gpu.name;
    config_.MAttrs = features;
  }

  Result<std::string> run() {
    ir::initialize_back_ends();
    set_gpu_options(options_, target_);
    XAAS_CHECK(configure());
    llvm::lto::LTO lto(std::move(config_));
    XAAS_CHECK(read_inputs());
    for (size_t i = 0; i < inputs_.size(); ++i)
      XAAS_CHECK(add(lto, i));
    BoundedOutput output{{max_object, [] { _exit(too_large_status); }}};
    const auto stream = [&](unsigned,
                            const llvm::Twine&) -> llvm::Expected<std::unique_ptr<llvm::CachedFileStream>> {
      return std::make_unique<llvm::CachedFileStream>(std::make_unique<BoundedStream>(output));
    };
    llvm::Error error = lto.run(stream);
    if (library_error_) {
      llvm::consumeError(std::move(error));
      return make_error(library_error_->kind,
                        library_error_->message + (errors_.empty() ? "" : ": " + errors_));
    }
    if (error)
      return failed(llvm::toString(std::move(error)));
    if (!errors_.empty())
      return failed(errors_);
    return std::string(output.bytes);
  }

private:
  static Error failed(const std::string& what) { return make_error(ErrorKind::failed, what); }

  Result<void> configure() {
    auto shared = std::make_shared<clang::CompilerInvocation>();
    clang::CompilerInvocation& invocation = *shared;
    XAAS_CHECK(ir::apply_options(options_, invocation));
    XAAS_CHECK(offer_libraries(shared));
    const unsigned level = std::min(invocation.getCodeGenOpts().OptimizationLevel, 3u);
    config_.OptLevel = level;
    config_.CGOptLevel = *llvm::CodeGenOpt::getLevel(static_cast<int>(level));
    config_.PTO.LoopVectorization = level > 1;
    config_.PTO.SLPVectorization = level > 1;
    config_.CGFileType =
        target_.arch == "nvptx64" ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
    config_.RelocModel = llvm::Reloc::PIC_;
    config_.Options.UseInitArray = true;
    if (invocation.getLangOpts().getDefaultFPContractMode() == clang::LangOptions::FPM_Fast)
      config_.Options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
    if (target_.arch == "nvptx64" && level > 0)
      config_.PreCodeGenModuleHook = [](unsigned, const llvm::Module& module) {
        suit_ptxas(const_cast<llvm::Module&>(module)); // as in offer_libraries()
        return true;
      };
    config_.DiagHandler = [this](const llvm::DiagnosticInfo& info) {
      if (info.getSeverity() != llvm::DS_Error)
        return;
      llvm::raw_string_ostream stream(errors_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    };
    return {};
  }

  // The library functions that the units call are linked in once, before optimization.
  Result<void> offer_libraries(const std::shared_ptr<clang::CompilerInvocation>& invocation) {
    if (libraries_.empty())
      return {};
    clang::TargetOptions& target = invocation->getTargetOpts();
    target.Triple = target_.arch == "nvptx64" ? "nvptx64-nvidia-cuda" : "amdgcn-amd-amdhsa";
    target.CPU = config_.CPU;
    target.FeaturesAsWritten = config_.MAttrs;
    compiler_.emplace(invocation);
    compiler_->createVirtualFileSystem(llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>());
    compiler_->createDiagnostics(new clang::IgnoringDiagConsumer);
    compiler_->setTarget(clang::TargetInfo::CreateTargetInfo(compiler_->getDiagnostics(), target));
    if (!compiler_->hasTarget())
      return failed("LLVM does not know the GPU " + config_.CPU);
    config_.PreOptModuleHook = [this](unsigned, const llvm::Module& module) {
      // The hook may change the module (llvm/LTO/Config.h, ModuleHookFn) although it gets it as a constant.
      Result<void> linked = link_gpu_libraries(const_cast<llvm::Module&>(module), libraries_, *compiler_);
      if (!linked)
        library_error_.emplace(linked.error());
      return static_cast<bool>(linked);
    };
    return {};
  }

  static bool is_weak(const llvm::lto::InputFile::Symbol& symbol) {
    return symbol.isWeak() || symbol.isCommon() || symbol.getComdatIndex() != -1;
  }

  // Of a symbol's definitions, the strong one prevails, else the first weak one.
  Result<void> read_inputs() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const DeviceInput& input = inputs_[i];
      llvm::Expected<std::unique_ptr<llvm::lto::InputFile>> file =
          llvm::lto::InputFile::create(llvm::MemoryBufferRef(input.bitcode, input.source));
      if (!file)
        return make_error(ErrorKind::integrity, input.source + ": " + llvm::toString(file.takeError()));
      for (const llvm::lto::InputFile::Symbol& symbol : (*file)->symbols()) {
        if (symbol.isUndefined())
          continue;
        const auto [known, first] =
            definitions_.emplace(symbol.getName().str(), Definition{i, is_weak(symbol)});
        if (first || is_weak(symbol))
          continue;
        if (!known->second.weak)
          return failed(symbol.getName().str() + " is defined in " + inputs_[known->second.input].source +
                        " and in " + input.source);
        known->second = {i, false};
      }
      files_.push_back(std::move(*file));
    }
    return {};
  }

  // The host looks up symbols that are not hidden by name.
  Result<void> add(llvm::lto::LTO& lto, size_t input) {
    std::vector<llvm::lto::SymbolResolution> resolutions;
    std::set<llvm::StringRef> seen; // module assembly may name a symbol again
    for (const llvm::lto::InputFile::Symbol& symbol : files_[input]->symbols()) {
      llvm::lto::SymbolResolution& resolution = resolutions.emplace_back();
      resolution.FinalDefinitionInLinkageUnit = true;
      if (symbol.isUndefined())
        continue;
      resolution.Prevailing =
          definitions_.at(symbol.getName().str()).input == input && seen.insert(symbol.getName()).second;
      resolution.VisibleToRegularObj = symbol.getVisibility() != llvm::GlobalValue::HiddenVisibility &&
                                       !symbol.canBeOmittedFromSymbolTable();
      resolution.ExportDynamic = resolution.VisibleToRegularObj;
    }
    if (llvm::Error error = lto.add(std::move(files_[input]), resolutions))
      return failed(inputs_[input].source + ": " + llvm::toString(std::move(error)));
    return {};
  }

  struct Definition {
    size_t input;
    bool weak;
  };

  const std::vector<DeviceInput>& inputs_;
  const std::vector<std::string>& libraries_;
  target::Cpu target_;
  ir::UnitOptions options_;
  llvm::lto::Config config_;
  std::vector<std::unique_ptr<llvm::lto::InputFile>> files_;
  std::map<std::string, Definition> definitions_;
  std::optional<clang::CompilerInstance> compiler_;
  std::optional<Error> library_error_;
  std::string errors_;
};

Result<std::string> object_of(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return make_error(ErrorKind::failed, "LLVM cannot write objects for " + machine.getTargetTriple().str());
  passes.run(module);
  return std::string(object.str());
}

// An object for any program or library. `wrap` puts images into its module; they register the offload entries
// of the other objects.
template <typename Wrap> Result<std::string> registration(const std::string& arch, const Wrap& wrap) {
  ir::initialize_back_ends();
  llvm::LLVMContext context;
  llvm::Module module("registration", context);
  const llvm::Triple triple(target::triple(arch));
  module.setTargetTriple(triple);
  std::string error;
  const llvm::Target* const found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return make_error(ErrorKind::failed, error);
  llvm::TargetOptions options;
  options.UseInitArray = true; // as Clang has it for this system
  const std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(triple, "", "", options, llvm::Reloc::PIC_));
  module.setDataLayout(machine->createDataLayout());
  if (llvm::Error failure = wrap(module))
    return make_error(ErrorKind::failed, "registering device code: " + llvm::toString(std::move(failure)));
  return object_of(module, *machine);
}

} // namespace

ir::UnitOptions link_options(const std::vector<ir::UnitOptions>& units) {
  ir::UnitOptions result;
  bool all_contract = !units.empty();
  for (const ir::UnitOptions& unit : units) {
    const auto level = unit.codegen.find(optimization_key);
    raise(result.codegen, optimization_key, level == unit.codegen.end() ? 0 : level->second);
    const auto mode = unit.language.find(contraction_key);
    all_contract &= mode != unit.language.end() && mode->second == clang::LangOptions::FPM_Fast;
    for (const auto& [name, value] : unit.gpu)
      if (name != ir::ptxas_registers) // each kernel keeps its own
        raise(result.gpu, name, value);
  }
  if (all_contract)
    result.language[contraction_key] = clang::LangOptions::FPM_Fast;
  return result;
}

Result<std::string> link_device_code(const std::vector<DeviceInput>& inputs,
                                     const std::vector<std::string>& libraries, const target::Cpu& gpu,
                                     const std::vector<std::string>& features) {
  return run_worker("linking device code",
                    [&] { return DeviceLinker(inputs, libraries, gpu, features).run(); },
                    {.answer = max_object});
}

Result<std::string> cuda_registration(const std::string& fat_binary, const std::string& arch) {
  return registration(arch, [&](llvm::Module& module) {
    const bool references =
        false; // to textures and surfaces, which neither CUDA 12 nor Clang's scheme has any more
    return llvm::offloading::wrapCudaBinary(module, {fat_binary.data(), fat_binary.size()},
                                            llvm::offloading::getOffloadEntryArray(module), "", references);
  });
}

Result<std::string> hip_registration(const std::string& bundle, const std::string& arch) {
  return registration(arch, [&](llvm::Module& module) {
    const bool references = false;
    return llvm::offloading::wrapHIPBinary(module, {bundle.data(), bundle.size()},
                                           llvm::offloading::getOffloadEntryArray(module), "", references);
  });
}

Result<std::string> openmp_registration(const std::vector<OpenMpImage>& images, const std::string& arch) {
  std::vector<llvm::SmallString<0>> packed;
  for (const OpenMpImage& image : images) {
    llvm::object::OffloadBinary::OffloadingImage described;
    described.TheImageKind = llvm::object::IMG_Object;
    described.TheOffloadKind = llvm::object::OFK_OpenMP;
    described.StringData["triple"] = image.triple;
    described.StringData["arch"] = image.arch;
    described.Image = llvm::MemoryBuffer::getMemBuffer(image.bytes, "", false);
    packed.push_back(llvm::object::OffloadBinary::write(described));
  }
  std::vector<llvm::ArrayRef<char>> parts;
  for (const llvm::SmallString<0>& each : packed)
    parts.emplace_back(each.data(), each.size());
  return registration(arch, [&](llvm::Module& module) {
    return llvm::offloading::wrapOpenMPBinaries(module, parts,
                                                llvm::offloading::getOffloadEntryArray(module));
  });
}

} // namespace xaas::lower
