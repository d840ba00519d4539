// Kernels with checks: each finding, and programs without any.
#include "cpukernel/testing.h"

#include <xaas/cpukernel/link.h>

#include <gmock/gmock.h>

#include <algorithm>

namespace xaas::cpukernel {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// What the run-time library does for a launch.
const std::string checked_host = R"C(
#include "checks.h"
__attribute__((noinline)) static void check_launch(const char* name, unsigned blocks, unsigned bx, unsigned by, unsigned dynamic, void** arguments) {
  const struct xaas_kernel* k = find(name);
  if (!k->run) { fprintf(stderr, "%s\n", k->reason); exit(3); }
  for (unsigned i = 0; i < module->memory_count; ++i)
    xaas_checks_add(module->memory[i].address, module->memory[i].size, "a variable");
  struct xaas_block b = {.size = {bx, by, 1}, .grid = {blocks, 1, 1}, .threads = bx * by, .dynamic_size = dynamic};
  b.shared = aligned_alloc(256, (k->shared_bytes + dynamic + 511) / 256 * 256);
  b.arena = aligned_alloc(256, ((size_t)k->thread_bytes * b.threads + 64 * (k->arrays + 1) + 511) / 256 * 256);
  b.checked = xaas_checks_of_thread(k, __builtin_frame_address(0));
  for (unsigned i = 0; i < blocks; ++i) {
    b.index[0] = i;
    xaas_checks_start(b.checked, &b);
    k->run(arguments, &b);
  }
  free(b.shared), free(b.arena);
}
static void* allocated(size_t size) {
  void* memory = calloc(1, size + 4096);
  xaas_checks_add(memory, size, "an allocation of cudaMalloc()");
  return memory;
}
)C";

class Checks : public CpuKernel {
protected:
  // Compiles with lines, and runs `launches`. Returns what it printed on standard error.
  std::string findings(const std::string& kernels, const std::string& launches,
                       const std::string& settings = "", int status = 0) {
    forms_ = compile(kernels, "-gline-tables-only");
    return run_checked(launches, settings, status);
  }

  std::map<std::string, Kernel> compile(const std::string& kernels, const std::string& options) {
    return transform(bitcode(kernels, options), {.checked = true});
  }

  // Lines count from the first one of `kernels`.
  std::string bitcode(const std::string& kernels, const std::string& options) {
    EXPECT_TRUE(write_file(path("names.h"), cuda_names, 0644, false));
    EXPECT_TRUE(write_file(path("k.cu"), kernels, 0644, false));
    const std::string command =
        "cd " + path("").string() + " && " + XAAS_TEST_CLANG + " " + machine_.compiler +
        " -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib --cuda-path=/none "
        "--cuda-feature=+ptx88 -O2 "
        "-Wno-unknown-cuda-version -Xclang -disable-llvm-passes -emit-llvm -include names.h -c " +
        options + " k.cu -o k.bc";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return *read_file(path("k.bc"));
  }

  std::string run_checked(const std::string& launches, const std::string& settings = "", int status = 0) {
    EXPECT_TRUE(write_file(path("host.c"), host_names + checked_host + "int main(void) {" + launches + "}",
                           0644, false));
    const std::string command = std::string(XAAS_TEST_CLANG) + " " + machine_.compiler +
                                " -O2 -w -fuse-ld=lld -I" XAAS_CPUKERNEL_LIBRARY " " XAAS_CPUKERNEL_LIBRARY
                                "/checks.c " XAAS_CPUKERNEL_LIBRARY "/fibers.c " +
                                path("host.c").string() + " " + path("cpu.bc").string() +
                                " -lm -lpthread -o " + path("program").string();
    EXPECT_EQ(std::system(command.c_str()), 0);
    const int code = std::system((settings + " " + machine_.emulator + " " + path("program").string() + " >" +
                                  path("out").string() + " 2>" + path("err").string())
                                     .c_str());
    EXPECT_EQ(WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code), status) << *read_file(path("err"));
    return *read_file(path("err"));
  }

  std::string output() const { return *read_file(path("out")); }

  std::map<std::string, Kernel> forms_;
};

