// Lowering a captured unit gives the code that clang gives for the same source with -march=<target> before
// the source's own flags.
#include "frontdoor/testing.h"

#include <set>

namespace xaas::frontdoor {

namespace {

struct Source {
  const char* name;
  const char* flags;
  std::string text;
  const char* extension = "c";
};

// Printed instead of the value's bytes, so that the test has the same name in every run.
void PrintTo(const Source& source, std::ostream* stream) {
  *stream << source.name;
}

const std::string loops = R"(
#include <math.h>
#include <string.h>
static double scale = 2.5;
int counts[7] = {1, 2, 3};
const char* const names[] = {"one", "two"};
extern void report(const char*, double);
void axpy(double* restrict y, const double* restrict x, double a, int n) { for (int i = 0; i < n; ++i) y[i] += a * x[i]; }
float dot(const float* x, const float* y, int n) { float s = 0; for (int i = 0; i < n; ++i) s += x[i] * y[i]; return s; }
int count(const unsigned* x, int n) { int c = 0; for (int i = 0; i < n; ++i) c += __builtin_popcount(x[i]); return c; }
double fused(double a, double b, double c) { return a * b + c * scale; }
void copy(char* a, const char* b) { memcpy(a, b, 200); }
void roots(double* x, int n) { for (int i = 0; i < n; ++i) x[i] = sqrt(x[i]); report(names[n & 1], x[0]); }
void set_scale(double s) { scale = s; }
unsigned rotate(unsigned a, int n) { return a << n | a >> (-n & 31); }
)";

const std::string sines = R"(
#include <math.h>
void waves(double* restrict y, const double* restrict x, int n) { for (int i = 0; i < n; ++i) y[i] = sin(x[i]) + exp(x[i]); }
)";

const std::string dispatch = R"(
__attribute__((target("avx2,fma"))) double fast(const double* x, int n) { double s = 0; for (int i = 0; i < n; ++i) s += x[i] * x[i]; return s; }
__attribute__((target("arch=skylake-avx512"))) void faster(double* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 3; }
__attribute__((target("no-avx"))) void slow(double* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 3; }
__attribute__((target("tune=znver4"))) void tuned(double* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 3; }
void plain(double* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 3; }
)";

const std::string clones = R"(
__attribute__((target_clones("default", "avx2", "arch=skylake-avx512")))
void kernel(double* x, int n) { for (int i = 0; i < n; ++i) x[i] = x[i] * 3 + 1; }
void call(double* x) { kernel(x, 100); }
)";

const std::string templates = R"(
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>
struct Base { virtual ~Base() = default; virtual int value() const = 0; };
struct Derived : Base { int value() const override { return 7; } };
thread_local int depth = 0;
static std::vector<int> table{3, 1, 2};
template <class T> T total(const std::vector<T>& v) { T s{}; for (const T& x : v) s += x; return s; }
template double total(const std::vector<double>&);
int f(const std::string& name) {
  ++depth;
  try {
    if (name.empty()) throw std::runtime_error("empty");
    std::sort(table.begin(), table.end());
    return total(table) + Derived().value();
  } catch (const std::exception& e) { return static_cast<int>(std::string(e.what()).size()); }
}
)";

const std::string assembly = R"(
static inline unsigned long long ticks(void) { unsigned lo, hi; __asm__ volatile("rdtsc\n" : "=a"(lo), "=d"(hi)); return (unsigned long long)hi << 32 | lo; }
unsigned long long spent(void (*f)(void)) { unsigned long long t = ticks(); f(); return ticks() - t; }
int shifted(int a) { __asm__("shl %1, %0" : "+r"(a) : "i"(3)); return a; }
__asm__(".globl marker\nmarker:\n.long 42\n");
)";

const std::string simd = R"(
void add(float* restrict a, const float* restrict b, int n) {
#pragma omp simd
  for (int i = 0; i < n; ++i) a[i] += b[i];
}
#pragma omp declare simd
float square(float x) { return x * x; }
)";

const std::string parallel = R"(
double sum(const double* x, int n) {
  double s = 0;
#pragma omp parallel for reduction(+ : s)
  for (int i = 0; i < n; ++i) s += x[i];
  return s;
}
)";

