// Problem: a program is linked with a library of NVIDIA's that needs a driver and a GPU. Often it calls the
// library on one of several ways through its code only: GROMACS calls cuFFT where its PME runs on the GPU.
//
//     cufftResult r = cufftPlan3d(...);      =>      prints "xaas: cufftPlan3d() of cuFFT needs a GPU ...",
//     once if (r != CUFFT_SUCCESS) ...                    r = CUFFT_NOT_SUPPORTED
//
// Approach: in place of the library, the link reads an object with those of its functions that the program
// names. Nothing is known of their parameters, and on x86-64 nothing must be: the caller removes arguments,
// and no function of these libraries returns a structure in memory. Nearly all return the library's status.
// A table has the others, by their names; a test compares it with CUDA's headers.
//
// Rejected: leaving the libraries in place. They load without a driver, but each has its own way to fail,
// some end the program, and libcuda.so comes with the driver only.
//
// Sources: the headers of CUDA 13.0 and of cuDNN 9; for NPP its documentation (nppdefs.h, nppcore.h).
#include <xaas/cpukernel/cpukernel.h>
#include <xaas/cpukernel/gpu_libraries.h>

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <iterator>

namespace xaas::cpukernel {

namespace {

// A name that begins with another comes first.
constexpr GpuLibrary libraries[] = {
    {"libcuda.so", "the CUDA driver", "CUDA_ERROR_NOT_SUPPORTED", 801},
    {"libcublasLt", "cuBLASLt", "CUBLAS_STATUS_NOT_SUPPORTED", 15},
    {"libcublas", "cuBLAS", "CUBLAS_STATUS_NOT_SUPPORTED", 15},
    {"libcudnn", "cuDNN", "CUDNN_STATUS_NOT_SUPPORTED", 3000, "cudnnGetLastErrorString", 9},
    {"libcufftw", "cuFFTW", "", 0},
    {"libcufft", "cuFFT", "CUFFT_NOT_SUPPORTED", 16},
    {"libcurand", "cuRAND", "CURAND_STATUS_INITIALIZATION_FAILED", 203},
    {"libcusolver", "cuSOLVER", "CUSOLVER_STATUS_NOT_SUPPORTED", 9},
    {"libcusparse", "cuSPARSE", "CUSPARSE_STATUS_NOT_SUPPORTED", 10},
    {"libnccl", "NCCL", "ncclUnhandledCudaError", 1},
    {"libnpp", "NPP", "NPP_NOT_SUPPORTED_MODE_ERROR", -9999},
    {"libnvrtc", "NVRTC", "NVRTC_ERROR_INTERNAL_ERROR", 11},
};

// Functions that return something else than a status; `*` stands for any end.
constexpr struct {
  std::string_view name;
  Returned returned;
} other_results[] = {
    {"cublasGetCudartVersion", Returned::zero},
    {"cublasGetStatusName", Returned::text},
    {"cublasGetStatusString", Returned::text},
    {"cublasLtDisableCpuInstructionsSetMask", Returned::zero},
    {"cublasLtGetCudartVersion", Returned::zero},
    {"cublasLtGetStatusName", Returned::text},
    {"cublasLtGetStatusString", Returned::text},
    {"cublasLtGetVersion", Returned::zero},
    // Of cublas.h, whose functions have the names of BLAS.
    {"cublasCdotc", Returned::real},
    {"cublasCdotu", Returned::real},
    {"cublasDasum", Returned::real},
    {"cublasDdot", Returned::real},
    {"cublasDnrm2", Returned::real},
    {"cublasDzasum", Returned::real},
    {"cublasDznrm2", Returned::real},
    {"cublasIcamax", Returned::zero},
    {"cublasIcamin", Returned::zero},
    {"cublasIdamax", Returned::zero},
    {"cublasIdamin", Returned::zero},
    {"cublasIsamax", Returned::zero},
    {"cublasIsamin", Returned::zero},
    {"cublasIzamax", Returned::zero},
    {"cublasIzamin", Returned::zero},
    {"cublasSasum", Returned::real},
    {"cublasScasum", Returned::real},
    {"cublasScnrm2", Returned::real},
    {"cublasSdot", Returned::real},
    {"cublasSnrm2", Returned::real},
    {"cublasZdotc", Returned::real},
    {"cublasZdotu", Returned::real},
    {"cudnnGetCudartVersion", Returned::zero},
    {"cudnnGetErrorString", Returned::text},
    {"cudnnGetMaxDeviceVersion", Returned::zero},
    {"cudnnGetVersion", Returned::zero},
    {"cusparseGetErrorName", Returned::text},
    {"cusparseGetErrorString", Returned::text},
    {"cusparseGetMatDiagType", Returned::zero},
    {"cusparseGetMatFillMode", Returned::zero},
    {"cusparseGetMatIndexBase", Returned::zero},
    {"cusparseGetMatType", Returned::zero},
    {"fftw_cost", Returned::real},
    {"fftwf_cost", Returned::real},
    {"fftw_*", Returned::zero}, // plans
    {"fftwf_*", Returned::zero},
    {"ncclGetErrorString", Returned::text},
    {"ncclGetLastError", Returned::text},
    {"nppGetGpuComputeCapability", Returned::zero},
    {"nppGetGpuDeviceProperties", Returned::zero},
    {"nppGetGpuName", Returned::text},
    {"nppGetGpuNumSMs", Returned::zero},
    {"nppGetLibVersion", Returned::zeros},
    {"nppGetMaxThreadsPer*", Returned::zero},
    {"nppGetStream", Returned::zero},
    {"nppGetStreamMaxThreadsPerSM", Returned::zero},
    {"nppGetStreamNumSMs", Returned::zero},
    {"nppiMalloc_*", Returned::zero},
    {"nppsMalloc_*", Returned::zero},
    {"nvrtcGetErrorString", Returned::text},
};

class StandIns {
public:
  StandIns(llvm::Module& module, const GpuLibrary& library, int status)
      : module_(module), context_(module.getContext()), status_(status) {
    // void xaas_say(const char* function, int* said)
    llvm::Type* const pointer = llvm::PointerType::get(context_, 0);
    llvm::Type* const word = llvm::Type::getInt32Ty(context_);
    say_ = llvm::Function::Create(
        llvm::FunctionType::get(llvm::Type::getVoidTy(context_), {pointer, pointer}, false),
        llvm::GlobalValue::InternalLinkage, "xaas_say", module);
    llvm::BasicBlock* const entry = llvm::BasicBlock::Create(context_, "", say_);
    llvm::BasicBlock* const first = llvm::BasicBlock::Create(context_, "", say_);
    llvm::BasicBlock* const end = llvm::BasicBlock::Create(context_, "", say_);
    llvm::IRBuilder<> builder(entry);
    llvm::Value* const said =
        builder.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, say_->getArg(1), llvm::ConstantInt::get(word, 1),
                                llvm::MaybeAlign(4), llvm::AtomicOrdering::Monotonic);
    builder.CreateCondBr(builder.CreateIsNull(said), first, end);
    builder.SetInsertPoint(first);
    const std::string text =
        "xaas: %s() of " + std::string(library.name) + " needs a GPU; the program was deployed for the CPU\n";
    builder.CreateCall(
        module.getOrInsertFunction("dprintf", llvm::FunctionType::get(word, {word, pointer}, true)),
        {llvm::ConstantInt::get(word, 2), builder.CreateGlobalString(text), say_->getArg(0)});
    builder.CreateBr(end);
    builder.SetInsertPoint(end);
    builder.CreateRetVoid();
  }