const std::string no_findings = "xaas: checks of kernels: no findings\n";
std::string sum(int memory, int init, int race, int sync) {
  const int all = memory + init + race + sync;
  return "xaas: checks of kernels: " + std::to_string(all) + (all == 1 ? " finding" : " findings") +
         " (memcheck " + std::to_string(memory) + ", initcheck " + std::to_string(init) + ", racecheck " +
         std::to_string(race) + ", synccheck " + std::to_string(sync) + ")\n";
}

// ---- Memory

TEST_F(Checks, GlobalMemoryOutOfBounds) {
  const std::string said = findings(R"(extern "C" __global__ void scale(float* a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    a[i] *= 2;
})",
                                    R"(
  float* a = allocated(400);
  int n = 100;
  void* arguments[] = {&a, &n};
  check_launch("scale", 4, 32, 1, 0, arguments);
  puts("went on");)");
  EXPECT_EQ(forms_["scale"].form, Form::masked);
  EXPECT_EQ(forms_["scale"].reason, "the kernel has checks");
  EXPECT_THAT(said, HasSubstr("xaas: memcheck: k.cu:4: read of 4 bytes of global memory at 0x"));
  EXPECT_THAT(said, HasSubstr(", 0 bytes after an allocation of cudaMalloc() of 400 bytes\n"
                              "  kernel scale, block (3,0,0), thread (4,0,0)\n"));
  EXPECT_THAT(said, HasSubstr("k.cu:4: write of 4 bytes"));
  EXPECT_THAT(said, HasSubstr(sum(2, 0, 0, 0)));
  EXPECT_EQ(output(), "went on\n");
}

TEST_F(Checks, FreedMemoryNullPointersAndMemoryOfTheHost) {
  const std::string said = findings(R"(extern "C" __global__ void add(int* a, int* b, int* c) {
  *a += 1;
  *b += 1;
  *c += 1;
})",
                                    R"(
  int *a = allocated(4), *b = 0, own = 1, *c = &own;
  xaas_checks_free(a);
  void* arguments[] = {&a, &b, &c};
  check_launch("add", 1, 1, 1, 0, arguments);
  printf("%d", own);)");
  EXPECT_THAT(said, HasSubstr("k.cu:2: read of 4 bytes"));
  EXPECT_THAT(said, HasSubstr("in an allocation of cudaMalloc() of 4 bytes that was freed"));
  EXPECT_THAT(said, HasSubstr("in no memory that the device may access (a null pointer)"));
  EXPECT_THAT(said, HasSubstr("k.cu:4: write of 4 bytes"));
  EXPECT_THAT(said, HasSubstr(sum(6, 0, 0, 0)));
  EXPECT_EQ(output(), "1");
}

TEST_F(Checks, SharedAndLocalMemoryOutOfBounds) {
  const std::string said = findings(R"(extern __shared__ int all[];
extern "C" __global__ void shift(int* a, int by) {
  __shared__ int first[32], second[32];
  int own[4];
  first[threadIdx.x] = second[threadIdx.x] = all[threadIdx.x] = 0;
  for (int i = 0; i < 4; ++i) own[i] = a[i];
  first[threadIdx.x + by] = 1;
  all[threadIdx.x + by] = 1;
  own[by + 3] = 1;
  a[threadIdx.x] = own[threadIdx.x % 4] + second[0];
})",
                                    R"(
  int *a = allocated(128), by = 1;
  void* arguments[] = {&a, &by};
  check_launch("shift", 1, 32, 1, 128, arguments);)");
  EXPECT_THAT(said, HasSubstr("memcheck: k.cu:7: write of 4 bytes of shared memory"));
  EXPECT_THAT(said, HasSubstr("0 bytes after a shared variable of 128 bytes"));
  EXPECT_THAT(said, HasSubstr("memcheck: k.cu:8: write of 4 bytes of shared memory"));
  EXPECT_THAT(said, HasSubstr("0 bytes after the dynamic shared memory of 128 bytes"));
  EXPECT_THAT(said, HasSubstr("memcheck: k.cu:9: write of 4 bytes of local memory"));
  EXPECT_THAT(said, HasSubstr("0 bytes after a local variable of 16 bytes"));
}