const std::string threads = R"(
#include <stdatomic.h>
_Thread_local int mine;
extern _Thread_local int theirs;
static __thread double state[4];
atomic_long shared;
int next(void) { atomic_fetch_add(&shared, 1); state[mine & 3] += 1; return ++mine + theirs; }
int buffer(const char* s) { char local[64]; int i = 0; while ((local[i] = s[i])) ++i; return local[i / 2]; }
int choose(int a) { switch (a) { case 0: return 5; case 1: return 9; case 2: return 1; case 3: return 44; case 4: return 3; } return 0; }
)";

// Simplification makes instructions of these loops only for targets that have them.
const std::string bits = R"(
int ones(unsigned long x) { int n = 0; while (x) { ++n; x &= x - 1; } return n; }
int width(unsigned x) { int n = 0; while (x) { ++n; x >>= 1; } return n; }
)";

// The loop is vectorized because nothing points to the table; an analysis of the whole module knows that.
const std::string own_table = R"(
static unsigned table[2] = {0, 0x9908b0df};
void twist(unsigned* x) { for (int i = 0; i < 227; ++i) x[i] = x[i + 397] ^ x[i + 1] >> 1 ^ table[x[i + 1] & 1]; }
)";

const Source sources[] = {
    {"O2", "-O2", loops},
    {"O3", "-O3", loops},
    {"Os", "-Os", loops},
    {"O1", "-O1", loops},
    {"O0", "-O0", loops},
    {"bits", "-O2", bits},
    {"own_table", "-O2", own_table},
    {"sections", "-O2 -fPIC -ffunction-sections -fdata-sections", loops},
    {"no_pic", "-O2 -fno-pic -fno-pie -mcmodel=medium", loops},
    {"file_with_avx2", "-O2 -mavx2 -mfma", loops},
    {"file_without_sse41", "-O2 -mno-sse4.1", loops},
    {"fixed_cpu", "-O2 -march=haswell", loops},
    {"fixed_cpu_and_features", "-O2 -march=skylake-avx512 -mno-avx512f -mtune=znver3", loops},
    {"native", "-O2 -mno-fma -march=native -mno-bmi2", loops},
    {"native_tune", "-O2 -march=x86-64-v2 -mtune=native", loops},
    {"tune", "-O2 -mtune=skylake", loops},
    {"fast_math", "-O3 -ffast-math", loops},
    {"no_contraction", "-O2 -ffp-contract=off", loops},
    {"contraction", "-O2 -ffp-contract=fast", loops},
    {"no_vectorize", "-O3 -fno-vectorize -fno-slp-vectorize -fno-unroll-loops", loops},
    {"vector_width", "-O3 -mprefer-vector-width=256", loops},
    {"no_builtin", "-O2 -fno-builtin-memcpy -fno-math-errno", loops},
    {"freestanding", "-O2 -ffreestanding -fno-builtin", loops},
    {"libmvec", "-O3 -ffast-math -fveclib=libmvec", sines},
    {"fpmath", "-O2 -mfpmath=sse -frounding-math -ftrapping-math", loops},
    {"debug", "-g -O2", loops},
    {"debug_options", "-g -O2 -gz -gdwarf-4 -gno-inline-line-tables", loops},
    {"frame", "-O2 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fcf-protection=full", loops},
    {"dispatch", "-O2", dispatch},
    {"dispatch_beside_flags", "-O2 -mno-avx2", dispatch},
    {"clones", "-O2", clones},
    {"clones_beside_flags", "-O2 -mno-avx2", clones},
    {"templates", "-O2", templates, "cpp"},
    {"templates_hidden", "-O2 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden", templates, "cpp"},
    {"no_exceptions", "-O2 -fno-rtti -ffunction-sections",
     "struct A { virtual int f(); int a; };\nint A::f() { return a; }\nint g(A& a) { return a.f(); }\n",
     "cpp"},
    {"assembly", "-O2", assembly},
    {"omp_simd", "-O2 -fopenmp-simd", simd},
    {"openmp", "-O2 -fopenmp", parallel},
    {"threads", "-O2 -fPIC", threads},
    {"no_plt", "-O2 -fPIC -fno-plt -fno-semantic-interposition", threads},
    {"stack_protector", "-O2 -fstack-protector-strong -fno-jump-tables -D_FORTIFY_SOURCE=2", threads},
    {"tls_model", "-O2 -fPIC -ftls-model=initial-exec -fno-common", threads},
    {"tls_descriptors", "-O2 -fPIC -mtls-dialect=gnu2", threads},
    {"emulated_tls", "-O2 -fPIC -femulated-tls", threads},
    {"large_code", "-O2 -mcmodel=large", threads},
    {"merged_constants", "-O2 -fno-merge-all-constants -falign-functions=64 -falign-loops=32", threads},
    {"strict", "-O2 -ffp-model=strict", loops},
    {"wrapping", "-O2 -fwrapv -fno-strict-aliasing -fno-strict-overflow -funsigned-char", loops},
    {"assembler", "-O2 -Wa,--noexecstack -mrelax-all -Wa,--fatal-warnings -fno-unique-section-names",
     threads},
    {"front_end", "-O2 -fno-strict-return -fno-strict-float-cast-overflow -mno-stack-arg-probe", loops},
    {"stack", "-O2 -mstackrealign -mstack-alignment=32 -fstack-size-section -fno-zero-initialized-in-bss",
     threads},
    {"tail_calls", "-O2 -fno-optimize-sibling-calls -fpatchable-function-entry=2 -mskip-rax-setup", threads},
    {"loops_on_request", "-O3 -floop-interchange -Xclang -fmerge-functions", loops},
    {"basic_block_sections", "-O2 -fbasic-block-sections=all", threads},
};

