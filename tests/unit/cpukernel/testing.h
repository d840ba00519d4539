// Helpers for tests of kernels for the CPU: compile a kernel as Clang's front end does for a GPU, make it for
// the CPU, and run its blocks from a small host program.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/cpukernel/cpukernel.h>
#include <xaas/target/cpu.h>

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <string>

namespace xaas::cpukernel {

// What CUDA's headers give a kernel; no toolkit is needed.
inline const std::string cuda_names = R"(
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
struct dim3 { unsigned x, y, z; };
#include "__clang_cuda_builtin_vars.h"
typedef unsigned uint;
extern "C" __device__ float __nv_expf(float);
extern "C" __device__ float __nv_sqrtf(float);
)";

// The host's part: `launch` runs all blocks of a kernel in their order, as the run-time library does.
inline const std::string host_names = R"(
#include "block.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static struct xaas_module* module;
void xaas_register_module(struct xaas_module* table) { module = table; }
static const struct xaas_kernel* find(const char* name) {
  for (unsigned i = 0; i < module->kernel_count; ++i)
    if (!strcmp(module->kernels[i].name, name))
      return &module->kernels[i];
  abort();
}
static void* variable(const char* name) {
  for (unsigned i = 0; i < module->variable_count; ++i)
    if (!strcmp(module->variables[i].name, name))
      return module->variables[i].address;
  abort();
}
static void launch(const char* name, unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned bz,
                   unsigned dynamic, void** arguments) {
  const struct xaas_kernel* k = find(name);
  struct xaas_block b = {.size = {bx, by, bz}, .grid = {gx, gy, 1}, .threads = bx * by * bz, .dynamic_size = dynamic};
  b.shared = aligned_alloc(256, (k->shared_bytes + dynamic + 511) / 256 * 256);
  b.arena = aligned_alloc(256, ((size_t)k->thread_bytes * b.threads + 64 * (k->arrays + 1) + 511) / 256 * 256);
  if (!k->run) { fprintf(stderr, "%s\n", k->reason); exit(3); }
  if (k->fibers && !xaas_take_fibers(b.threads, 64 * 1024)) abort();
  for (unsigned y = 0; y < gy; ++y)
    for (unsigned x = 0; x < gx; ++x) {
      b.index[0] = x, b.index[1] = y;
      k->run(arguments, &b);
    }
  if (k->fibers) xaas_give_fibers();
  free(b.shared), free(b.arena);
}
)";

// An architecture whose programs the tests run, and how.
struct Machine {
  std::string arch;
  std::string compiler = {};      // options of Clang's that choose it
  std::string emulator = {};      // a command that runs a program; empty for this machine's own
  std::string best = {};          // options for a CPU, which may mask vectors
  std::string without_masks = {}; // options for one that does not; empty if none runs here
};

// This machine, or AArch64 under emulation with XAAS_TEST_ARCH=aarch64. Nothing if the tools for that are
// missing.
inline std::optional<Machine> machine() {
  const char* const arch = std::getenv("XAAS_TEST_ARCH");
  if (!arch || target::host_arch() == arch) {
#ifdef __x86_64__
    const char* const without_masks = __builtin_cpu_supports("avx2") ? "-O2 -march=x86-64-v3" : "";
#else
    const char* const without_masks = "-O2 -march=armv8-a";
#endif
    return Machine{.arch = target::host_arch(), .best = "-O2 -march=native", .without_masks = without_masks};
  }
  if (std::string(arch) != "aarch64" || !find_program("qemu-aarch64") ||
      !fs::exists("/usr/aarch64-linux-gnu/lib/libc.so.6") ||
      !fs::exists("/usr/lib/gcc-cross/aarch64-linux-gnu"))
    return std::nullopt;
  return Machine{.arch = "aarch64",
                 .compiler = "--target=aarch64-linux-gnu",
                 .emulator = "qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu",
                 .best = "-O2 -mcpu=neoverse-v1",
                 .without_masks = "-O2 -march=armv8-a"};
}

// Bitcode becomes an object, with options of Clang's driver. With the LLVM that the program is linked with.
bool compile_bitcode(const std::string& options, const fs::path& bitcode, const fs::path& object);