TEST_F(Checks, MisalignedAccesses) {
  const std::string said = findings(R"(extern "C" __global__ void odd(char* a) {
  *(int*)(a + 1) = 7;
  *(double*)(a + 8) = 7;
})",
                                    R"(
  char* a = allocated(16);
  void* arguments[] = {&a};
  check_launch("odd", 1, 1, 1, 0, arguments);)");
  EXPECT_THAT(said, HasSubstr("memcheck: k.cu:2: misaligned write of 4 bytes of global memory at 0x"));
  EXPECT_THAT(said, HasSubstr("no multiple of 4"));
  EXPECT_THAT(said, HasSubstr(sum(1, 0, 0, 0)));
}

TEST_F(Checks, AtomicsAndCopiesOutOfBounds) {
  const std::string said = findings(R"(struct Big { int x[32]; };
extern "C" __global__ void both(int* a, Big* to, const Big* from) {
  __nvvm_atom_add_gen_i(a + 4, 1);
  to[0] = from[1];
})",
                                    R"(
  int *a = allocated(16), *b = allocated(128), *c = allocated(128);
  void* arguments[] = {&a, &b, &c};
  check_launch("both", 1, 1, 1, 0, arguments);)");
  EXPECT_THAT(said, HasSubstr("memcheck: k.cu:3: atomic operation of 4 bytes"));
  EXPECT_THAT(said, HasSubstr("memcheck: k.cu:4: read of 128 bytes"));
  EXPECT_THAT(said, HasSubstr(sum(2, 0, 0, 0)));
}

// ---- Initialization

TEST_F(Checks, SharedMemoryThatNobodyWrote) {
  const std::string said = findings(R"(extern "C" __global__ void sum(int* a) {
  __shared__ int s[64];
  if (threadIdx.x < 63) s[threadIdx.x] = a[threadIdx.x];
  __nvvm_bar_sync(0);
  a[threadIdx.x] = s[63 - threadIdx.x];
})",
                                    R"(
  int* a = allocated(256);
  void* arguments[] = {&a};
  check_launch("sum", 2, 64, 1, 0, arguments);)");
  EXPECT_THAT(
      said,
      HasSubstr("initcheck: k.cu:5: read of 4 bytes of shared memory (sum::s + 252), which no thread of the "
                "block wrote\n  kernel sum, block (0,0,0), thread (0,0,0)"));
  EXPECT_THAT(said, HasSubstr(sum(0, 1, 0, 0)));
}

// ---- Races

TEST_F(Checks, ReadAfterWriteOfSharedMemory) {
  const std::string said = findings(R"(extern "C" __global__ void reverse(int* a) {
  __shared__ int s[64];
  s[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = s[63 - threadIdx.x];
})",
                                    R"(
  int* a = allocated(256);
  void* arguments[] = {&a};
  check_launch("reverse", 1, 64, 1, 0, arguments);)");
  EXPECT_THAT(
      said,
      HasSubstr("racecheck: k.cu:4: read after write (RAW) of 4 bytes of shared memory (reverse::s + 124), "
                "with no barrier between\n  kernel reverse, block (0,0,0), thread (32,0,0)\n"
                "  after the write by thread (31,0,0) at k.cu:3\n"));
}