class ParityTest : public FrontDoorTest {
protected:
  // The flags of a command that names the target as Clang does. `native` is the target.
  static std::string flags_for(std::string flags, const std::string& cpu) {
    // A level is not a CPU to tune for.
    if (const size_t at = flags.find("-mtune=native"); cpu.starts_with("x86-64") && at != std::string::npos)
      flags.erase(at, 13);
    for (size_t at; (at = flags.find("native")) != std::string::npos;)
      flags.replace(at, 6, cpu);
    return "-march=" + cpu + " -ffile-prefix-map=$PWD=. -ffile-prefix-map=$PWD/../build=build " + flags;
  }

  // Clang's object with -march first, and with the prefix maps that capture adds.
  std::string compiled(const std::string& source, const std::string& flags, const std::string& cpu) {
    sh("$CLANG " + flags_for(flags, cpu) + " -c " + source + " -o ../build/clang-" + cpu + ".o");
    return read("build/clang-" + cpu + ".o");
  }
};

class Parity : public ParityTest, public ::testing::WithParamInterface<Source> {};

TEST_P(Parity, Objects) {
  const Source& source = GetParam();
  const std::string file = std::string("unit.") + source.extension;
  write("src/" + file, source.text);
  sh(std::string("$CC ") + source.flags + " -c " + file + " -o ../build/unit.o");
  ASSERT_TRUE(is_captured("build/unit.o"));
  const ir::Unit unit = unit_of("build/unit.o");
  for (const char* cpu : {"haswell", "znver3", "x86-64-v4"})
    expect_equal(lowered(unit, cpu), compiled(file, source.flags, cpu), cpu);
}

// From a prepared module: Clang's object, too, at the level for which modules are prepared. For other CPUs,
// decisions by the costs of instructions could differ, but do not for these sources.
TEST_P(Parity, ObjectsFromPreparedModules) {
  const Source& source = GetParam();
  const std::string file = std::string("unit.") + source.extension;
  write("src/" + file, source.text);
  sh(std::string("$CC ") + source.flags + " -c " + file + " -o ../build/unit.o");
  const ir::Unit unit = unit_of("build/unit.o");
  if (const auto obstacle = ir::preparation_obstacle(options_of(unit))) {
    EXPECT_EQ(*obstacle, "-O0");
    EXPECT_STREQ(source.name, "O0");
    return;
  }
  for (const char* cpu : {"x86-64-v3", "haswell", "znver3", "x86-64-v4"})
    expect_equal(lowered_from_prepared(unit, cpu), compiled(file, source.flags, cpu), cpu);
}

INSTANTIATE_TEST_SUITE_P(All, Parity, ::testing::ValuesIn(sources),
                         [](const auto& info) { return std::string(info.param.name); });

const std::string scalable = R"(
#include <stdint.h>
int8_t table[4096];
__attribute__((target("sve2"))) void own(float* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 3; }
__attribute__((target("nosve"))) void none(float* x, int n) { for (int i = 0; i < n; ++i) x[i] *= 3; }
void gather(float* restrict y, const float* restrict x, const int* at, int n) { for (int i = 0; i < n; ++i) if (at[i]) y[i] = x[at[i]]; }
)";

// A loop for which AArch64 has a pass of its own, if there is SVE.
const std::string mismatch = R"(
unsigned mismatch(const unsigned char* a, const unsigned char* b, unsigned i, unsigned n) {
  while (++i != n) if (a[i] != b[i]) break;
  return i;
}
)";

