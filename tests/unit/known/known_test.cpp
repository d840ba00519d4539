// A compile with a known outcome has the same effects as compiling.
#include "frontdoor/testing.h"
#include "inputs_record.h"

#include <xaas/base/text.h>
#include <xaas/session/log.h>
#include <xaas/store/cache.h>

namespace xaas::known {

namespace {

using frontdoor::FrontDoorTest;

class Known : public FrontDoorTest {
protected:
  void SetUp() override {
    FrontDoorTest::SetUp();
    session_.cache = path("cache");
    ASSERT_TRUE(store::Cache::open(session_.cache));
    use_level("first", "x86-64");
  }

  // The numbers of units that the current session compiled and reused.
  std::pair<uint64_t, uint64_t> counts() const {
    const auto log = session::read_compile_log(session_);
    EXPECT_TRUE(log);
    return log ? std::pair(log->compiled, log->reused) : std::pair<uint64_t, uint64_t>();
  }
};

using Counts = std::pair<uint64_t, uint64_t>;

TEST_F(Known, MessagesAreSaidAgainWithTheirPlaces) {
  write("src/a.c", "#include \"b.h\"\nint f(void) { int unused; return 1; }\n");
  write("src/b.h", "#warning careful\n");
  const std::string said = sh("$CC -Wall -c $PWD/a.c -o ../build/a.o");
  EXPECT_NE(said.find("unused variable"), std::string::npos) << said;
  EXPECT_NE(said.find("careful"), std::string::npos) << said;
  EXPECT_NE(said.find("2 warnings generated"), std::string::npos) << said;
  EXPECT_EQ(sh("$CC -Wall -c $PWD/a.c -o ../build/a.o"), said);
  EXPECT_EQ(counts(), Counts(1, 1));
  sh("$CC -Wall -Werror -c a.c -o ../build/a.o", 1);
}

TEST_F(Known, WarningsOfThePreprocessorAreOnesOwn) {
  write("src/a.c", "#ifdef A\n#warning no threads\n#endif\nint f(void) { return 1; }\n");
  EXPECT_NE(sh("$CC -DA -c a.c -o ../build/a.o").find("no threads"), std::string::npos);
  EXPECT_EQ(sh("$CC -c a.c -o ../build/a.o"), "");
  EXPECT_NE(sh("$CC -DA -c a.c -o ../build/a.o").find("no threads"), std::string::npos);
  EXPECT_EQ(counts(), Counts(2, 1));
}

TEST_F(Known, FilesThatOptionsNameAreNotInTheKey) {
  write("src/a.c", "int f(void) { return 1; }\n");
  for (int i = 0; i < 2; ++i)
    sh("touch list && $CC -fxray-instrument -fxray-attr-list=list -c a.c -o ../build/a.o");
  EXPECT_EQ(counts().second, 0u);
}

TEST_F(Known, OpenMpIsKnownUnderEveryLevel) {
  write("src/a.c", "void f(float* x, int n) {\n#pragma omp parallel for\n"
                   "  for (int i = 0; i < n; ++i) x[i] *= 2;\n}\n");
  sh("$CC -O2 -fopenmp -c a.c -o ../build/a.o");
  use_level("second", "x86-64-v3");
  sh("$CC -O2 -fopenmp -c a.c -o ../build/a.o");
  EXPECT_EQ(counts(), Counts(0, 1));
}

// An outcome with intrinsics serves every target that has at least the features that it was compiled with.
TEST_F(Known, IntrinsicsServeUpward) {
  struct {
    const char* name;
    std::string source;
    bool plain, upward;
  } const sources[] = {
      {"unused", "#include <emmintrin.h>\nint f(int a) { return a + 1; }\n", true, true},
      {"function", "#include <emmintrin.h>\n__m128 f(__m128 a) { return _mm_add_ps(a, a); }\n", false, true},
      {"macro", "#include <emmintrin.h>\n__m128 f(__m128 a) { return _mm_shuffle_ps(a, a, 3); }\n", false,
       true},
      {"attribute", "__attribute__((target(\"sse4.2\"))) double f(double a) { return a * 3 + 1; }\n", false,
       true},
      {"attribute_without_a_feature",
       "__attribute__((target(\"no-avx2\"))) double f(double a) { return a * 3; }\n", false, false},
      {"through_memory",
       "#include <immintrin.h>\n__attribute__((target(\"avx\"))) void f(float* a) "
       "{ _mm256_storeu_ps(a, _mm256_add_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(a + 8))); }\n",
       false, false},
  };
  for (const auto& [name, source, plain, upward] : sources) {
    write(std::string("src/") + name + ".cpp", source);
    const std::string command = "$CXX -O2 -c " + std::string(name) + ".cpp -o ../build/a.o";
    const auto reused = [&](const std::string& session, const std::string& level) {
      use_level(std::string(name) + session, level);
      sh(command);
      return counts().second > 0;
    };
    EXPECT_FALSE(reused("-first", "x86-64-v2")) << name;
    const Digest first = unit_of("build/a.o").module;
    const std::string object = *read_file(path("build/a.o"));
    EXPECT_EQ(reused("-above", "x86-64-v3"), upward) << name;
    if (upward) {
      EXPECT_EQ(unit_of("build/a.o").module, first) << name;
      EXPECT_EQ(*read_file(path("build/a.o")), object) << name;
    }
    EXPECT_EQ(reused("-below", "x86-64"), plain) << name;
    EXPECT_EQ(reused("-again", "x86-64-v2"), true) << name;
    EXPECT_EQ(reused("-far-above", "x86-64-v4"), upward) << name;
  }
}

// The working object of such a unit depends neither on the level nor on what the cache has.
TEST_F(Known, WorkingObjectsWithIntrinsicsAreTheSameForAllLevels) {
  write("src/a.c", "#include <nmmintrin.h>\n"
                   "__attribute__((target(\"avx2\"))) static int twice(int a) { return 2 * a; }\n"
                   "double fused(double a, double b) { return a * b + 1; }\n"
                   "int main(void) { return _mm_crc32_u8(0, 1) == 0xf26b8303u && twice(1) == 2\n"
                   "                        && fused(1, 1) == 2 ? 0 : 1; }\n");
  std::string first;
  for (const char* level : {"x86-64-v3", "x86-64-v2", "x86-64-v4"}) {
    session_.cache = path(std::string("cache-") + level);
    ASSERT_TRUE(store::Cache::open(session_.cache));
    use_level(level);
    sh("$CC -O2 -ffp-contract=fast -c a.c -o ../build/a.o");
    if (first.empty())
      first = *read_file(path("build/a.o"));
    const bool runs_here = target::isa_level("x86_64", target::host_cpu().features) >= level;
    if (runs_here)
      EXPECT_EQ(*read_file(path("build/a.o")), first) << level;
    sh("cd ../build && $CC a.o -o a && ./a");
    EXPECT_EQ(sh("llvm-objdump-22 -d ../build/a.o | grep -c vfmadd || true"), "0\n") << level;
  }
}

// A wrong record of what a preprocessor read is forgotten, and nothing is filed by it.
TEST_F(Known, WrongRecordsOfInputsAreNoticed) {
  write("src/a.c", "float widen(const _Float16* a) { return *a; }\n");
  const auto compile = [&](const std::string& session) {
    use_level(session, "x86-64-v2");
    sh("$CC -O2 -c a.c -o ../build/a.o");
    return session::read_compile_log(session_)->differences.size();
  };
  EXPECT_EQ(compile("one"), 0u);
  unsigned spoiled = 0;
  for (const auto& entry : fs::recursive_directory_iterator(session_.cache)) {
    const Result<Digest> key = Digest::parse("sha256:" + entry.path().parent_path().filename().string() +
                                             entry.path().filename().string());
    const store::Cache cache = store::Cache::at(session_.cache);
    std::optional<std::string> value = key ? cache.get(*key) : std::nullopt;
    if (!value || !starts_with(*value, record_version))
      continue;
    value->replace(record_version.size() + 1, 4, "0000"); // of the tokens' digest
    ASSERT_TRUE(cache.put(*key, *value));
    ++spoiled;
  }
  EXPECT_EQ(spoiled, 1u);
  EXPECT_EQ(compile("two"), 1u);
  EXPECT_EQ(counts(), Counts(1, 0));
  EXPECT_EQ(compile("three"), 0u);
  EXPECT_EQ(counts(), Counts(0, 1));
}

// <random> includes headers of intrinsics; which ones depends on SSE3.
TEST_F(Known, HeadersOfIntrinsicsInTheStandardLibrary) {
  write("src/a.cpp",
        "#include <random>\nint f() { std::mt19937 g; return std::uniform_int_distribution<>(1, 6)(g); }\n");
  use_level("2", "x86-64-v2");
  sh("$CXX -O2 -c a.cpp -o ../build/a.o");
  use_level("3", "x86-64-v3");
  sh("$CXX -O2 -c a.cpp -o ../build/a.o");
  EXPECT_EQ(counts(), Counts(0, 1));
}

// What compiles with fewer features need not compile with more, if a function gives some away.
TEST_F(Known, FeaturesThatAFunctionLacksAreErrorsAllTheSame) {
  write("src/a.c", "__attribute__((always_inline)) static inline int g(int a) { return a + 1; }\n"
                   "__attribute__((target(\"no-avx2\"))) int f(int a) { return g(a); }\n");
  use_level("below", "x86-64-v2");
  sh("$CC -O2 -c a.c -o ../build/a.o");
  use_level("above", "x86-64-v3");
  EXPECT_NE(sh("$CC -O2 -c a.c -o ../build/a.o 2>&1", 1).find("target feature"), std::string::npos);
}

// What compiles with more features need not compile with fewer.
TEST_F(Known, MissingFeaturesAreErrorsAllTheSame) {
  write("src/a.c", "#include <immintrin.h>\nint f(int a) { return _mm_popcnt_u32(a); }\n");
  use_level("above", "x86-64-v2");
  sh("$CC -O2 -c a.c -o ../build/a.o");
  use_level("below", "x86-64");
  EXPECT_NE(sh("$CC -O2 -c a.c -o ../build/a.o 2>&1", 1).find("requires target feature"), std::string::npos);
  use_level("far-above", "x86-64-v4");
  sh("$CC -O2 -c a.c -o ../build/a.o");
  EXPECT_EQ(counts(), Counts(0, 1));
}

// A value with a vector of 256 bits makes a unit read the instruction set; the types in <immintrin.h> do not.
TEST_F(Known, WideVectorsCountWhereTheirValuesAre) {
  const std::string wide =
      "typedef float v8 __attribute__((vector_size(32)));\nunion u { double d[4]; v8 v; };\n";
  const std::tuple<const char*, std::string, unsigned> sources[] = {
      {"unused.cpp", "#include <immintrin.h>\nint f(int a) { return a + 1; }\n", 1},
      {"pointer.cpp", "#include <immintrin.h>\n" + wide + "double f(u* p) { return p->d[1]; }\n", 1},
      {"pointer_alone.cpp", "#include <immintrin.h>\nvoid* f(__m256* p) { return p; }\n", 1},
      {"unused_template.cpp",
       "#include <immintrin.h>\ntemplate <class T> T f(T a) { return a; }\nint g() { return f(1); }\n", 1},
      {"unused_function.c",
       wide + "static inline double g(union u a) { return a.d[1]; }\ndouble f(double x) { return x; }\n", 1},
      {"unused_method.cpp",
       wide + "template <class T> struct s { T t; T get() { return t; } };\n"
              "int f(int x) { return s<int>{x}.get() + (sizeof(s<v8>) > 8); }\n",
       1},
      {"unused_declaration.c", wide + "union u g(union u);\nint f(int x) { return x; }\n", 1},
      {"field.c", wide + "struct s { v8 v; };\nint f(struct s* p) { return p != 0; }\n", 1},
      {"used_function.c",
       wide + "static inline double g(union u a) { return a.d[1]; }\n"
              "double f(double x) { union u a = {{x}}; return g(a); }\n",
       0},
      {"used_by_pointer.c",
       wide + "static double g(union u a) { return a.d[1]; }\nvoid* f(void) { return (void*)g; }\n", 0},
      {"versions.c",
       wide + "__attribute__((target_clones(\"default\", \"avx2\"))) int g(int x) { return x; }\n"
              "int f(int x) { return g(x); }\n",
       0},
      {"parameter.c", wide + "double f(union u a) { return a.d[1]; }\n", 0},
      {"result.c", wide + "union u f(void);\nvoid g(void) { f(); }\n", 0},
      {"template.cpp",
       wide +
           "template <class T> double f(T a) { return a.d[1]; }\ndouble g(double x) { return f(u{{x}}); }\n",
       0},
      {"member.cpp",
       wide + "struct s { struct { u a[2]; } in; };\ndouble f(s a) { return a.in.a[1].d[1]; }\n", 0},
      {"base.cpp", wide + "struct s { u a; };\nstruct t : s {};\ndouble f(t a) { return a.a.d[1]; }\n", 0},
      {"lambda.cpp", wide + "double f(double x) { return [](auto y) { return u{{y}}; }(x).d[0]; }\n", 0},
      {"initializer.cpp", wide + "u f();\nstruct s { double d = f().d[0]; };\ns g() { return s(); }\n", 0},
      {"default.cpp", wide + "u f();\nint g(double d = f().d[0]);\nint h() { return g(); }\n", 0},
      {"unnamed.c", wide + "int f(v8) { return 1; }\n", 0},
      {"address.c", wide + "int g(v8);\nint (*table[])(v8) = {g};\n", 0},
      {"address_of_intrinsic_type.c",
       "#include <immintrin.h>\nint g(__m256d);\nvoid* f(void) { return (void*)g; }\n", 0},
      {"vtable.cpp",
       wide + "struct a { virtual int f(v8) = 0; };\nstruct b { virtual ~b(); };\n"
              "struct c : b, a { ~c(); int f(v8) override; };\nc::~c() {}\n",
       0},
      {"instance.cpp",
       wide +
           "template <class T> struct a { virtual int f(T) const { return 7; } };\ntemplate struct a<v8>;\n",
       0},
      {"invoker.cpp", wide + "int (*f())(v8) { return [](auto) { return 3; }; }\n", 0},
      {"prototype.cpp", wide + "int h(v8); extern v8* p; int g(int x = h(*p)); int f() { return g(); }\n", 0},
      {"filler.cpp",
       wide + "extern v8* p; struct d { d(v8 u = *p); int i; }; int g(d*); int f() { d a[5] = {}; return "
              "g(a); }\n",
       0},
      {"vla.c", wide + "int h(v8);\nint f(v8* p, int a[h(*p)]) { return a[0]; }\n", 0},
      {"region_of_openmp.c",
       wide + "struct ops { double (*get)(union u); };\nvoid f(struct ops* o, union u* q, double* r) {\n"
              "#pragma omp parallel for\n  for (int i = 0; i < 9; ++i) r[i] = o->get(q[i]);\n}\n",
       0},
      {"clause_of_openmp.c",
       wide + "void f(double (**p)(union u), union u* q, double* r) {\n"
              "#pragma omp parallel num_threads((int)(*p)(*q))\n  r[0] = 1;\n}\n",
       0},
      {"block.c",
       wide + "void g(void (^)(int));\nvoid f(double (**p)(union u), union u* q, double* r) "
              "{ g(^(int i) { r[i] = (*p)(q[i]); }); }\n",
       0},
      {"size_of_parameter.c",
       wide + "unsigned long f(int (**p)(union u), union u* q, int (*x)[(*p)(*q)]) { return sizeof(*x); }\n",
       0},
      {"default_of_declaration.cpp",
       wide +
           "extern double (*p)(u); extern u* q;\ndouble g(double x = p(*q));\ndouble f() { return g(); }\n",
       0},
      {"lambda_of_constant.cpp",
       wide + "constexpr auto mk() { return [](double (*p)(u), u* q) { return p(*q); }; }\n"
              "constexpr auto l = mk();\ndouble f(double (*p)(u), u* q) { return l(p, q); }\n",
       0},
      {"other_symbol.c",
       wide + "double pub(void);\ndouble impl(union u a) __asm__(\"pub\");\ndouble call(void) { return "
              "pub(); }\n"
              "double impl(union u a) { return a.d[1]; }\n",
       0},
      {"packed.c",
       wide + "struct s { v8 v; } __attribute__((packed));\nint g(struct s);\nint f(struct s* p) { return "
              "g(*p); }\n",
       0},
      {"less_alignment.c",
       "typedef float v8 __attribute__((vector_size(32), aligned(8)));\nstruct s { v8 v; };\nint g(struct "
       "s);\n"
       "int f(struct s* p) { return g(*p); }\n",
       0},
      {"variable_arguments.c",
       wide + "double f(int n, ...) { __builtin_va_list l; __builtin_va_start(l, n); "
              "return __builtin_va_arg(l, union u).d[1]; }\n",
       0},
      {"variable_arguments_alone.c",
       "int f(int n, ...) { __builtin_va_list l; __builtin_va_start(l, n); return __builtin_va_arg(l, int); "
       "}\n",
       1},
      {"union_of_narrow.c",
       "union a { float v __attribute__((vector_size(16))); } __attribute__((aligned(32)));\n"
       "int g(union a);\nint f(union a* p) { return g(*p); }\n",
       0},
      {"union_of_float128.c",
       "struct s { union { __float128 q; } __attribute__((aligned(32))) u; };\n"
       "int g(struct s);\nint f(struct s* p) { return g(*p); }\n",
       0},
      {"assembly.c",
       "struct s { char c[32]; };\nstatic inline void g(struct s* p) "
       "{ struct s s = *p; __asm__ volatile(\"\" : \"=x\"(s)); *p = s; }\nint f(void) { return 1; }\n",
       0},
      {"assembly_of_integers.c",
       "static inline int g(int a) { __asm__ volatile(\"\" : \"+r\"(a) : : \"memory\"); return a; }\n"
       "int f(int a) { return a; }\n",
       1},
  };
  for (const auto& [name, source, reused] : sources) {
    write(std::string("src/") + name, source);
    const std::string command = "$CC -O2 -w -fopenmp -fblocks -c " + std::string(name) + " -o ../build/a.o";
    use_level(std::string(name) + "-3", "x86-64-v3");
    sh(command);
    use_level(std::string(name) + "-4", "x86-64-v4");
    sh(command);
    EXPECT_EQ(counts(), Counts(1 - reused, reused)) << name;
  }
}

TEST_F(Known, WarningsOfWhatIsCarriedAreSaidOnce) {
  write("src/a.c",
        "#include \"b.h\"\nint f(void) { int unused; return 1; }\n__asm__(\".incbin \\\"a.c\\\"\");\n");
  write("src/b.h", "");
  const std::string said = sh("$CC -Wall -c a.c -o ../build/a.o");
  EXPECT_EQ(said.find("unused variable"), said.rfind("unused variable")) << said;
  EXPECT_NE(said.find("unused variable"), std::string::npos);
}

// The first compile takes its key from its own tokens, the second from the preprocessor alone.
TEST_F(Known, WhatWasCompiledIsKnownByThePreprocessorAlone) {
  write("src/a.cpp",
        "#include <algorithm>\n#include <atomic>\n#include <immintrin.h>\n#include <iostream>\n"
        "#include <map>\n#include <memory>\n#include <regex>\n#include <string>\n#include <thread>\n"
        "#define COUNT 4\n#define QUIET _Pragma(\"GCC diagnostic ignored \\\"-Wall\\\"\")\nQUIET\n"
        "#pragma GCC visibility push(hidden)\n"
        "template <class T> struct each { T t; struct in { int i = sizeof(T); }; };\n"
        "#pragma GCC visibility pop\n"
        "#pragma pack(push, 4)\nstruct packed { char c; double d; };\n#pragma pack(pop)\n"
        "#pragma weak later\nvoid later(); typedef int old; extern \"C\" int f(old);\n"
        "int g(float* x, int n, const std::map<int, std::string>& m) {\n"
        "#pragma omp parallel for simd schedule(static) \\\n  reduction(+ : n)\n"
        "  for (int i = 0; i < n; ++i) { x[i] *= 2; n += i; }\n"
        "#pragma unroll 4\n  for (int i = 0; i < n; ++i) x[i] += 2;\n"
        "#pragma clang loop vectorize(enable)\n  for (int i = 0; i < n; ++i) x[i] += 3;\n"
        "  int unused = (int)sizeof(each<int>); return m.at(2).size() < 3 ? n : (int)__LINE__; }\n");
  for (const char* options : {"-O2", "-O2 -g", "-O2 -fopenmp -Wall", "-std=c++20 -O1"}) {
    const std::string command = "$CXX " + std::string(options) + " -c a.cpp -o ../build/a.o";
    use_level("one", "x86-64-v3");
    const std::string said = sh(command);
    EXPECT_EQ(counts(), Counts(1, 0)) << options;
    use_level("two", "x86-64-v3");
    EXPECT_EQ(sh(command), said) << options;
    EXPECT_EQ(counts(), Counts(0, 1)) << options;
    fs::remove_all(path("session-one"));
    fs::remove_all(path("session-two"));
  }
}

// If a compile cannot show its key, its outcome is not filed, but the next compile looks for one.
TEST_F(Known, MacrosInPragmasCount) {
  write("src/a.c", "void f(float* x, int n) {\n#pragma omp parallel for num_threads(COUNT)\n"
                   "  for (int i = 0; i < n; ++i) x[i] *= 2;\n}\n");
  const auto compile = [&](const std::string& count) {
    sh("$CC -O2 -fopenmp -DCOUNT=" + count + " -c a.c -o ../build/a.o");
    return unit_of("build/a.o").module;
  };
  const Digest four = compile("4");
  EXPECT_NE(compile("5"), four);
  EXPECT_EQ(counts(), Counts(2, 0));
  EXPECT_EQ(compile("4"), four);
  EXPECT_EQ(compile("4"), four);
  EXPECT_EQ(counts(), Counts(3, 1));
}

TEST_F(Known, LinesEndAsClangSaysTheyDo) {
  write("src/a.c", "int a;\rint f(void) { return __builtin_LINE(); }\n");
  sh("$CC -c a.c -o ../build/a.o");
  const Digest second = unit_of("build/a.o").module;
  write("src/a.c", "int a; int f(void) { return __builtin_LINE(); }\n");
  sh("$CC -c a.c -o ../build/a.o");
  EXPECT_NE(unit_of("build/a.o").module, second);
}

TEST_F(Known, MessagesNameThePlacesOfThisBuild) {
  for (const char* place : {"one", "two"}) {
    write(std::string(place) + "/a.c", "int f(void) { int unused; return 1; }\n");
    session_.prefixes = {{path(place), "."}};
    use_level(place, "x86-64");
    const std::string said = sh("$CC -Wall -c " + path(place).string() + "/a.c -o ../build/a.o");
    EXPECT_NE(said.find(path(place).string() + "/a.c:1:19"), std::string::npos) << said;
  }
  EXPECT_EQ(counts(), Counts(0, 1));
}

TEST_F(Known, DependencyFilesAreWritten) {
  write("src/a.c", "#include \"b.h\"\n");
  write("src/b.h", "int f(void);\n");
  const std::string command = "$CC -MD -MF ../build/a.d -MT target -c a.c -o ../build/a.o";
  sh(command);
  const std::string dependencies = read("build/a.d");
  EXPECT_NE(dependencies.find("b.h"), std::string::npos);
  sh("rm ../build/a.d ../build/a.o && " + command);
  EXPECT_EQ(read("build/a.d"), dependencies);
  EXPECT_TRUE(is_captured("build/a.o"));
  EXPECT_EQ(counts(), Counts(1, 1));
}

TEST_F(Known, WhatReachesNoTokenChangesNothing) {
  write("src/a.c", "#include \"config.h\"\n#ifdef A\nint a;\n#endif\nint f(void) { return 1; }\n");
  write("src/config.h", "#define UNREAD 1\n");
  sh("$CC -c a.c -o ../build/a.o");
  write("src/config.h", "#define UNREAD 2\n");
  sh("$CC -c a.c -o ../build/a.o");
  EXPECT_EQ(counts(), Counts(1, 1));
  write("src/config.h", "#define A 1\n");
  sh("$CC -c a.c -o ../build/a.o");
  EXPECT_EQ(counts(), Counts(2, 1));
}

// With debug information, the module contains the digest of every file.
TEST_F(Known, ContentOfFilesCountsWithDebugInformation) {
  write("src/a.c", "#include \"b.h\"\nint f(struct s* a) { return a->b; }\n");
  write("src/b.h", "struct s { int b; }; // one\n");
  sh("$CC -g -c a.c -o ../build/1.o");
  write("src/b.h", "struct s { int b; }; // two\n");
  sh("$CC -g -c a.c -o ../build/2.o");
  EXPECT_EQ(counts(), Counts(2, 0));
  EXPECT_NE(unit_of("build/1.o").module, unit_of("build/2.o").module);
}

TEST_F(Known, EmbeddedFilesCount) {
  write("src/a.c", "const char data[] = {\n#embed \"data\"\n};\n");
  for (const char* content : {"one", "two", "one"}) {
    write("src/data", content);
    sh(std::string("$CC -std=c23 -c a.c -o ../build/") + content + ".o");
  }
  EXPECT_NE(unit_of("build/one.o").module, unit_of("build/two.o").module);
}

TEST_F(Known, PrecompiledHeadersAreNotLookedThrough) {
  write("src/a.c", "int f(void) { return value; }\n");
  for (const char* value : {"1", "2"}) {
    write("src/p.h", std::string("enum { value = ") + value + " };\n");
    sh("$CC -x c-header p.h -o ../build/p.pch");
    sh(std::string("$CC -include-pch ../build/p.pch -c a.c -o ../build/") + value + ".o");
  }
  EXPECT_NE(unit_of("build/1.o").module, unit_of("build/2.o").module);
}

TEST_F(Known, AFailureStaysAFailure) {
  // Only the second of these may use the intrinsic.
  write("src/a.c", "#include <immintrin.h>\nvoid f(float* a) {\n"
                   "  _mm256_storeu_ps(a, _mm256_setzero_ps());\n}\n");
  sh("$CC -mavx2 -c a.c -o ../build/a.o");
  sh("$CC -c a.c -o ../build/b.o", 1);
  sh("$CC -mavx2 -c a.c -o ../build/a.o");
  EXPECT_EQ(counts(), Counts(1, 1));
}

TEST_F(Known, AWorkingObjectOfAnotherConfigurationRuns) {
  write("src/main.c", "int f(int); int main(void) { return f(40) - 42; }\n");
  write("src/f.c", "int f(int a) { return a + 2; }\n");
  use_level("high", "x86-64-v4");
  sh("$CC -O2 -c main.c -o ../build/m.o && $CC -O2 -c f.c -o ../build/f.o");
  use_level("low", "x86-64-v2");
  sh("$CC -O2 -mavx -c main.c -o ../build/m.o && $CC -O2 -c f.c -o ../build/f.o");
  EXPECT_EQ(counts(), Counts(0, 2));
  EXPECT_EQ(unit_of("build/m.o").machine.features, std::vector<std::string>{"+avx"});
  sh("$CC ../build/m.o ../build/f.o -o ../build/p && ../build/p");
}

// Clang's own CUDA, without a toolkit.
const std::string kernel =
    "#define __global__ __attribute__((global))\n"
    "#define __device__ __attribute__((device))\n"
    "typedef __SIZE_TYPE__ size_t;\n"
    "struct dim3 { unsigned x, y, z; };\n"
    "typedef struct stream* cudaStream_t;\n"
    "typedef int cudaError_t;\n"
    "extern \"C\" cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);\n"
    "extern \"C\" unsigned __cudaPushCallConfiguration(dim3, dim3, size_t = 0, cudaStream_t = 0);\n"
    "extern \"C\" int cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = 0);\n" // before CUDA 9.2
    "#include \"part.h\"\n"
    "__global__ void fill(int* a) { *a = part(); }\n"
    "void start(int* a) { int unused; fill<<<dim3{1, 1, 1}, dim3{1, 1, 1}>>>(a); }\n";
const std::string compile_kernel = "$CXX -x cuda -nocudainc -nocudalib -Wall -Wno-unknown-cuda-version -O2 "
                                   "--cuda-gpu-arch=sm_70 --cuda-gpu-arch=sm_80 -c k.cu -o ../build/k.o";

TEST_F(Known, CodeForGpusIsKnownAtEveryLevel) {
  write("src/k.cu", kernel);
  write("src/part.h", "__device__ static int part() { return 1; }\n");
  const std::string said = sh(compile_kernel);
  EXPECT_EQ(counts(), Counts(3, 0)); // host, sm_70, sm_80
  EXPECT_NE(said.find("unused variable"), std::string::npos) << said;
  const ir::Unit first = unit_of("build/k.o");
  EXPECT_EQ(first.device.size(), 2u);
  use_level("high", "x86-64-v4");
  EXPECT_EQ(sh(compile_kernel), said);
  EXPECT_EQ(counts(), Counts(0, 3));
  EXPECT_EQ(unit_of("build/k.o"), first);
  // The GPUs' code changes alone.
  write("src/part.h", "__device__ static int part() { return 2; }\n");
  sh(compile_kernel);
  EXPECT_EQ(unit_of("build/k.o").module, first.module);
  EXPECT_NE(unit_of("build/k.o").device, first.device);
}

TEST_F(Known, CodeForGpusThatReadsTheHostsLevelIsCompiledForIt) {
  write("src/k.cu", kernel);
  write("src/part.h", "#ifdef __AVX2__\n__device__ static int part() { return 2; }\n#else\n"
                      "__device__ static int part() { return 1; }\n#endif\n");
  sh(compile_kernel);
  const ir::Unit first = unit_of("build/k.o");
  use_level("high", "x86-64-v3");
  sh(compile_kernel);
  EXPECT_NE(unit_of("build/k.o").device, first.device);
}

TEST_F(Known, ASourceWithoutKernelsIsKnownWithoutAPlaceForThem) {
  write("src/k.cu", "int f() { return 1; }\n");
  sh(compile_kernel);
  use_level("high", "x86-64-v3");
  sh(compile_kernel);
  EXPECT_EQ(counts(), Counts(0, 3));
  EXPECT_TRUE(unit_of("build/k.o").device.empty());
}

// The keys of a cache's entries: outcomes of compiles, or inputs of preprocessors. Marks are empty.
std::vector<Digest> keys_in(const store::Cache& cache, bool inputs) {
  std::vector<Digest> keys;
  for (const auto& entry : fs::recursive_directory_iterator(cache.root())) {
    if (!entry.is_regular_file())
      continue;
    const auto key = Digest::parse("sha256:" + entry.path().parent_path().filename().string() +
                                   entry.path().filename().string());
    if (!key)
      continue;
    const std::string value = cache.get(*key).value_or("");
    if (!value.empty() && value.starts_with("inputs ") == inputs)
      keys.push_back(*key);
  }
  return keys;
}

TEST_F(Known, CheckingFindsAWrongOutcome) {
  write("src/a.c", "int f(void) { return 1; }\n");
  write("src/b.c", "int f(void) { return 2; }\n");
  const store::Cache cache = store::Cache::at(session_.cache);
  sh("$CC -c a.c -o ../build/a.o");
  ASSERT_EQ(keys_in(cache, false).size(), 1u);
  const Digest wrong = keys_in(cache, false)[0];
  sh("$CC -c b.c -o ../build/b.o");
  ASSERT_EQ(keys_in(cache, false).size(), 2u);
  for (const Digest& key : keys_in(cache, false))
    if (!(key == wrong))
      ASSERT_TRUE(cache.put(wrong, *cache.get(key)));
  session_.check_sharing = true;
  use_level("checked", "x86-64");
  sh("$CC -c a.c -o ../build/a.o && $CC -c b.c -o ../build/b.o");
  const auto log = session::read_compile_log(session_);
  ASSERT_TRUE(log);
  EXPECT_EQ(log->compiled, 2u);
  ASSERT_EQ(log->differences.size(), 1u);
  EXPECT_EQ(log->differences[0].find("a.c: known as module"), 0u) << log->differences[0];
}

TEST_F(Known, CheckingFindsWrongInputs) {
  write("src/a.c", "int f(void) { return 1; }\n");
  sh("$CC -c a.c -o ../build/a.o");
  const store::Cache cache = store::Cache::at(session_.cache);
  const std::vector<Digest> keys = keys_in(cache, true);
  ASSERT_EQ(keys.size(), 1u);
  std::string value = *cache.get(keys[0]);
  const size_t digit = value.find('\n') + 1; // of the tokens' digest
  value[digit] = value[digit] == '0' ? '1' : '0';
  ASSERT_TRUE(cache.put(keys[0], value));
  session_.check_sharing = true;
  for (const char* name : {"checked", "mended"}) { // the first removes the record, the second makes one
    use_level(name, "x86-64");
    sh("$CC -c a.c -o ../build/a.o");
    const auto log = session::read_compile_log(session_);
    ASSERT_TRUE(log);
    ASSERT_EQ(log->differences.size(), *name == 'c' ? 1u : 0u);
    if (*name == 'c')
      EXPECT_EQ(log->differences[0].find("a.c: the preprocessor gives something else"), 0u)
          << log->differences[0];
  }
}

TEST_F(Known, DirectoriesOfTheBuildInDataAreSeen) {
  write("src/a.c", "const char* where(void) { return \"in \" PLACE \"/share\"; }\n");
  write("src/b.c", "const char* where(void) { return __FILE__; }\n");
  sh("for i in 1 2; do $CC -DPLACE=\\\"$PWD\\\" -c $PWD/a.c -o ../build/a.o; done");
  sh("$CC -c $PWD/b.c -o ../build/b.o");
  EXPECT_EQ(counts(), Counts(2, 1));
  std::vector<std::string> leaks;
  for (const auto& entry : fs::directory_iterator(session_.directory / "leaks"))
    leaks.push_back(*read_file(entry.path()));
  EXPECT_EQ(leaks, std::vector<std::string>{"a.c"});
}

TEST_F(Known, ACacheThatCannotBeWrittenOnlyCostsTime) {
  write("src/a.c", "int f(void) { return 1; }\n");
  session_.cache = "/proc/no/such/place";
  use_level("unwritable", "x86-64");
  sh("$CC -c a.c -o ../build/a.o");
  EXPECT_TRUE(is_captured("build/a.o"));
}

} // namespace

} // namespace xaas::known