TEST_F(Checks, WriteAfterReadAndAfterWrite) {
  const std::string said = findings(R"(extern "C" __global__ void step(int* a, int* b) {
  __shared__ int s[65];
  s[threadIdx.x + 1] = a[threadIdx.x];
  if (threadIdx.x == 0) s[0] = 0;
  __nvvm_bar_sync(0);
  int left = s[threadIdx.x];
  s[threadIdx.x + 1] = left + 1;
  b[threadIdx.x / 2] = threadIdx.x;
})",
                                    R"(
  int *a = allocated(256), *b = allocated(256);
  void* arguments[] = {&a, &b};
  check_launch("step", 1, 64, 1, 0, arguments);)");
  EXPECT_THAT(said, HasSubstr("racecheck: k.cu:6: read after write (RAW) of 4 bytes of shared memory"));
  EXPECT_THAT(said, HasSubstr("with no __syncwarp() or barrier between"));
  EXPECT_THAT(said,
              HasSubstr("racecheck: k.cu:8: write after write (WAW) of 4 bytes of global memory at 0x"));
  EXPECT_THAT(said, HasSubstr("after the write by thread (0,0,0) at k.cu:8"));
  const std::string reads = findings(R"(extern "C" __global__ void step(int* a, int* b) {
  b[threadIdx.x] = a[0];
  if (threadIdx.x == 40) a[0] = 5;
})",
                                     R"(
  int *a = allocated(256), *b = allocated(256);
  void* arguments[] = {&a, &b};
  check_launch("step", 1, 64, 1, 0, arguments);)");
  EXPECT_THAT(reads, HasSubstr("racecheck: k.cu:3: write after read (WAR) of 4 bytes of global memory"));
  EXPECT_THAT(reads, HasSubstr("after the read by thread (0,0,0) at k.cu:2"));
}

TEST_F(Checks, AtomicAndPlainAccesses) {
  const std::string said = findings(R"(extern "C" __global__ void count(int* a, int* b) {
  __nvvm_atom_add_gen_i(a, 1);
  b[threadIdx.x] = *a;
})",
                                    R"(
  int *a = allocated(4), *b = allocated(256);
  void* arguments[] = {&a, &b};
  check_launch("count", 1, 64, 1, 0, arguments);)");
  EXPECT_THAT(said, HasSubstr("the other access is atomic, this one is not"));
  EXPECT_THAT(said, HasSubstr(" at k.cu:2\n"));
}

TEST_F(Checks, LockstepIsAHazard) {
  const std::string said = findings(R"(extern "C" __global__ void last(int* a) {
  __shared__ volatile int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __nvvm_bar_sync(0);
  if (t < 32) {
    s[t] += s[t + 32];
    s[t] += s[t + 16];
  }
  if (t == 0) a[0] = s[0];
})",
                                    R"(
  int* a = allocated(256);
  for (int i = 0; i < 64; ++i) a[i] = i;
  void* arguments[] = {&a};
  check_launch("last", 1, 64, 1, 0, arguments);
  printf("%d", a[0]);)");
  EXPECT_THAT(said, HasSubstr("racecheck: k.cu:8: read after write (RAW)"));
  EXPECT_THAT(said, HasSubstr("with no __syncwarp() or barrier between"));
  EXPECT_EQ(output(), "96"); // 0 + 32 + 16 + 48, as in lockstep
}

// ---- Meetings

TEST_F(Checks, DivergentBarriers) {
  const std::string said = findings(R"(extern "C" __global__ void apart(int* a) {
  if (threadIdx.x < 32)
    __nvvm_bar_sync(0);
  a[threadIdx.x] = 1;
  __nvvm_bar_sync(0);
})",
                                    R"(
  int* a = allocated(256);
  void* arguments[] = {&a};
  check_launch("apart", 1, 64, 1, 0, arguments);)");
  EXPECT_THAT(
      said, HasSubstr("synccheck: k.cu:3: divergent barrier: not all threads of the block come to it\n"
                      "  kernel apart, block (0,0,0), thread (0,0,0)\n  thread (32,0,0) waits at k.cu:5\n"));
  EXPECT_THAT(said, HasSubstr(sum(0, 0, 0, 1)));
}

TEST_F(Checks, LanesThatDoNotCome) {
  const std::string said = findings(R"(extern "C" __global__ void half(int* a) {
  int v = threadIdx.x;
  if (threadIdx.x < 16)
    v = __nvvm_shfl_sync_down_i32(0xffffffff, v, 1, 31);
  __nvvm_bar_sync(0);
  a[threadIdx.x] = v;
})",
                                    R"(
  int* a = allocated(128);
  void* arguments[] = {&a};
  check_launch("half", 1, 32, 1, 0, arguments);)");
  EXPECT_THAT(said, HasSubstr("synccheck: k.cu:4: lanes 0xffff0000 of the mask 0xffffffff do not come\n"));
  EXPECT_THAT(said, HasSubstr("thread (16,0,0) waits at k.cu:5\n"));
  EXPECT_THAT(said, HasSubstr(sum(0, 0, 0, 1)));
  EXPECT_THAT(findings(R"(extern "C" __global__ void other(int* a) {
  __nvvm_bar_warp_sync(1);
  a[threadIdx.x] = 1;
})",
                       R"(
  int* a = allocated(128);
  void* arguments[] = {&a};
  check_launch("other", 1, 32, 1, 0, arguments);)"),
              HasSubstr("synccheck: k.cu:2: the thread's own lane 1 is not in its mask 0x00000001\n"));
}

