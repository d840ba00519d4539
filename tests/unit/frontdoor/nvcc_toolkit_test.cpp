// nvcc's command lines as build systems write them, with a real toolkit: Clang accepts the translations.
#include "cuda/first_headers.h"
#include "frontdoor/nvcc_testing.h"
#include "installed_toolkit.h"

#include <xaas/base/process.h>

#include <cstdlib>
#include <optional>
#include <regex>
#include <tuple>

namespace xaas::frontdoor {

namespace {

using testing::HasSubstr;

// FindCUDA uses the same words for dependencies and for an object.
Words with_find_cuda(Words words) {
  const Words same = {"-ccbin",
                      "/usr/bin/c++",
                      "-m64",
                      "-DSTR=\"a b\"",
                      "--std",
                      "c++14",
                      "-Xcompiler",
                      ",\"-Wall\",\"-O2\",\"-O3\",\"-DNDEBUG\"",
                      "-gencode",
                      "arch=compute_80,code=sm_80",
                      "--use_fast_math",
                      "-Xcompiler",
                      "-fPIC",
                      "-lineinfo",
                      "-DNVCC",
                      "-I$TOOLKIT/include",
                      "-Iown"};
  words.insert(words.end(), same.begin(), same.end());
  return words;
}

// As build systems write them, with the names of the files of RealLines.
const std::vector<Words> real_lines = {
    // CMake 3.25, separate compilation, Ninja
    {"-forward-unknown-to-host-compiler",
     "-ccbin=/usr/bin/g++",
     "-DLIST=\"x,y\"",
     "-DNAME=\"a b\"",
     "-isystem=sys",
     "-isystem=own",
     "-O3",
     "-DNDEBUG",
     "--generate-code=arch=compute_75,code=[compute_75,sm_75]",
     "--generate-code=arch=compute_80,code=[sm_80]",
     "--generate-code=arch=compute_90,code=[compute_90]",
     "-Xcompiler=-fPIC",
     "-Xcompiler=-fvisibility=hidden",
     "--expt-relaxed-constexpr",
     "--extended-lambda",
     "-Xcompiler=-Wall,-Wextra",
     "-Xcompiler=-fopenmp",
     "--use_fast_math",
     "-Xptxas",
     "-v",
     "-lineinfo",
     "-Xcudafe",
     "--diag_suppress=20",
     "-std=c++17",
     "-MD",
     "-MT",
     "dir/kernel.cu.o",
     "-MF",
     "kernel.cu.o.d",
     "-x",
     "cu",
     "-rdc=true",
     "-c",
     "kernel.cu",
     "-o",
     "kernel.cu.o"},
    // the same, make
    {"-forward-unknown-to-host-compiler", "--options-file", "includes_CUDA.rsp", "-O2", "-g", "-DNDEBUG",
     "-arch=all-major", "-MD", "-MT", "kernel.cu.o", "-MF", "kernel.cu.o.d", "-x", "cu", "-c", "kernel.cu",
     "-o", "kernel.cu.o"},
    // CMake's test of the compiler
    {"-forward-unknown-to-host-compiler", "-Xcompiler=-v", "-x", "cu", "-c", "kernel.cu", "-o",
     "kernel.cu.o"},
    // CMake's link by nvcc, as in try_compile
    {"-forward-unknown-to-host-compiler", "host.o", "-o", "program", "-lcudadevrt", "-lcudart_static", "-lrt",
     "-lpthread", "-ldl"},
    with_find_cuda({"-M", "-D__CUDACC__", "kernel.cu", "-o", "kernel.NVCC-depend"}),
    with_find_cuda({"kernel.cu", "-c", "-o", "kernel.cu.o"}),
    // Makefiles, libtool, setuptools
    {"-O3", "-Xcompiler", "\"-O3 -fPIC -fopenmp\"", "-arch=sm_80", "-Iown", "-dc", "kernel.cu", "-o",
     "kernel.o"},
    {"-ccbin=g++", "-m64", "--threads", "0", "--std=c++11", "-gencode", "arch=compute_80,code=sm_80",
     "-gencode", "arch=compute_90,code=compute_90", "-o", "kernel.o", "-c", "kernel.cu"},
    {"-I$TOOLKIT/include", "-c", "kernel.cu", "-o", "kernel.o", "-D__CUDA_NO_HALF_OPERATORS__",
     "--expt-relaxed-constexpr", "--compiler-options", "'-fPIC'", "-DTORCH_EXTENSION_NAME=ext",
     "-gencode=arch=compute_80,code=compute_80", "-gencode=arch=compute_80,code=sm_80", "-std=c++17"},
    {"-g", "-G", "-O0", "-Xcompiler", "-rdynamic", "-arch", "sm_80", "kernel.cu", "host.cpp", "-o", "program",
     "-L.", "-lm", "-Xlinker", "-rpath,$ORIGIN"},
    {"-shared", "-Xcompiler", "-fPIC", "-arch=sm_80", "kernel.cu", "-o", "libkernel.so", "-cudart=shared"},
};

const char* const kernel = R"(
#include <cstdio>
#if defined(NAME) && !defined(__NVCC__)
static const char* const name = NAME;
#else
static const char* const name = "kernel";
#endif
__constant__ float table[16];
__global__ void scale(float* x, float a) {
  __shared__ float part[32];
  part[threadIdx.x] = x[threadIdx.x] / a + sinf(table[threadIdx.x & 15]);
  __syncthreads();
  x[threadIdx.x] = sqrtf(part[31 - threadIdx.x]);
}
int run(float* x) {
  scale<<<1, 32>>>(x, 2);
  return std::printf("%s\n", name);
}
)";

class NvccToolkit : public testing::Test {
protected:
  void SetUp() override {
    const char* path = std::getenv("CUDA_PATH");
    toolkit_ = path ? path : "/usr/local/cuda";
    if (!fs::exists(toolkit_ / "bin" / "ptxas") || !fs::exists(toolkit_ / "include" / "cuda.h"))
      GTEST_SKIP() << "there is no CUDA toolkit in " << toolkit_ << " (CUDA_PATH names another)";
    auto made = TemporaryDirectory::create();
    ASSERT_TRUE(made) << made.error().message;
    directory_.emplace(*std::move(made));
    ASSERT_TRUE(make_directories(directory_->path() / "own"));
    ASSERT_TRUE(make_directories(directory_->path() / "sys"));
    for (const auto& [name, content] : std::map<std::string, std::string>{
             {"kernel.cu", kernel},
             {"host.cpp", "int run(float*);\nint main() { return run(nullptr); }\n"},
             {"host.o", ""}})
      ASSERT_TRUE(write_file(directory_->path() / name, content, 0644, false));
  }