const Source aarch64_sources[] = {
    {"mismatch", "-O3", mismatch},
    {"loops", "-O3", loops},
    {"scalable", "-O3", scalable},
    {"vector_bits", "-O3 -msve-vector-bits=256", scalable},
    {"vector_bits_or_more", "-O3 -msve-vector-bits=256+", scalable},
    {"fast_math", "-O3 -ffast-math", loops},
    {"templates", "-O2 -fPIC", templates, "cpp"},
    {"parallel", "-O2 -fopenmp", parallel},
};

// The same on AArch64, with one IR module for all levels of capture.
class AArch64Parity : public ParityTest, public ::testing::WithParamInterface<Source> {
protected:
  void SetUp() override {
    if (!fs::exists("/usr/aarch64-linux-gnu/include/math.h"))
      GTEST_SKIP() << "no C library for AArch64 (libc6-dev-arm64-cross)";
    arch_ = "aarch64";
    ParityTest::SetUp();
  }
};

TEST_P(AArch64Parity, Objects) {
  const Source& source = GetParam();
  const std::string file = std::string("unit.") + source.extension;
  write("src/" + file, source.text);
  std::optional<ir::Unit> unit;
  for (const char* level : {"armv8-a", "armv8.2-a+sve", "armv9-a"}) {
    use_level(level);
    sh(std::string("$CC ") + source.flags + " -c " + file + " -o ../build/unit.o");
    ASSERT_TRUE(is_captured("build/unit.o"));
    const ir::Unit own = unit_of("build/unit.o");
    EXPECT_EQ(unit.value_or(own).module.to_string(), own.module.to_string()) << level;
    if (!unit)
      unit = own; // all levels have the module of the first
  }
  for (const std::string cpu : {"armv8-a", "armv8.2-a+sve", "armv9-a", "neoverse-n1", "neoverse-v1"}) {
    sh("$CLANG --target=" + target::triple("aarch64") + (cpu.starts_with("arm") ? " -march=" : " -mcpu=") +
       cpu + " -ffile-prefix-map=$PWD=. " + source.flags + " -c " + file + " -o ../build/clang.o");
    expect_equal(lowered(*unit, cpu), read("build/clang.o"), cpu);
    if (cpu == "armv8-a") // for which modules are prepared
      expect_equal(lowered_from_prepared(*unit, cpu), read("build/clang.o"), cpu + ", prepared");
    if (cpu == "armv9-a") { // some differ in the order of blocks
      write("build/prepared.o", lowered_from_prepared(*unit, cpu));
      const auto uses_sve = [&](const std::string& object) {
        return !sh("llvm-objdump-22 -d ../build/" + object + " | grep -m1 -E '\\bz[0-9]+\\.' || true")
                    .empty();
      };
      EXPECT_EQ(uses_sve("prepared.o"), uses_sve("clang.o"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AArch64Parity, ::testing::ValuesIn(aarch64_sources),
                         [](const auto& info) { return std::string(info.param.name); });

// A resolver runs before the CPU is known, so the functions that the loader calls have the lowest level's
// code.
class ResolverTest : public ParityTest {};

TEST_F(ResolverTest, RunsOnEveryCpu) {
  write("src/a.c", R"(
static int supports(const double* x) { double s = 0; for (int i = 0; i < 64; ++i) s += x[i]; return s > 1; }
double table[64];
static void one(double* x) { for (int i = 0; i < 64; ++i) x[i] += 1; }
static void two(double* x) { for (int i = 0; i < 64; ++i) x[i] += 2; }
static void (*choose(void))(double*) { return supports(table) ? one : two; }
void work(double* x) __attribute__((ifunc("choose")));
)");
  sh("$CC -O2 -fno-inline -c a.c -o ../build/a.o");
  write("build/v4.o", lowered(unit_of("build/a.o"), "x86-64-v4"));
  const std::string early =
      sh("objdump -d --disassemble=choose ../build/v4.o; objdump -d --disassemble=supports ../build/v4.o");
  EXPECT_NE(early.find("xmm"), std::string::npos) << early;
  EXPECT_EQ(early.find("ymm"), std::string::npos) << early;
  EXPECT_EQ(early.find("\tv"), std::string::npos) << early;
  EXPECT_NE(sh("objdump -d --disassemble=one ../build/v4.o").find("ymm"), std::string::npos);
}

} // namespace

} // namespace xaas::frontdoor