// ---- Programs without findings

TEST_F(Checks, NothingInCorrectKernels) {
  EXPECT_EQ(findings(R"(
__device__ int table[4] = {1, 2, 3, 4};
extern __shared__ float dynamic[];
extern "C" __global__ void warp(float* a, int n) { // __syncwarp(), shuffles, and lanes that have ended
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t >= n) return;
  s[t] = a[t];
  __nvvm_bar_warp_sync(0xffffffff);
  for (int d = 16; d > 0; d /= 2) {
    float v = t % 32 + d < 32 && t + d < n ? s[t + d] : 0;
    __nvvm_bar_warp_sync(0xffffffff);
    s[t] += v;
    __nvvm_bar_warp_sync(0xffffffff);
  }
  float v = s[t];
  for (int d = 16; d > 0; d /= 2) v += __nvvm_shfl_sync_bfly_f32(0xffffffff, v, d, 31);
  a[t] = v;
}
extern "C" __global__ void tiles(const float* in, float* out, int steps) { // two tiles by turns
  __shared__ float tile[2][64];
  int t = threadIdx.x;
  float sum = 0;
  tile[0][t] = in[t];
  __nvvm_bar_sync(0);
  for (int i = 0; i < steps; ++i) {
    float *now = tile[i % 2], *next = tile[1 - i % 2];
    if (i + 1 < steps) next[t] = in[(i + 1) * 64 + t];
    for (int k = 0; k < 64; ++k) sum += now[k];
    __nvvm_bar_sync(0);
  }
  out[t] = sum;
}
extern "C" __global__ void bytes(unsigned char* flags, bool* any, int* count) { // neighbours, equal values, atomics
  int t = threadIdx.x;
  flags[t] = t;
  *any = true;
  __nvvm_atom_add_gen_i(count, 1);
  __nvvm_atom_max_gen_i(count + 1, t);
  dynamic[t] = table[t % 4];
  __nvvm_bar_sync(0);
  if (t == 0) count[2] = count[0] + flags[63] + (int)dynamic[63];
}
struct Pair { int a; long b; };
extern "C" __global__ void copies(Pair* pairs, Pair by, int which) { // structures by value, in shared and local memory
  __shared__ Pair s[64];
  Pair own[2] = {pairs[threadIdx.x], by};
  s[threadIdx.x] = own[(threadIdx.x + which) % 2];
  __nvvm_bar_sync(0);
  Pair* from = which ? &own[1] : &s[63 - threadIdx.x];
  by.a += which;
  pairs[threadIdx.x].b = from->b + by.a;
}
extern "C" __global__ void early(int* a, int n) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  if (t >= n) return;
  __nvvm_bar_sync(0);
  a[t] = s[t ^ 1];
}
)",
                     R"(
  float *a = allocated(256), *in = allocated(4 * 256), *out = allocated(256);
  int n = 40, steps = 4;
  for (int i = 0; i < 256; ++i) in[i] = 1;
  void *first[] = {&a, &n}, *second[] = {&in, &out, &steps};
  check_launch("warp", 1, 64, 1, 0, first);
  check_launch("tiles", 2, 64, 1, 0, second);
  char *flags = allocated(64), *any = allocated(1);
  int *count = allocated(12);
  void* third[] = {&flags, &any, &count};
  check_launch("bytes", 1, 64, 1, 256, third);
  void* pairs = allocated(64 * 16);
  struct { int a; long b; } by = {3, 4};
  int which = 1;
  void* fourth[] = {&pairs, &by, &which};
  check_launch("copies", 1, 64, 1, 0, fourth);
  which = 0;
  check_launch("copies", 1, 64, 1, 0, fourth);
  void* fifth[] = {&count, &n};
  int* e = allocated(256);
  fifth[0] = &e;
  check_launch("early", 1, 64, 1, 0, fifth);
  printf("%g %d", out[0], count[2]);)"),
            no_findings);
  EXPECT_EQ(output(), "256 131");
}