  NvccTranslation real_line(size_t number) const {
    Words words = real_lines[number];
    for (std::string& word : words)
      word = std::regex_replace(word, std::regex("\\$TOOLKIT"), toolkit_.string());
    return translated(words,
                      {toolkit_, files({{"includes_CUDA.rsp", "-isystem=\"sys\" -isystem=own"}}), "", ""});
  }

  // The output of clang++ for a translated line.
  std::string clang(const NvccTranslation& translation, const std::vector<std::string>& more,
                    int expected = 0) const {
    Words command = {XAAS_TEST_CLANG, "--driver-mode=g++", "-Wno-unknown-cuda-version"};
    for (const Words& words : {more, with_architectures(translation, {"sm_80"})})
      command.insert(command.end(), words.begin(), words.end());
    const auto result = run_process({.arguments = command, .directory = directory_->path()});
    EXPECT_TRUE(result) << result.error().message;
    if (!result)
      return "";
    EXPECT_EQ(result->exit_code, expected) << join(command, " ") << "\n" << result->output;
    return result->output;
  }

  fs::path toolkit_;
  std::optional<TemporaryDirectory> directory_;
};

class NvccRealLines : public NvccToolkit, public testing::WithParamInterface<size_t> {};

} // namespace

TEST_P(NvccRealLines, AreCommandsOfClang) {
  const std::string said = clang(real_line(GetParam()), {"-###"});
  EXPECT_THAT(said, testing::Not(HasSubstr("warning:")));
  EXPECT_THAT(said, HasSubstr("\n \""));
}

INSTANTIATE_TEST_SUITE_P(All, NvccRealLines, testing::Range<size_t>(0, real_lines.size()));

class NvccCompiled : public NvccRealLines {};

// Separate compilation, FindCUDA's dependencies and object, a Makefile's commands: all compile.
TEST_P(NvccCompiled, Compiles) {
  const NvccTranslation translation = real_line(GetParam());
  const std::string said = clang(translation, {});
  EXPECT_THAT(said, testing::Not(HasSubstr("warning:")));
  const fs::path output = directory_->path() / translation.output;
  ASSERT_TRUE(fs::exists(output));
  EXPECT_GT(fs::file_size(output), 0u);
}

INSTANTIATE_TEST_SUITE_P(Some, NvccCompiled, testing::Values(0, 4, 5, 6));