class CpuKernel : public ::testing::Test {
protected:
  void SetUp() override {
    const std::optional<Machine> found = machine();
    if (!found)
      GTEST_SKIP() << "no programs for " << std::getenv("XAAS_TEST_ARCH")
                   << " here: qemu-user, libc6-dev-arm64-cross and libstdc++-12-dev-arm64-cross are needed";
    machine_ = *found;
    auto directory = TemporaryDirectory::create(temporary_root(), "xaas-cpukernel-");
    ASSERT_TRUE(directory);
    directory_.emplace(*std::move(directory));
  }

  fs::path path(const std::string& name) const { return directory_->path() / name; }

  // Bitcode of a source, as the front end emits it. The PTX version does not come from a CUDA toolkit, which
  // other machines lack; what Clang takes without one is too old for the architecture.
  std::string compile(const std::string& kernels, const std::string& more = "") {
    EXPECT_TRUE(write_file(path("k.cu"), cuda_names + kernels, 0644, false));
    const std::string command = std::string(XAAS_TEST_CLANG) + " " + machine_.compiler +
                                " -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 -nocudainc -nocudalib "
                                "--cuda-path=/none --cuda-feature=+ptx88 -O2 "
                                "-Wno-unknown-cuda-version -Xclang -disable-llvm-passes -emit-llvm -c " +
                                more + " " + path("k.cu").string() + " -o " + path("k.bc").string();
    EXPECT_EQ(std::system(command.c_str()), 0);
    return *read_file(path("k.bc"));
  }

  // Compiles and transforms; kernels by name.
  std::map<std::string, Kernel> make(const std::string& kernels, const Options& options = {}) {
    return transform(compile(kernels), options);
  }

  std::map<std::string, Kernel> transform(const std::string& bitcode, const Options& options) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "k"), context);
    if (!module) {
      ADD_FAILURE() << llvm::toString(module.takeError());
      return {};
    }
    return transform(**module, options);
  }

  std::map<std::string, Kernel> transform(llvm::Module& module, const Options& options) {
    const auto made = make_cpu_module(module, machine_.arch, "image", options);
    std::map<std::string, Kernel> kernels;
    if (!made) {
      ADD_FAILURE() << made.error().message;
      return kernels;
    }
    for (const Kernel& kernel : *made)
      kernels[kernel.name] = kernel;
    std::string out;
    llvm::raw_string_ostream stream(out);
    llvm::WriteBitcodeToFile(module, stream);
    EXPECT_TRUE(write_file(path("cpu.bc"), out, 0644, false));
    return kernels;
  }

  // The transformed module.
  std::unique_ptr<llvm::Module> made(llvm::LLVMContext& context) {
    const std::string bitcode = *read_file(path("cpu.bc"));
    return llvm::cantFail(llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "k"), context));
  }

  // Output of the host program with the transformed module.
  std::string run(const std::string& host) { return run(host, machine_.best); }
  std::string run(const std::string& host, const std::string& options) {
    EXPECT_EQ(status_of(host, options), 0);
    return *read_file(path("out"));
  }

  // The exit status of a shell that runs a program which fails, and what the program says.
  std::pair<int, std::string> run_and_fail(const std::string& host, const std::string& options) {
    const int status = status_of(host, options);
    return {WEXITSTATUS(status), *read_file(path("errors"))};
  }

  int status_of(const std::string& host, const std::string& options) {
    EXPECT_TRUE(write_file(path("host.c"), host_names + host, 0644, false));
    const std::string chosen = join({machine_.compiler, options}, " "), program = path("program").string();
    EXPECT_TRUE(compile_bitcode(chosen, path("cpu.bc"), path("cpu.o")));
    const std::string command =
        std::string(XAAS_TEST_CLANG) + " " + chosen +
        " -fuse-ld=lld -Wno-unused-function -I" XAAS_CPUKERNEL_LIBRARY " " + path("host.c").string() + " " +
        path("cpu.o").string() + " " XAAS_CPUKERNEL_LIBRARY "/fibers.c -lm -o " + program + " && " +
        machine_.emulator + " " + program + " >" + path("out").string() + " 2>" + path("errors").string();
    return std::system(command.c_str());
  }

  Machine machine_;
  std::optional<TemporaryDirectory> directory_;
};

} // namespace xaas::cpukernel