// ---- Places, counts and settings

TEST_F(Checks, OncePerPairOfPlaces) {
  const std::string said = findings(R"(__device__ void put(int* a, int i) {
  a[i] = 1;
}
extern "C" __global__ void twice(int* a) {
  put(a, 10 + threadIdx.x);
  put(a, 20 + threadIdx.x);
  for (int i = 0; i < 100; ++i) a[50 + i] = i;
})",
                                    R"(
  int* a = allocated(4);
  void* arguments[] = {&a};
  check_launch("twice", 3, 32, 1, 0, arguments);)");
  EXPECT_THAT(said, HasSubstr("k.cu:2: write"));
  EXPECT_THAT(said, HasSubstr("k.cu:7: write"));
  EXPECT_THAT(said, HasSubstr(sum(2, 0, 0, 0)));
}

TEST_F(Checks, FunctionsWithoutDebugInformation) {
  compile(R"(__device__ void put(int* a, int i) { a[i] = 1; }
extern "C" __global__ void outer(int* a) { put(a, 10); a[30] = 1; })",
          "");
  const std::string said = run_checked(R"(
  int* a = allocated(4);
  void* arguments[] = {&a};
  check_launch("outer", 1, 1, 1, 0, arguments);)");
  EXPECT_THAT(said, HasSubstr("memcheck: function put(int*, int): write"));
  EXPECT_THAT(said, HasSubstr("memcheck: function outer: write"));
}

TEST_F(Checks, Settings) {
  const std::string kernel = R"(extern "C" __global__ void put(int* a) { a[1] = 1; a[2] = 1; })";
  const std::string launch = R"(
  int* a = allocated(4);
  void* arguments[] = {&a};
  check_launch("put", 1, 1, 1, 0, arguments);
  puts("end");)";
  EXPECT_THAT(findings(kernel, launch, "XAAS_KERNEL_CHECKS_STATUS=9", 9), HasSubstr(sum(1, 0, 0, 0)));
  EXPECT_EQ(output(), "end\n");
  run_checked(launch, "XAAS_KERNEL_CHECKS=report XAAS_KERNEL_CHECKS_STATUS=", 0);
  run_checked(launch, "XAAS_KERNEL_CHECKS=abort XAAS_KERNEL_CHECKS_STATUS=9", 9);
  EXPECT_EQ(output(), "");
  run_checked(launch, "XAAS_KERNEL_CHECKS=abort", 128 + SIGABRT);
  EXPECT_THAT(run_checked(launch, "XAAS_KERNEL_CHECKS=yes", 2),
              HasSubstr("XAAS_KERNEL_CHECKS=yes: must be report or abort"));
  EXPECT_THAT(run_checked(launch, "XAAS_KERNEL_CHECKS_STATUS=256", 2),
              HasSubstr("must be a number from 0 to 255"));
}

// ---- Forms and links