// The host's options do not reach the device, nor the device's the host.
TEST_F(NvccToolkit, SidesHaveTheirOwnOptions) {
  const NvccContext context = {toolkit_, files({}), "", ""};
  const std::string said = clang(translated({"-c", "kernel.cu", "-O1", "-use_fast_math",
                                             "-Xcompiler=-fvisibility=hidden,-fno-exceptions"},
                                            context),
                                 {"-###"});
  std::string device, host;
  for (const std::string& line : split(said, '\n'))
    if (line.find("\"-cc1\"") != std::string::npos)
      (line.find("\"-fcuda-is-device\"") != std::string::npos ? device : host) += line;
  EXPECT_THAT(device, HasSubstr("\"-O3\""));
  EXPECT_THAT(device, HasSubstr("\"-fapprox-func\""));
  EXPECT_THAT(device, HasSubstr("\"-fdenormal-fp-math-f32=preserve-sign,preserve-sign\""));
  EXPECT_THAT(device, HasSubstr("\"-fexceptions\""));
  EXPECT_THAT(device, testing::Not(HasSubstr("-fvisibility")));
  EXPECT_THAT(host, HasSubstr("\"-O1\""));
  EXPECT_THAT(host, HasSubstr("\"-fvisibility=hidden\""));
  EXPECT_THAT(host, testing::Not(HasSubstr("\"-fexceptions\"")));
  EXPECT_THAT(host, testing::Not(HasSubstr("-fapprox-func")));
  EXPECT_THAT(host, testing::Not(HasSubstr("-fdenormal-fp-math")));
}

// Clang knows the word, but not for CUDA, and would misunderstand it. So nvcc compiles a unit that has it.
TEST_F(NvccToolkit, ManagedVariablesAreRefused) {
  ASSERT_TRUE(write_file(directory_->path() / "managed.cu", "__managed__ int shared;\n", 0644, false));
  const NvccContext context = {toolkit_, files({}), "", ""};
  for (const char* options :
       {"-c managed.cu", "-w -c managed.cu", "-Xcompiler -Wno-ignored-attributes -c managed.cu"})
    EXPECT_THAT(clang(translated(split(options, ' '), context), {}, 1),
                HasSubstr("'managed' attribute ignored"));
}

// Separate compilation and a kernel that launches another, up to a program.
TEST_F(NvccToolkit, ProgramsLink) {
  ASSERT_TRUE(write_file(directory_->path() / "launching.cu",
                         "extern __device__ int next(int);\n"
                         "__global__ void inner(int* x) { *x = next(*x); }\n"
                         "__global__ void outer(int* x) { inner<<<1, 1>>>(x); }\n"
                         "int main() { outer<<<1, 1>>>(nullptr); }\n",
                         0644, false));
  ASSERT_TRUE(write_file(directory_->path() / "next.cu", "__device__ int next(int x) { return x + 1; }\n",
                         0644, false));
  const NvccContext context = {toolkit_, files({}), "", ""};
  for (const char* command :
       {"-O2 -dc launching.cu -o launching.o", "-O2 -dc next.cu -o next.o", "launching.o next.o -o program"})
    EXPECT_THAT(clang(translated(split(command, ' '), context), {}), testing::Not(HasSubstr("warning:")))
        << command;
  EXPECT_TRUE(fs::exists(directory_->path() / "program"));
}

