// What differs between the CPUs of x86-64 and AArch64.
#include "cpukernel/testing.h"

#include <gmock/gmock.h>

namespace xaas::cpukernel {

namespace {

using ::testing::HasSubstr;

TEST(CpuKernelArchitectures, HaveALibraryOrAreRefused) {
  for (const char* arch : {"x86_64", "aarch64"}) {
    EXPECT_TRUE(runs_on(arch));
    const auto library = runtime_library(arch, 13000, 800, {"cudaMalloc", "cudaGraphCreate"});
    ASSERT_TRUE(library) << library.error().message;
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(*library, arch), context);
    ASSERT_TRUE(static_cast<bool>(module));
    EXPECT_EQ((*module)->getTargetTriple().getArchName(), arch);
    EXPECT_FALSE((*module)->getFunction("cudaGraphCreate")->isDeclaration());
    for (const llvm::Function& function : **module)
      EXPECT_FALSE(function.hasFnAttribute("target-features")) << function.getName().str();
  }
  EXPECT_FALSE(runs_on("riscv64"));
  const auto library = runtime_library("riscv64", 13000, 800, {});
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().kind, ErrorKind::unsatisfied);
  llvm::LLVMContext context;
  llvm::Module module("k", context);
  module.setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  const auto made = make_cpu_module(module, "riscv64", "image");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(made.error().message, HasSubstr("riscv64"));
}

// AArch64's counter of cycles traps in a process. There, clocks count nanoseconds.
TEST_F(CpuKernel, ClocksAdvance) {
  make(R"(
extern "C" __global__ void clocks(unsigned long long* o) {
  unsigned long long start = __nvvm_read_ptx_sreg_clock64();
  uint low = __nvvm_read_ptx_sreg_clock();
  while (__nvvm_read_ptx_sreg_clock64() - start < 10000) {}
  o[0] = __nvvm_read_ptx_sreg_clock64() - start;
  o[1] = __nvvm_read_ptx_sreg_clock() - low;
  o[2] = __nvvm_read_ptx_sreg_globaltimer();
})");
  EXPECT_EQ(run(R"(
uint64_t xaas_nanoseconds(void) { static uint64_t time; return time += 1000; }
int main(void) {
  unsigned long long o[3] = {0}, *po = o;
  void* arguments[] = {&po};
  launch("clocks", 1, 1, 1, 1, 1, 0, arguments);
  printf("%d %d %d", o[0] >= 10000, o[1] >= o[0] - 10000, o[2] > 0);
})"),
            "1 1 1");
}

// Device code's plain char has a sign where the host's has one.
TEST_F(CpuKernel, CharsAreThoseOfTheHost) {
  make(R"(
extern "C" __global__ void chars(const char* a, int* o) {
  o[threadIdx.x] = a[threadIdx.x] < 0;
  o[threadIdx.x + 32] = (signed char)a[threadIdx.x] < 0;
})");
  EXPECT_EQ(run(R"(
int main(void) {
  char a[32];
  int o[64], *po = o;
  const char* pa = a;
  for (int i = 0; i < 32; ++i) a[i] = (char)(i * 8);
  void* arguments[] = {&pa, &po};
  launch("chars", 1, 1, 32, 1, 1, 0, arguments);
  printf("%d %d", o[31] == (a[31] < 0), o[63]);
})"),
            "1 1");
}

// A block publishes data and then a flag, as a scan with look-back does; on another core, a block waits for
// the flag. The fence keeps the order on CPUs that reorder stores.
TEST_F(CpuKernel, FencesOrderStores) {
  make(R"(
extern "C" __global__ void publish(uint* data, volatile uint* flag, uint* out, uint rounds) {
  for (uint i = 1; i <= rounds; ++i) {
    if (blockIdx.x == 0) {
      data[0] = i; data[64] = i;
      __nvvm_membar_gl();
      *flag = i;
      while (flag[32] != i) {}
    } else {
      while (*flag != i) {}
      __nvvm_membar_gl();
      if (data[64] != i || data[0] != i) *out = 1;
      __nvvm_membar_gl();
      flag[32] = i;
    }
  }
})");
  EXPECT_EQ(run(R"(
#include <pthread.h>
static void* arguments[4];
static struct xaas_block blocks[2];
static void* run_block(void* block) {
  if (find("publish")->fibers && !xaas_take_fibers(1, 64 * 1024)) abort();
  find("publish")->run(arguments, block);
  if (find("publish")->fibers) xaas_give_fibers();
  return NULL;
}
int main(void) {
  static unsigned data[128], flag[64], out, *pd = data, *pf = flag, *po = &out, rounds = 200;
  arguments[0] = &pd, arguments[1] = &pf, arguments[2] = &po, arguments[3] = &rounds;
  const struct xaas_kernel* k = find("publish");
  pthread_t thread;
  for (int i = 0; i < 2; ++i) {
    blocks[i] = (struct xaas_block){.size = {1, 1, 1}, .grid = {2, 1, 1}, .index = {i, 0, 0}, .threads = 1};
    blocks[i].shared = aligned_alloc(256, (k->shared_bytes + 511) / 256 * 256);
    blocks[i].arena = aligned_alloc(256, (k->thread_bytes + 64 * (k->arrays + 1) + 511) / 256 * 256);
  }
  pthread_create(&thread, NULL, run_block, &blocks[1]);
  run_block(&blocks[0]);
  pthread_join(thread, NULL);
  printf("%u %u", out, flag[32]);
})",
                machine_.best + " -pthread"),
            "0 200");
}

} // namespace

} // namespace xaas::cpukernel