// Recursion, calls through pointers, threads that wait, barriers for some threads. A thread that waits with
// checks would do so for ever.
TEST_F(Checks, KernelsThatOnlyFibersRunAreRefused) {
  auto kernels = compile(R"(
__device__ int depth(int n) { return n < 2 ? n + threadIdx.x : depth(n - 1); }
__device__ int one(int n) { return n + threadIdx.x; }
__device__ int two(int n) { return n - threadIdx.x; }
__device__ int (*table[])(int) = {one, two};
extern "C" __global__ void recursive(int* a) { a[threadIdx.x] = depth(a[0]); }
extern "C" __global__ void pointer(int* a) { a[threadIdx.x] = table[a[0]](1); }
extern "C" __global__ void waits(int* a) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __nvvm_bar_sync(0);
  if (threadIdx.x < 32) while (flag == 0) ;
  else flag = 1;
}
extern "C" __global__ void turns(int* turn, int* a) {
  while (__nvvm_atom_add_gen_i(turn, 0) != blockDim.x - 1 - threadIdx.x) ;
  *a += threadIdx.x;
  __nvvm_atom_add_gen_i(turn, 1);
}
extern "C" __global__ void some(int* a) { __nvvm_barrier_sync_cnt(1, 32); a[threadIdx.x] = 1; }
extern "C" __global__ void lock(int* mutex, int* a) {
  while (__nvvm_atom_cas_gen_i(mutex, 0, 1) != 0) ;
  __nvvm_atom_add_gen_i(a, threadIdx.x);
  __nvvm_atom_xchg_gen_i(mutex, 0);
})",
                         "-gline-tables-only");
  const std::map<std::string, std::string> reasons = {{"recursive", "which is recursive"},
                                                      {"pointer", "a call through a pointer"},
                                                      {"waits", "waits for another without a barrier"},
                                                      {"turns", "waits for another without a barrier"},
                                                      {"some", "a barrier for some of the block's threads"}};
  for (const auto& [name, reason] : reasons) {
    EXPECT_EQ(kernels[name].form, Form::refused) << name;
    EXPECT_THAT(kernels[name].reason,
                AllOf(HasSubstr(reason), HasSubstr("kernels with checks have no form for it")))
        << name;
  }
  EXPECT_EQ(kernels["lock"].form, Form::masked) << kernels["lock"].reason;
  EXPECT_EQ(run_checked(R"(
  int *mutex = allocated(4), *a = allocated(4);
  void* arguments[] = {&mutex, &a};
  check_launch("lock", 2, 32, 1, 0, arguments);
  printf("%d", *a);)"),
            no_findings);
  EXPECT_EQ(output(), "992");
  EXPECT_THAT(run_checked(R"(
  int* a = allocated(4);
  void* arguments[] = {&a};
  check_launch("waits", 1, 64, 1, 0, arguments);)",
                          "", 3),
              HasSubstr("waits for another"));
}

// Both have a static function `put`, which the link renames.
TEST_F(Checks, LinkedModulesKeepLines) {
  const std::string first = R"(__device__ void other(int* a);
static __device__ void put(int* a) { a[1] = 1; }
extern "C" __global__ void k(int* a) {
  put(a);
  other(a);
  a[5] = a[threadIdx.x] / a[0];
})",
                    second = R"(
static __device__ void put(int* a) {
  a[8] = 1;
}
__device__ void other(int* a) { put(a); })";
  for (const std::string lines : {"-gline-tables-only", ""}) {
    llvm::LLVMContext context;
    std::vector<SourceModule> modules;
    for (const std::string& text : {first, second}) {
      const std::string bytes = bitcode(text, lines + " -fgpu-rdc -cuid=" + std::to_string(modules.size()));
      auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bytes, "k"), context);
      ASSERT_TRUE(static_cast<bool>(module));
      modules.push_back({"k.cu", std::move(*module)});
    }
    auto linked = link_modules(std::move(modules), true);
    ASSERT_TRUE(linked) << linked.error().message;
    auto kernels = transform(**linked, {.checked = true});
    EXPECT_EQ(kernels["k"].form, Form::masked) << kernels["k"].reason;
    EXPECT_EQ(kernels["k"].source, "k.cu");
    const std::string said = run_checked(R"(
  int* a = allocated(4);
  void* arguments[] = {&a};
  check_launch("k", 1, 1, 1, 0, arguments);)");
    if (lines.empty())
      EXPECT_THAT(said, AllOf(HasSubstr("memcheck: function put(int*): write"),
                              HasSubstr("memcheck: function k: write"), HasSubstr(sum(2, 0, 0, 0))));
    else
      EXPECT_THAT(said, AllOf(HasSubstr("memcheck: k.cu:2: write of 4 bytes"),
                              HasSubstr("0 bytes after an allocation"),
                              HasSubstr("memcheck: k.cu:3: write of 4 bytes"),
                              HasSubstr("28 bytes after an allocation"),
                              HasSubstr("memcheck: k.cu:6: write of 4 bytes")));
  }
}

} // namespace

} // namespace xaas::cpukernel