// Every built-in atomic function of nvcc 12.8 and later is one of Clang's, with and without a scope. nvcc
// itself takes the source, too, where the toolkit has its compiler.
TEST_F(NvccToolkit, AtomicFunctionsOfNvcc) {
  std::string source = "__global__ void k(int* p, int* q, int* r, float* f, unsigned long long* u) {\n";
  for (const std::string scope :
       {"", ", __NV_THREAD_SCOPE_THREAD", ", __NV_THREAD_SCOPE_BLOCK", ", __NV_THREAD_SCOPE_CLUSTER",
        ", __NV_THREAD_SCOPE_DEVICE", ", __NV_THREAD_SCOPE_SYSTEM"}) {
    const auto call = [&](const std::string& text) { source += "  " + text + scope + ");\n"; };
    call("__nv_atomic_load(p, q, __NV_ATOMIC_ACQUIRE");
    call("*q += __nv_atomic_load_n(p, __NV_ATOMIC_CONSUME");
    call("__nv_atomic_store(p, q, __NV_ATOMIC_RELEASE");
    call("__nv_atomic_store_n(p, 3, __NV_ATOMIC_RELAXED");
    call("__nv_atomic_exchange(p, q, r, __NV_ATOMIC_ACQ_REL");
    call("*q += __nv_atomic_exchange_n(p, 4, __NV_ATOMIC_SEQ_CST");
    call("*q += __nv_atomic_compare_exchange(p, q, r, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED");
    call("*q += __nv_atomic_compare_exchange_n(p, q, 5, true, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED");
    call("*f += __nv_atomic_fetch_add(f, 2.f, __NV_ATOMIC_RELAXED");
    call("__nv_atomic_add(f, 2.f, __NV_ATOMIC_RELAXED");
    for (const std::string operation : {"sub", "and", "or", "xor", "max", "min"}) {
      call("*u += __nv_atomic_fetch_" + operation + "(u, 6ull, __NV_ATOMIC_RELAXED");
      call("__nv_atomic_" + operation + "(u, 6ull, __NV_ATOMIC_RELAXED");
    }
    call("__nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST");
  }
  ASSERT_TRUE(write_file(directory_->path() / "atomic.cu", source + "}\n", 0644, false));
  ASSERT_TRUE(write_first_headers(toolkit_, directory_->path() / "first"));
  if (const auto version = defined_number(toolkit_ / "include" / "cuda.h", "CUDA_VERSION");
      version.value_or(0) < 12080)
    GTEST_SKIP() << "the toolkit in " << toolkit_ << " is older than 12.8";
  const NvccContext context = {toolkit_, files({}), "", "", directory_->path() / "first"};
  const std::string ir = clang(translated({"-c", "atomic.cu", "-o", "atomic.ll"}, context),
                               {"--cuda-device-only", "-emit-llvm", "-S"});
  EXPECT_THAT(ir, testing::Not(HasSubstr("warning:")));
  const auto text = read_file(directory_->path() / "atomic.ll");
  ASSERT_TRUE(text);
  for (const char* operation : {"load atomic", "store atomic", "cmpxchg", "cmpxchg weak", "fence",
                                "atomicrmw xchg", "atomicrmw fadd", "atomicrmw sub", "atomicrmw and",
                                "atomicrmw or", "atomicrmw xor", "atomicrmw umax", "atomicrmw umin"})
    EXPECT_THAT(*text, HasSubstr(operation));
  if (!fs::exists(toolkit_ / "nvvm" / "bin" / "cicc"))
    GTEST_SKIP() << "the toolkit in " << toolkit_ << " has no nvcc that compiles";
  const auto nvcc =
      run_process({.arguments = {(toolkit_ / "bin" / "nvcc").string(), "-arch=sm_90", "-ptx", "atomic.cu"},
                   .directory = directory_->path()});
  ASSERT_TRUE(nvcc);
  EXPECT_EQ(nvcc->exit_code, 0) << nvcc->output;
}

// Clang itself compares unsigned numbers as signed ones in these functions.
TEST_F(NvccToolkit, ScopedMinimaAndMaxima) {
  std::string source = "__global__ void k(unsigned* u, int* i, unsigned long long* v, long long* j) {\n";
  for (const std::string function :
       {"atomicMin_block", "atomicMin_system", "atomicMax_block", "atomicMax_system"})
    source += "  " + function + "(u, 1u); " + function + "(v, 1ull); " + function + "(i, 1); " + function +
              "(j, 1ll);\n";
  ASSERT_TRUE(write_file(directory_->path() / "scoped.cu", source + "}\n", 0644, false));
  ASSERT_TRUE(write_first_headers(toolkit_, directory_->path() / "first"));
  const NvccContext context = {toolkit_, files({}), "", "", directory_->path() / "first"};
  const std::string messages = clang(translated({"-c", "scoped.cu", "-o", "scoped.ptx"}, context),
                                     {"--cuda-device-only", "-S", "-Xclang", "-O1"});
  EXPECT_THAT(messages, testing::Not(HasSubstr("warning:")));
  const auto text = read_file(directory_->path() / "scoped.ptx");
  ASSERT_TRUE(text);
  for (const std::string scope : {"cta", "sys"})
    for (const std::string operation : {"min", "max"})
      for (const std::string type : {"u32", "u64", "s32", "s64"})
        EXPECT_THAT(*text, HasSubstr("atom." + scope + "." + operation + "." + type));
}

