// Compiles that share an IR module, and compiles that must not.
#include "frontdoor/testing.h"

#include <xaas/session/log.h>
#include <xaas/store/cache.h>

namespace xaas::known {

namespace {

using frontdoor::FrontDoorTest;

struct Compile {
  std::string flags;
  std::string level = "x86-64";
  std::string source = {}; // empty: the pair's
};

struct Pair {
  const char* name;
  std::string source;
  Compile one, two;
  bool share;
  const char* extension = "c";
};

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.name;
}

const std::string plain =
    "float sum(const float* x, int n) { float s = 0; for (int i = 0; i < n; ++i) s += x[i]; return s; }\n";
const std::string wide = "typedef float v8 __attribute__((vector_size(32)));\n";

const Pair pairs[] = {
    // Equal programs, written differently.
    {"plain code under two levels", plain, {"-O2"}, {"-O2", "x86-64-v3"}, true},
    {"plain code with a flag of its own", plain, {"-O2"}, {"-O2 -mavx2 -mfma"}, true},
    {"plain code with a fixed CPU", plain, {"-O2"}, {"-O2 -march=haswell -mtune=skylake"}, true},
    {"OpenMP that the file does not use", plain, {"-O2"}, {"-O2 -fopenmp"}, true},
    {"levels of inline assembly",
     "#ifdef __AVX__\n\n\n#endif\nvoid f(void) { __asm__ volatile(\"nop\\nnop\"); }\n",
     {"-O2"},
     {"-O2", "x86-64-v3"},
     true},
    {"unused inline functions",
     plain,
     {"-O2"},
     {"-O2", "x86-64", "static inline int unused(int a) { return a + 1; }\n" + plain},
     true},
    {"macros that nothing reads", plain, {"-O2 -DA=1"}, {"-O2 -DA=2"}, true},
    {"options of code generation alone", plain, {"-O2"}, {"-O2 -ffunction-sections -fno-vectorize"}, true},
    {"a target attribute under two levels",
     "__attribute__((target(\"avx512f\"))) " + plain,
     {"-O2"},
     {"-O2", "x86-64-v2"},
     true},
    {"templates under two levels",
     "template <class T> T twice(T a) { return a + a; }\nint f(int a) { return twice(a); }\n",
     {"-O2"},
     {"-O2", "x86-64-v3"},
     true,
     "cpp"},
    {"exceptions under two levels",
     "#include <string>\nstd::string f(int a) { try { return std::to_string(a); } catch (...) { throw; } }\n",
     {"-O2"},
     {"-O2", "x86-64-v4"},
     true,
     "cpp"},

    // Different programs.
    {"code under __AVX2__",
     "#ifdef __AVX2__\nint f(void) { return 2; }\n#else\nint f(void) { return 1; }\n#endif\n",
     {"-O2"},
     {"-O2 -mavx2"},
     false},
    {"code under __AVX2__ by level",
     "#ifdef __AVX2__\nint f(void) { return 2; }\n#else\nint f(void) { return 1; }\n#endif\n",
     {"-O2"},
     {"-O2", "x86-64-v3"},
     false},
    {"size of long double",
     "long double f(long double a) { return a * 3; }\n",
     {"-O2"},
     {"-O2 -mlong-double-64"},
     false},
    {"code model", "extern int x; int f(void) { return x; }\n", {"-O2"}, {"-O2 -mcmodel=large"}, false},
    {"position independence",
     "extern int x; int f(void) { return x; }\n",
     {"-O2 -fno-pic"},
     {"-O2 -fPIC"},
     false},
    {"order of fast-math flags",
     plain,
     {"-O2 -ffast-math -fno-fast-math"},
     {"-O2 -fno-fast-math -ffast-math"},
     false},
    {"order of macro flags",
     "#ifdef X\nint f(void) { return 1; }\n#endif\nint g;\n",
     {"-O2 -DX -UX"},
     {"-O2 -UX -DX"},
     false},
    {"__OPTIMIZE__",
     "#ifdef __OPTIMIZE__\nint f(void) { return 1; }\n#endif\nint g;\n",
     {"-O0"},
     {"-O2"},
     false},
    {"__FAST_MATH__",
     "#ifdef __FAST_MATH__\nint f(void) { return 1; }\n#endif\nint g;\n",
     {"-O2"},
     {"-O2 -ffast-math"},
     false},
    {"__cplusplus",
     "#ifdef __cplusplus\nextern \"C\" int f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\n",
     {"-O2"},
     {"-O2 -x c++"},
     false},
    {"a C file as C++", "int f(void) { return sizeof('a'); }\n", {"-O2"}, {"-O2 -x c++"}, false},
    {"standard in force",
     "#if __STDC_VERSION__ >= 202311L\nint f(void) { return 1; }\n#else\nint f(void) { return 2; }\n#endif\n",
     {"-O2 -std=c99"},
     {"-O2 -std=c23"},
     false},
    {"threadprivate",
     "int x;\n#pragma omp threadprivate(x)\nint f(void) { return x; }\n",
     {"-O2"},
     {"-O2 -fopenmp"},
     false},
    {"a file that asks OpenMP",
     "int omp_get_num_procs(void);\nint f(void) { return omp_get_num_procs(); }\n",
     {"-O2"},
     {"-O2 -fopenmp"},
     false},
    {"wide vectors in signatures",
     wide + "v8 f(v8 a, v8 b) { return a + b; }\n",
     {"-O2 -Wno-psabi"},
     {"-O2 -Wno-psabi", "x86-64-v3"},
     false},
    {"wide vectors in static signatures",
     wide + "static __attribute__((noinline)) v8 g(v8 a) { return a + a; }\n"
            "void f(v8* a) { *a = g(*a); }\n",
     {"-O2 -Wno-psabi"},
     {"-O2 -Wno-psabi", "x86-64-v3"},
     false},
    {"_Float16",
     "_Float16 f(_Float16 a, _Float16 b, _Float16 c) { return a * b + c; }\n",
     {"-O2"},
     {"-O2 -mavx512fp16"},
     false},
    {"numbers of type _Float16",
     "float f(float a) { return (float)((__typeof__(1.0f16))a * 3.0f16 + 1.0f16); }\n",
     {"-O2"},
     {"-O2 -mavx512fp16"},
     false},
    {"vectors of half precision, by a name of Clang's headers",
     "#include <emmintrin.h>\n__v8hf f(__v8hf a, __v8hf b) { return a * b + a; }\n",
     {"-O2"},
     {"-O2 -mavx512fp16 -mavx512vl"},
     false},
    {"a type of half precision, by its use",
     "#include <emmintrin.h>\nfloat f(__v8hf a) { auto h = a[0]; return h * h + h; }\n",
     {"-O2"},
     {"-O2 -mavx512fp16 -mavx512vl"},
     false,
     "cpp"},
    {"vectors of 128 bits under two levels",
     "typedef float v4 __attribute__((vector_size(16)));\nv4 f(v4 a, v4 b) { return a * b + a; }\n",
     {"-O2"},
     {"-O2", "x86-64-v4"},
     true},
    {"vectors of 128 bits in structures under two levels",
     "typedef float v4 __attribute__((vector_size(16)));\nstruct s { v4 a, b; };\nstruct t { struct s s; };\n"
     "struct t f(struct t x, struct s y, v4 z) { x.s.a *= y.b * z; return x; }\n",
     {"-O2"},
     {"-O2", "x86-64-v4"},
     true},
    {"imaginary numbers of type _Float16",
     "float f(float a) { __typeof__(__real__ 1.0f16i) h = a; return (float)(h * h + h); }\n",
     {"-O2"},
     {"-O2 -mavx512fp16"},
     false},
    {"lines of the end of a macro's expansion",
     {},
     {"-O2", "x86-64", "#define ID(x) x\nint a = ID(__builtin_LINE()\n)\n;\n"},
     {"-O2", "x86-64", "#define ID(x) x\nint a = ID(__builtin_LINE())\n\n;\n"},
     false},
    {"files that line markers enter",
     {},
     {"-O2", "x86-64", "# 1 \"a.c\"\n# 1 \"x.h\" 1\nconst char* f(void) { return __builtin_FILE(); }\n"},
     {"-O2", "x86-64", "# 1 \"a.c\"\n# 1 \"y.h\" 1\nconst char* f(void) { return __builtin_FILE(); }\n"},
     false,
     "i"},
    {"namespaces of pragmas in macros",
     {},
     {"-O2", "x86-64",
      "#define P _Pragma(\"GCC   visibility push(hidden)\")\nP\nint f(void) { return 1; }\n"},
     {"-O2", "x86-64",
      "#define P _Pragma(\"clang visibility push(hidden)\")\nP\nint f(void) { return 1; }\n"},
     false},
    {"names of macros with attributes",
     {},
     {"-O2", "x86-64",
      "#define AS1 __attribute__((address_space(1)))\n"
      "const char* f(int AS1* p) { return __PRETTY_FUNCTION__; }\n"},
     {"-O2", "x86-64",
      "#define AS2 __attribute__((address_space(1)))\n"
      "const char* f(int AS2* p) { return __PRETTY_FUNCTION__; }\n"},
     false,
     "cpp"},
    {"macros in a pragma before another",
     "extern int COUNT;\n#ifdef M\n#define COUNT 4\n#endif\nvoid f(float* x, int n) {\n"
     "#pragma omp parallel num_threads(COUNT)\n#pragma omp for\n  for (int i = 0; i < n; ++i) x[i] *= "
     "2;\n}\n",
     {"-O2 -fopenmp -DM"},
     {"-O2 -fopenmp"},
     false},
    {"macros in a pragma before a line's number",
     "extern int COUNT;\n#ifdef M\n#define COUNT 4\n#endif\nvoid f(float* x, int n) {\n"
     "#pragma omp parallel for num_threads(COUNT)\n#line 50\n  for (int i = 0; i < n; ++i) x[i] *= 2;\n}\n",
     {"-O2 -fopenmp -DM"},
     {"-O2 -fopenmp"},
     false},
    {"macros in a pragma on two lines",
     "extern int COUNT;\n#ifdef M\n#define COUNT 4\n#endif\nvoid f(float* x, int n) {\n"
     "#pragma omp parallel for num_threads(COU\\\nNT)\n  for (int i = 0; i < n; ++i) x[i] *= 2;\n}\n",
     {"-O2 -fopenmp -DM"},
     {"-O2 -fopenmp"},
     false},
    {"OpenMP under two levels",
     "void f(float* x, int n) {\n#pragma omp parallel for simd\n  for (int i = 0; i < n; ++i) x[i] *= "
     "2;\n}\n",
     {"-O2 -fopenmp"},
     {"-O2 -fopenmp", "x86-64-v3"},
     true},
    {"OpenMP's atomics of 16 bytes",
     "_Alignas(16) _Complex double x;\n"
     "void f(_Complex double a) {\n#pragma omp atomic write\n  x = a;\n}\n",
     {"-O2 -fopenmp -Wno-atomic-alignment"},
     {"-O2 -fopenmp -Wno-atomic-alignment", "x86-64-v2"},
     false},
    {"16-byte atomics",
     "int f(void) { return __atomic_always_lock_free(16, 0); }\n",
     {"-O2"},
     {"-O2", "x86-64-v2"},
     false},
    {"alignment by omp simd",
     "void f(float* a) {\n#pragma omp simd aligned(a)\nfor (int i = 0; i < 64; ++i) a[i] += 1; }\n",
     {"-O2 -fopenmp-simd"},
     {"-O2 -fopenmp-simd", "x86-64-v3"},
     false},
    {"a target attribute and none",
     plain,
     {"-O2 -mavx2"},
     {"-O2 -mavx2", "x86-64", "__attribute__((target(\"avx2\"))) " + plain},
     false},
    {"contraction",
     "float f(float a, float b, float c) { return a * b + c; }\n",
     {"-O2 -ffp-contract=off"},
     {"-O2 -ffp-contract=on"},
     false},
    {"visibility", "int f(void) { return 1; }\n", {"-O2"}, {"-O2 -fvisibility=hidden"}, false},
    {"errno of math functions",
     "double sqrt(double); double f(double a) { return sqrt(a); }\n",
     {"-O2"},
     {"-O2 -fno-math-errno"},
     false},
    {"inline assembly with vector registers",
     "double f(double a) { double r; __asm__(\"sqrtsd %1, %0\" : \"=x\"(r) : \"x\"(a)); return r; }\n",
     {"-O2"},
     {"-O2", "x86-64-v3"},
     true},
    {"intrinsics under two levels",
     "#include <emmintrin.h>\n__m128i f(__m128i a) { return _mm_add_epi32(a, a); }\n",
     {"-O2"},
     {"-O2", "x86-64-v3"},
     true},
    {"a vector in a union",
     wide + "union u { _Alignas(32) double d[4]; v8 v; };\nunion u f(union u a) { return a; }\n",
     {"-O2 -Wno-psabi"},
     {"-O2 -Wno-psabi", "x86-64-v3"},
     false},
    {"__has_builtin",
     "#if __has_builtin(__builtin_ia32_pabsd256)\nint f(void) { return 1; }\n#else\nint g;\n#endif\n",
     {"-O2"},
     {"-O2", "x86-64-v3"},
     true},
    {"compare and swap of 16 bytes",
     "struct s { long a, b; };\nvoid f(struct s* p, struct s* q) { __atomic_load(p, q, 5); }\n",
     {"-O2 -Wno-atomic-alignment"},
     {"-O2 -Wno-atomic-alignment", "x86-64-v2"},
     true},
    {"atomics in the standard library",
     "#include <atomic>\n#include <memory>\n"
     "std::shared_ptr<int> f(std::atomic<int>& a) { return std::make_shared<int>(a++); }\n",
     {"-O2"},
     {"-O2", "x86-64-v3"},
     true,
     "cpp"},
    {"numbers of lines that something reads",
     "int f(void) { return __builtin_LINE(); }\n",
     {"-O2"},
     {"-O2", "x86-64", "\nint f(void) { return __builtin_LINE(); }\n"},
     false},
    {"numbers of columns that something reads",
     "int f(int a = __builtin_COLUMN()) { return a; }\nint g() { return f(); }\n",
     {"-O2"},
     {"-O2", "x86-64", "int f(int a = __builtin_COLUMN()) { return a; }\nint g() { return   f(); }\n"},
     false,
     "cpp"},
    {"a lambda's place in its name",
     "template <class T> const char* name(T) { return __PRETTY_FUNCTION__; }\n"
     "const char* f() { return name([] {}); }\n",
     {"-O2"},
     {"-O2", "x86-64",
      "template <class T> const char* name(T) { return __PRETTY_FUNCTION__; }\n"
      "const char* f() { return /**/ name([] {}); }\n"},
     false,
     "cpp"},
    {"#line",
     "#line 7\nint f(void) { return __LINE__; }\n",
     {"-O2"},
     {"-O2", "x86-64", "#line 8\nint f(void) { return __LINE__; }\n"},
     false},
    {"a macro in a pragma",
     "#pragma pack(SIZE)\nstruct s { char a; long b; };\nint f(void) { return sizeof(struct s); }\n",
     {"-O2 -DSIZE=1"},
     {"-O2 -DSIZE=4"},
     false},
    {"a pragma made by a macro",
     "#define P(x) _Pragma(#x)\n#ifdef W\nP(pack(1))\n#endif\n"
     "struct s { char a; long b; };\nint f(void) { return sizeof(struct s); }\n",
     {"-O2"},
     {"-O2 -DW"},
     false},
    {"a weak symbol by pragma",
     "#ifdef W\n#pragma weak f\n#endif\nint f(void) { return 1; }\n",
     {"-O2"},
     {"-O2 -DW"},
     false},
    {"contraction by pragma",
     "#ifdef W\n#pragma STDC FP_CONTRACT OFF\n#endif\n"
     "float f(float a, float b, float c) { return a * b + c; }\n",
     {"-O2 -ffp-contract=on"},
     {"-O2 -ffp-contract=on -DW"},
     false},
    {"declare variant",
     "int f_avx2(void);\n#pragma omp declare variant(f_avx2) match(device = {isa(\"avx2\")})\n"
     "int f(void);\nint g(void) { return f(); }\n",
     {"-O2 -fopenmp"},
     {"-O2 -fopenmp", "x86-64-v3"},
     false},
    {"versions of a function",
     "__attribute__((target_clones(\"avx2\", \"default\"))) " + plain,
     {"-O2"},
     {"-O2", "x86-64-v3"},
     true},
    {"signed characters", "int f(char c) { return c; }\n", {"-O2"}, {"-O2 -funsigned-char"}, false},
    {"overflow that wraps", "int f(int a) { return a + 1 > a; }\n", {"-O2"}, {"-O2 -fwrapv"}, false},
    {"exceptions in C", "void g(void); void f(void) { g(); }\n", {"-O2"}, {"-O2 -fexceptions"}, false},
    {"run-time type information",
     "struct s { virtual ~s(); }; s::~s() {}\n",
     {"-O2"},
     {"-O2 -fno-rtti"},
     false,
     "cpp"},
    {"optimisation of one function's size", "int f(int a) { return a * 5; }\n", {"-O2"}, {"-Os"}, false},
};

class Sharing : public FrontDoorTest {
protected:
  struct Outcome {
    Digest module;
    Digest object; // of the parts of the working object that reach a program
    std::string messages;
    bool operator==(const Outcome&) const = default;
  };

