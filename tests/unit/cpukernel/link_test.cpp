// Relocatable device code: kernels of several sources.
#include "cpukernel/testing.h"

#include <xaas/cpukernel/link.h>

#include <gmock/gmock.h>

namespace xaas::cpukernel {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LinkedKernels : public CpuKernel {
protected:
  struct Source {
    std::string name, text, options = "";
  };

  Result<std::unique_ptr<llvm::Module>> link(const std::vector<Source>& sources) {
    std::vector<SourceModule> modules;
    for (const auto& [name, text, options] : sources) {
      const std::string bitcode =
          compile(text, "-fgpu-rdc -cuid=" + std::to_string(modules.size()) + options);
      auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, name), context_);
      EXPECT_TRUE(static_cast<bool>(module));
      modules.push_back({name, std::move(*module)});
    }
    return link_modules(std::move(modules));
  }

  std::map<std::string, Kernel> make_linked(const std::vector<Source>& sources) {
    const auto linked = link(sources);
    if (!linked) {
      ADD_FAILURE() << linked.error().message;
      return {};
    }
    return transform(**linked, {});
  }

  std::string link_error(const std::vector<Source>& sources) {
    const auto linked = link(sources);
    EXPECT_FALSE(linked);
    return linked ? "" : linked.error().message;
  }

  llvm::LLVMContext context_;
};

const char* const caller = R"(
extern __device__ float scale;
extern __constant__ float factors[2];
extern __shared__ float dynamic[];
__device__ float neighbour(float x);
static __device__ float own(float x) { return x + 1; }
extern "C" __global__ void k(float* a) {
  dynamic[threadIdx.x] = a[threadIdx.x];
  a[threadIdx.x] = own(neighbour(a[threadIdx.x])) * scale + factors[1];
})";
const char* const callee = R"(
__device__ float scale = 3;
__constant__ float factors[2] = {0, 100};
extern __shared__ float dynamic[];
static __device__ float own(float x) { return 2 * x; }
__device__ float neighbour(float x) {
  __nvvm_bar_sync(0);
  float y = dynamic[(threadIdx.x + 1) % blockDim.x];
  __nvvm_bar_sync(0);
  return own(y);
}
__device__ void nobody_calls() { asm volatile("no.such.instruction;"); }
extern "C" __global__ void set(float x) { scale = x; }
)";

TEST_F(LinkedKernels, CallsAndVariablesGoAcrossSources) {
  for (const bool caller_first : {true, false}) {
    const Source a{"a.cu", caller}, b{"b.cu", callee};
    auto kernels = make_linked(caller_first ? std::vector{a, b} : std::vector{b, a});
    EXPECT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels["k"].form, Form::loops) << kernels["k"].reason;
    EXPECT_EQ(kernels["k"].source, "a.cu");
    EXPECT_EQ(kernels["set"].source, "b.cu");
    EXPECT_EQ(run(R"(
int main(void) {
  float a[32], *pa = a, x = 10;
  for (int i = 0; i < 32; ++i) a[i] = i;
  void *arguments[] = {&pa}, *of_set[] = {&x};
  launch("k", 1, 1, 32, 1, 1, 128, arguments);
  printf("%g %g ", a[0], a[31]);
  ((float*)variable("factors"))[1] = 200;
  launch("set", 1, 1, 1, 1, 1, 0, of_set);
  launch("k", 1, 1, 32, 1, 1, 128, arguments);
  printf("%g %g %g", a[0], a[31], *(float*)variable("scale"));
})"),
              "109 103 2510 2390 10");
  }
}

// As templates in headers, with variables of their own in each source.
TEST_F(LinkedKernels, EqualDefinitionsAreOne) {
  const std::string header = R"(
template <class T> __global__ void add(T* a, T x) { a[threadIdx.x] += x; }
inline __device__ int three() { __shared__ int s[4]; s[threadIdx.x] = 3; return s[threadIdx.x]; }
static __device__ int calls;
)";
  auto kernels = make_linked({{"a.cu", header + R"(template __global__ void add<int>(int*, int);
extern "C" __global__ void first(int* a) { a[threadIdx.x] = three() + ++calls; })"},
                              {"b.cu", header + R"(template __global__ void add<int>(int*, int);
extern "C" __global__ void second(int* a) { a[threadIdx.x] = three() + 10 * ++calls; })"}});
  EXPECT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels["_Z3addIiEvPT_S0_"].source, "a.cu");
  EXPECT_EQ(run(R"(
int main(void) {
  int a[4] = {0}, *pa = a, x = 5;
  void *arguments[] = {&pa}, *of_add[] = {&pa, &x};
  launch("first", 1, 1, 1, 1, 1, 0, arguments);
  printf("%d ", a[0]);
  launch("second", 1, 1, 1, 1, 1, 0, arguments);
  launch("_Z3addIiEvPT_S0_", 1, 1, 4, 1, 1, 0, of_add);
  printf("%d", a[0]);
})"),
            "4 18");
}