// Clang's own headers leave these functions undefined.
TEST_F(NvccToolkit, NotANumber) {
  ASSERT_TRUE(
      write_file(directory_->path() / "nan.cu",
                 "#include <cmath>\n__global__ void k(double* d, float* f) { d[0] = nan(\"\"); f[0] = "
                 "nanf(\"\"); d[1] = std::nan(\"1\"); f[1] = std::nanf(\"\"); }\n"
                 "double host() { return std::nan(\"\") + nanf(\"\"); }\n",
                 0644, false));
  ASSERT_TRUE(write_first_headers(toolkit_, directory_->path() / "first"));
  const NvccContext context = {toolkit_, files({}), "", "", directory_->path() / "first"};
  const std::string messages = clang(translated({"-c", "nan.cu", "-o", "nan.ll"}, context),
                                     {"--cuda-device-only", "-emit-llvm", "-S"});
  EXPECT_THAT(messages, testing::Not(HasSubstr("warning:")));
  const auto text = read_file(directory_->path() / "nan.ll");
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, testing::Not(testing::ContainsRegex("declare [^\n]*nan")));
  EXPECT_THAT(clang(translated({"-c", "nan.cu"}, context), {}), testing::Not(HasSubstr("warning:")));
}

// Functions that nvcc has on the host's side without std::.
TEST_F(NvccToolkit, FunctionsOfTheHostWithoutHeaders) {
  std::string source = "#include <algorithm>\nusing namespace std;\ntemplate <class T> void same(T, T) {}\n"
                       "__host__ __device__ int both(int a, int b) { return min(a, b) + max(a, b); }\n"
                       "__global__ void k(int* a) { *a = min(a[1], a[2]) + both(a[3], 4); }\n"
                       "long now(const char* zone) { return strlen(zone) + time(nullptr); }\nvoid test() {\n";
  const std::vector<std::pair<std::string, std::string>> literals = {
      {"1", "2"},     {"1u", "2u"},  {"1", "2u"},    {"1u", "2"},      {"1l", "2l"},    {"1ul", "2ul"},
      {"1l", "2ul"},  {"1ul", "2l"}, {"1ll", "2ll"}, {"1ull", "2ull"}, {"1ll", "2ull"}, {"1ull", "2ll"},
      {"1.f", "2.f"}, {"1.", "2."},  {"1.f", "2."},  {"1.", "2.f"}};
  for (const auto& [a, b] : literals)
    for (const std::string name : {"min", "max"})
      source += "  same(" + name + "(" + a + ", " + b + "), true ? " + a + " : " + b + ");\n";
  ASSERT_TRUE(write_file(directory_->path() / "least.cu", source + "}\n", 0644, false));
  ASSERT_TRUE(write_first_headers(toolkit_, directory_->path() / "first"));
  const NvccContext context = {toolkit_, files({}), "", "", directory_->path() / "first"};
  EXPECT_THAT(clang(translated({"-c", "least.cu"}, context), {}), testing::Not(HasSubstr("warning:")));
  if (!fs::exists(toolkit_ / "nvvm" / "bin" / "cicc"))
    GTEST_SKIP() << "the toolkit in " << toolkit_ << " has no nvcc that compiles";
  const auto nvcc = run_process({.arguments = {(toolkit_ / "bin" / "nvcc").string(), "-c", "least.cu"},
                                 .directory = directory_->path()});
  ASSERT_TRUE(nvcc);
  EXPECT_EQ(nvcc->exit_code, 0) << nvcc->output;
}

// Division and square root in PTX, as nvcc 13.0 generates them.
TEST_F(NvccToolkit, DeviceArithmeticIsNvccs) {
  ASSERT_TRUE(write_file(directory_->path() / "math.cu",
                         "__global__ void k(float* x) { x[0] = x[1] / x[2]; x[3] = sqrtf(x[4]); }\n", 0644,
                         false));
  const std::vector<std::tuple<std::string, std::string, std::string>> cases = {
      {"", "div.rn.f32", "sqrt.rn.f32"},
      {"-ftz=true", "div.rn.ftz.f32", "sqrt.rn.ftz.f32"},
      {"-prec-div=false", "div.full.f32", "sqrt.rn.f32"},
      {"-prec-sqrt=false", "div.rn.f32", "sqrt.approx.f32"},
      {"-use_fast_math", "div.approx.ftz.f32", "sqrt.approx.ftz.f32"},
      {"-use_fast_math -prec-div=true", "div.rn.ftz.f32", "sqrt.approx.ftz.f32"},
      {"-use_fast_math -prec-sqrt=true -ftz=false", "div.approx.f32", "sqrt.rn.f32"},
  };
  const NvccContext context = {toolkit_, files({}), "", ""};
  for (const auto& [options, division, root] : cases) {
    const auto translation = translated(split(trim(options + " -c math.cu"), ' '), context);
    const std::string ptx = clang(translation, {"--cuda-device-only", "-S", "-o", "-"});
    EXPECT_THAT(ptx, HasSubstr("\t" + division + " ")) << options;
    EXPECT_THAT(ptx, HasSubstr("\t" + root + " ")) << options;
  }
}

} // namespace xaas::frontdoor