  // Compiles in the session of this name, or in that of the level.
  Outcome outcome_of(const Pair& pair, const Compile& compile, const std::string& session = {}) {
    const std::string source = std::string("src/unit.") + pair.extension;
    write(source, compile.source.empty() ? pair.source : compile.source);
    use_level(session.empty() ? compile.level : session, compile.level);
    Outcome outcome;
    outcome.messages = sh("$CC " + compile.flags + " -c unit." + pair.extension + " -o ../build/unit.o");
    outcome.module = unit_of("build/unit.o").module;
    const auto object = link::content_digest(read("build/unit.o"));
    EXPECT_TRUE(object);
    if (object)
      outcome.object = *object;
    return outcome;
  }
  Digest module_of(const Pair& pair, const Compile& compile) { return outcome_of(pair, compile).module; }

  void use_cache(const std::string& name) {
    session_.cache = path(name);
    ASSERT_TRUE(store::Cache::open(session_.cache));
  }
};

class SharingOf : public Sharing, public ::testing::WithParamInterface<Pair> {};

TEST_P(SharingOf, Pair) {
  const Pair& pair = GetParam();
  const Digest one = module_of(pair, pair.one);
  const Digest two = module_of(pair, pair.two);
  EXPECT_EQ(one == two, pair.share) << pair.name;
}

// Earlier compiles do not change the result of a compile: module, working object, messages and exit code.
TEST_P(SharingOf, KnownOutcomesAreThoseOfCompiling) {
  const Pair& pair = GetParam();
  for (const bool swapped : {false, true}) {
    const Compile& first = swapped ? pair.two : pair.one;
    const Compile& second = swapped ? pair.one : pair.two;
    const std::string suffix = swapped ? "-2" : "-1";
    session_.cache.clear();
    const Digest module = outcome_of(pair, second, "without" + suffix).module;
    use_cache("cache-alone" + suffix);
    const Outcome truth = outcome_of(pair, second, "alone" + suffix);
    EXPECT_EQ(truth.module, module) << pair.name << suffix;
    use_cache("cache" + suffix);
    outcome_of(pair, first, "first" + suffix);
    EXPECT_EQ(outcome_of(pair, second, "second" + suffix), truth) << pair.name << suffix;
    EXPECT_EQ(outcome_of(pair, second, "again" + suffix), truth) << pair.name << suffix;
    const auto log = session::read_compile_log(session_);
    ASSERT_TRUE(log);
    EXPECT_EQ(log->compiled, 0u);
    EXPECT_EQ(log->reused, 1u);
  }
}

std::string test_name(const ::testing::TestParamInfo<Pair>& info) {
  std::string name;
  for (const char* c = info.param.name; *c; ++c)
    name += isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, SharingOf, ::testing::ValuesIn(pairs), test_name);

TEST_F(Sharing, GeneratedSourceWithOtherContent) {
  for (const char* build : {"one", "two"}) {
    write(std::string("build/") + build + "/config.c",
          std::string("int f(void) { return ") + (*build == 'o' ? "1" : "2") + "; }\n");
    sh(std::string("cd ../build/") + build + " && $CC -O2 -c config.c -o ../" + build + ".o");
  }
  EXPECT_NE(unit_of("build/one.o").module, unit_of("build/two.o").module);
}

TEST_F(Sharing, ForcedHeaderWithOtherContent) {
  write("src/a.c", "int f(void) { return VALUE; }\n");
  for (const char* value : {"1", "2"}) {
    write("build/forced.h", std::string("#define VALUE ") + value + "\n");
    sh(std::string("$CC -O2 -include ../build/forced.h -c a.c -o ../build/") + value + ".o");
  }
  EXPECT_NE(unit_of("build/1.o").module, unit_of("build/2.o").module);
}

TEST_F(Sharing, OrderOfIncludeDirectories) {
  write("src/a.c", "#include <value.h>\nint f(void) { return VALUE; }\n");
  write("src/x/value.h", "#define VALUE 1\n");
  write("src/y/value.h", "#define VALUE 2\n");
  sh("$CC -O2 -Ix -Iy -c a.c -o ../build/1.o && $CC -O2 -Iy -Ix -c a.c -o ../build/2.o");
  EXPECT_NE(unit_of("build/1.o").module, unit_of("build/2.o").module);
}

// __FILE__, debug information and the source's name do not depend on the build's location.
TEST_F(Sharing, BuildDirectoriesInPaths) {
  write("src/a.c", "#include <assert.h>\n#include \"made.h\"\nint f(int a) { assert(a); return made(a); }\n");
  std::vector<Digest> modules;
  for (const char* build : {"build-1", "build-2/deeper"}) {
    write(std::string(build) + "/made.h", "static int made(int a) { return __FILE__[a]; }\n");
    session_.directory = path(std::string("session-") + (modules.empty() ? "1" : "2"));
    session_.prefixes[1].first = path(build);
    ASSERT_TRUE(frontdoor::create_session(session_, XAAS_PROGRAM));
    const std::string object = path(build).string() + "/a.o";
    sh("cd " + path(build).string() + " && $CC -g -O2 -I. -c " + path("src/a.c").string() + " -o a.o");
    const ir::Unit unit = unit_of(std::string(build) + "/a.o");
    EXPECT_EQ(unit.source, "a.c");
    modules.push_back(unit.module);
  }
  EXPECT_EQ(modules[0], modules[1]);
}

// Clang records the position of inline assembly in the file, which does not change the program.
TEST_F(Sharing, PositionsOfInlineAssembly) {
  write("src/a.c", "#include VARIANT\nvoid f(void) { __asm__ volatile(\"nop\\n nop\"); }\n");
  write("src/short.h", "\n");
  write("src/long.h", "/* a long comment\n\n\n\n*/\nstruct unused { int a; };\n");
  sh("$CC -O2 -DVARIANT='\"short.h\"' -c a.c -o ../build/1.o && $CC -O2 -DVARIANT='\"long.h\"' -c a.c -o "
     "../build/2.o");
  EXPECT_EQ(unit_of("build/1.o").module, unit_of("build/2.o").module);
}

TEST_F(Sharing, SourceFileNameIsPartOfTheUnitNotOfTheModule) {
  write("src/a.c", plain);
  write("src/b.c", plain);
  sh("$CC -O2 -c a.c -o ../build/a.o && $CC -O2 -c b.c -o ../build/b.o");
  const ir::Unit a = unit_of("build/a.o"), b = unit_of("build/b.o");
  EXPECT_EQ(a.module, b.module);
  EXPECT_EQ(a.source, "a.c");
  EXPECT_NE(a.id(), b.id());
}

// On the target, a file that assembly reads would be another file or none, so the object is carried as it is.
TEST_F(Sharing, AssemblyThatReadsFilesIsNative) {
  write("src/data", "data");
  const std::pair<const char*, const char*> sources[] = {
      {"plain", "asm(\".data\\nblob: .incbin \\\"data\\\"\\n.text\");\n"},
      {"upper", "asm(\".data\\nblob: .INCBIN \\\"data\\\"\\n.text\");\n"},
      {"macro", "asm(\".macro m x\\n.inc\\\\x \\\"data\\\"\\n.endm\\n.data\\nblob: m bin\\n.text\");\n"},
      {"inside",
       "void f(void) { asm volatile(\".pushsection .data\\n.incbin \\\"data\\\"\\n.popsection\"); }\n"},
  };
  for (const auto& [name, text] : sources) {
    const std::string stem = name;
    write("src/" + stem + ".c", text);
    sh("$CC -O2 -c " + stem + ".c -o ../build/" + stem + ".o");
    EXPECT_FALSE(is_captured("build/" + stem + ".o")) << name;
    EXPECT_NE(read("build/" + stem + ".o").find("data"), std::string::npos) << name;
  }
}

} // namespace

} // namespace xaas::known
