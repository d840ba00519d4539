// Every intrinsic of LLVM's NVPTX back end, but for those of several types, has a form for the CPU, or is one
// of those that are refused by name.
#include <xaas/cpukernel/cpukernel.h>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace xaas::cpukernel {

namespace {

// Families of intrinsics without a form for the CPU, by the parts of the name that they begin with.
const char* const refused[] = {
    // Matrices, and copies and barriers of other hardware.
    "mma.", "wmma.", "wgmma.", "tcgen05.", "cp.async.", "mbarrier.", "clusterlaunchcontrol.", "st.bulk",
    "setmaxnreg.", "griddepcontrol.",
    // Clusters of blocks.
    "barrier.cluster.", "read.ptx.sreg.cluster.", "read.ptx.sreg.nclusterid.", "read.ptx.sreg.clusterid.",
    "is_explicit_cluster", "mapa", "getctarank", "fence.", "elect.sync", "read.ptx.sreg.aggr_smem_size",
    // Textures and surfaces.
    "tex.", "tld4.", "suld.", "sust.", "suq.", "txq.", "istypep.",
    // Shuffles and votes of threads that the program does not name (before sm_70).
    "shfl.up.", "shfl.down.", "shfl.bfly.", "shfl.idx.", "vote.all", "vote.any", "vote.ballot", "vote.uni",
    "redux.sync.f",
    // What neither Clang's nor CUDA's headers call: their functions are libdevice's, or inline assembly.
    "add.", "div.r", "fma.", "rcp.r", "rcp.approx.ftz.d", "sqrt.r", "rsqrt.approx.ftz.d", "lg2.approx.d",
    "fmax.", "fmin.", "neg.", "mulhi.", "sad.", "d2f.", "d2i.", "f2h.", "bf2h.", "i2d.", "i2f.", "ll2d.",
    "ll2f.", "ui2d.", "ui2f.", "ull2d.", "ull2f.", "lohi.", "f2bf16.", "f2f16.", "f2tf32.", "ff2bf16x2.",
    "ff2f16x2.", "ff.to.", "f16x2.to.", "bf16x2.to.", "f32x4.to.", "e2m1x2.", "e2m3x2.", "e3m2x2.", "e4m3x2.",
    "e5m2x2.", "ue8m0x2.", "bmsk.", "fns", "idp", "prmt.", "sext.", "zext.", "move.", "isspacep.", "prefetch",
    "discard.", "applypriority.", "pm.event", "read.ptx.sreg.envreg", "read.ptx.sreg.pm",
    "read.ptx.sreg.ctaid.w", "read.ptx.sreg.nctaid.w", "read.ptx.sreg.ntid.w", "read.ptx.sreg.tid.w",
    "read.ptx.sreg.globaltimer.lo"};

class CpuKernelIntrinsics : public ::testing::TestWithParam<const char*> {}; // architectures

TEST_P(CpuKernelIntrinsics, HaveAFormOrAreRefusedByName) {
  llvm::LLVMContext context;
  llvm::Module module("intrinsics", context);
  module.setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  module.setDataLayout(module.getTargetTriple().computeDataLayout());
  std::map<std::string, std::string> names; // of intrinsics, by kernel
  for (unsigned id = 1; id < llvm::Intrinsic::num_intrinsics; ++id) {
    llvm::StringRef name = llvm::Intrinsic::getBaseName(id);
    if (!name.consume_front("llvm.nvvm.") || llvm::Intrinsic::isOverloaded(id))
      continue;
    llvm::Function* const intrinsic = llvm::Intrinsic::getOrInsertDeclaration(&module, id);
    const std::string kernel_name = "k" + std::to_string(id);
    names[kernel_name] = name.str();
    llvm::Function* const kernel =
        llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
                               llvm::GlobalValue::ExternalLinkage, kernel_name, module);
    kernel->setCallingConv(llvm::CallingConv::PTX_Kernel);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", kernel));
    std::vector<llvm::Value*> arguments;
    for (llvm::Type* type : intrinsic->getFunctionType()->params())
      arguments.push_back(type->isMetadataTy() ? static_cast<llvm::Value*>(llvm::MetadataAsValue::get(
                                                     context, llvm::MDNode::get(context, {})))
                                               : llvm::Constant::getNullValue(type));
    llvm::CallInst* const call = builder.CreateCall(intrinsic, arguments);
    if (!call->getType()->isVoidTy()) // or it is dropped
      builder.CreateStore(call, builder.CreateIntToPtr(builder.getInt64(4096), builder.getPtrTy()), true);
    builder.CreateRetVoid();
  }
  ASSERT_GT(names.size(), 1000u);
  const auto kernels = make_cpu_module(module, GetParam(), "image");
  ASSERT_TRUE(kernels) << kernels.error().message;
  std::set<std::string> used;
  size_t accepted = 0;
  for (const Kernel& kernel : *kernels) {
    const std::string& name = names.at(kernel.name);
    const char* family = nullptr;
    for (const char* each : refused)
      if (llvm::StringRef(name).starts_with(each))
        family = each;
    if (kernel.form == Form::refused)
      EXPECT_NE(family, nullptr) << name << ": " << kernel.reason;
    else
      ++accepted;
    if (family && kernel.form == Form::refused)
      used.insert(family);
  }
  for (const char* each : refused)
    EXPECT_TRUE(used.contains(each)) << each << " names no intrinsic that is refused";
  EXPECT_GT(accepted, 100u);
}

INSTANTIATE_TEST_SUITE_P(Architectures, CpuKernelIntrinsics, ::testing::Values("x86_64", "aarch64"));

} // namespace

} // namespace xaas::cpukernel