// The second source has code of `twice` for inlining, and does not define it; an alias of a function is a
// function.
TEST_F(LinkedKernels, CodeThatDefinesNothing) {
  const std::string header = R"(
template <class T> __device__ T twice(T x) { return 2 * x; }
extern template __device__ int twice<int>(int);
extern "C" __device__ int other(int);
)";
  auto kernels = make_linked({{"a.cu", header + R"(template __device__ int twice<int>(int);
extern "C" __device__ int one(int x) { return x + 1; }
extern "C" __device__ int other(int) __attribute__((alias("one")));
extern "C" __global__ void first(int* a) { *a = twice(3); })",
                               " -O2"},
                              {"b.cu", header + R"(
extern "C" __global__ void second(int* a) { *a = twice(4) + other(10); })",
                               " -O2"}});
  EXPECT_EQ(kernels["second"].form, Form::loops) << kernels["second"].reason;
  EXPECT_EQ(run(R"(int main(void) {
  int a = 0, *pa = &a;
  void* arguments[] = {&pa};
  launch("first", 1, 1, 1, 1, 1, 0, arguments);
  printf("%d ", a);
  launch("second", 1, 1, 1, 1, 1, 0, arguments);
  printf("%d", a);
})"),
            "6 19");
}

TEST_F(LinkedKernels, AStrongDefinitionPrevails) {
  const Source user{"user.cu", R"(__device__ int which();
extern "C" __global__ void k(int* a) { *a = which(); })"};
  const Source weak{"weak.cu", "__attribute__((weak)) __device__ int which() { return 1; }"};
  const Source strong{"strong.cu", "__device__ int which() { return 2; }"};
  for (const auto& order : {std::vector{user, weak, strong}, std::vector{strong, weak, user}}) {
    make_linked(order);
    EXPECT_EQ(run(R"(int main(void) {
  int a = 0, *pa = &a;
  void* arguments[] = {&pa};
  launch("k", 1, 1, 1, 1, 1, 0, arguments);
  printf("%d", a);
})"),
              "2");
  }
}

TEST_F(LinkedKernels, SourcesWithOtherOptions) {
  auto kernels = make_linked(
      {{"a.cu", caller, " -fgpu-flush-denormals-to-zero -g -O1 -fPIC"}, {"b.cu", callee, " -O3"}});
  EXPECT_EQ(kernels["k"].form, Form::loops) << kernels["k"].reason;
}

TEST_F(LinkedKernels, WhatIsDefinedTwice) {
  EXPECT_THAT(link_error({{"b.cu", callee}, {"a.cu", caller}, {"c.cu", "__device__ float scale = 4;"}}),
              AllOf(HasSubstr("scale"), HasSubstr("b.cu"), HasSubstr("c.cu")));
}

TEST_F(LinkedKernels, WhatIsNotThere) {
  EXPECT_THAT(link_error({{"a.cu", "extern __device__ int x;\n"
                                   "extern \"C\" __global__ void k(int* a) { *a = x; }"}}),
              AllOf(HasSubstr("x"), HasSubstr("a.cu")));
  EXPECT_THAT(link_error({{"a.cu", "__device__ void f();\n"
                                   "__device__ void (*pointer)() = f;\n"
                                   "extern \"C\" __global__ void k() { pointer(); }"}}),
              AllOf(HasSubstr("_Z1fv"), HasSubstr("a.cu")));
  // A call stops only the kernel.
  auto kernels = make_linked({{"a.cu", "__device__ int f();\n"
                                       "extern \"C\" __global__ void k(int* a) { *a = f(); }\n"
                                       "extern \"C\" __global__ void l(int* a) { *a = 1; }"}});
  EXPECT_EQ(kernels["k"].form, Form::refused);
  EXPECT_THAT(kernels["k"].reason, HasSubstr("_Z1fv"));
  EXPECT_EQ(kernels["l"].form, Form::loops);
}

TEST_F(LinkedKernels, WhatContradicts) {
  EXPECT_THAT(link_error({{"a.cu", "extern \"C\" __device__ int thing;\n"
                                   "extern \"C\" __global__ void k(int* a) { *a = thing; }"},
                          {"b.cu", "extern \"C\" __device__ int thing() { return 1; }"}}),
              AllOf(HasSubstr("thing is a variable in a.cu"), HasSubstr("function in b.cu")));
}

// Kernels of other sources are no functions that a pointer might reach.
TEST_F(LinkedKernels, PointersToFunctions) {
  auto kernels = make_linked({{"a.cu", R"(
typedef float (*operation)(float);
extern __device__ operation chosen;
__global__ void other(float*);
extern "C" __global__ void k(float* a) { a[threadIdx.x] = chosen(a[threadIdx.x]); }
void host(float* a) { (void)&other; })"},
                              {"b.cu", R"(
typedef float (*operation)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ operation chosen = twice;
__global__ void other(float* a) { a[threadIdx.x] = 0; })"}});
  EXPECT_EQ(kernels["k"].form, Form::loops) << kernels["k"].reason;
  EXPECT_EQ(run(R"(int main(void) {
  float a[4] = {1, 2, 3, 4}, *pa = a;
  void* arguments[] = {&pa};
  launch("k", 1, 1, 4, 1, 1, 0, arguments);
  printf("%g %g", a[0], a[3]);
})"),
            "2 8");
}

} // namespace

} // namespace xaas::cpukernel