  void add(const std::string& name) {
    llvm::Type* const word = llvm::Type::getInt32Ty(context_);
    llvm::Constant* const value = value_of(name);
    llvm::Function* const function =
        llvm::Function::Create(llvm::FunctionType::get(value->getType(), false),
                               llvm::GlobalValue::WeakAnyLinkage, name, module_); // the program's own counts
    auto* said = new llvm::GlobalVariable(module_, word, false, llvm::GlobalValue::PrivateLinkage,
                                          llvm::ConstantInt::get(word, 0)); // the module owns it
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context_, "", function));
    builder.CreateCall(say_, {builder.CreateGlobalString(name), said});
    builder.CreateRet(value);
  }

private:
  llvm::Constant* value_of(const std::string& function) {
    llvm::Type* const real = llvm::Type::getDoubleTy(context_);
    switch (returned_by(function)) {
    case Returned::status:
      return llvm::ConstantInt::getSigned(llvm::Type::getInt32Ty(context_), status_);
    case Returned::text:
      if (!text_) {
        llvm::IRBuilder<> builder(context_);
        text_ = builder.CreateGlobalString("not supported: there is no GPU", "", 0, &module_);
      }
      return text_;
    case Returned::zero:
      return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context_), 0);
    case Returned::zeros: {
      llvm::Type* const type = llvm::ArrayType::get(llvm::Type::getInt64Ty(context_), 32);
      return new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage,
                                      llvm::ConstantAggregateZero::get(type));
    }
    case Returned::real: // in the registers of float, double, and pairs of both
      return llvm::ConstantAggregateZero::get(llvm::StructType::get(real, real));
    }
    llvm_unreachable("a kind of value");
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  int status_;
  llvm::Function* say_ = nullptr;
  llvm::Constant* text_ = nullptr;
};

} // namespace

const GpuLibrary* find_gpu_library(std::string_view file) {
  const auto* const found = std::find_if(std::begin(libraries), std::end(libraries),
                                         [&](const auto& library) { return file.starts_with(library.file); });
  return found == std::end(libraries) ? nullptr : found;
}

Returned returned_by(std::string_view function) {
  for (const auto& [name, returned] : other_results)
    if (name.ends_with('*') ? function.starts_with(name.substr(0, name.size() - 1)) : function == name)
      return returned;
  return Returned::status;
}

Result<std::string> stand_ins(const std::string& arch, const GpuLibrary& library,
                              const std::set<std::string>& functions, const std::set<std::string>& defined) {
  if (!runs_on(arch))
    return make_error(ErrorKind::unsatisfied, "there are no stand-ins for libraries on " + arch);
  const bool older = !library.since.empty() && !defined.contains(std::string(library.since));
  llvm::LLVMContext context;
  llvm::Module module("stand-ins", context);
  module.setTargetTriple(llvm::Triple(arch + "-pc-linux-gnu"));
  module.setDataLayout(module.getTargetTriple().computeDataLayout());
  module.setPICLevel(llvm::PICLevel::BigPIC);
  StandIns made(module, library, older ? library.before : library.status);
  for (const std::string& function : functions)
    made.add(function);
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(module, stream);
  return bitcode;
}

} // namespace xaas::cpukernel
