// What a session learns about builds for other ISA levels.
#include "frontdoor/testing.h"

#include <xaas/session/log.h>
#include <xaas/store/cache.h>

namespace xaas::frontdoor {

namespace {

using Levels = std::vector<std::string>;

class OtherLevels : public FrontDoorTest {
protected:
  void SetUp() override {
    FrontDoorTest::SetUp();
    session_.cache = path("cache");
    ASSERT_TRUE(store::Cache::open(session_.cache));
  }

  // The levels at which these commands would do the same as at `level`, of x86-64-v2 and x86-64-v3.
  Levels same(const std::string& commands, int exit_code = 0, const std::string& level = "x86-64") {
    session_.other_levels = {"x86-64-v2", "x86-64-v3"};
    use_level("of-" + std::to_string(count_++), level);
    sh(commands, exit_code);
    return session::equal_levels(session_);
  }

  // A machine below a level makes other working objects for it.
  static Levels both_or_below() {
    return target::isa_level("x86_64", target::host_cpu().features) >= "x86-64-v3"
               ? Levels{"x86-64-v2", "x86-64-v3"}
               : Levels{"x86-64-v2"};
  }

private:
  int count_ = 0;
};

const Levels both = {"x86-64-v2", "x86-64-v3"}, v2 = {"x86-64-v2"}, none;

TEST_F(OtherLevels, CompilesThatLookAtNoInstructionSet) {
  write("src/a.c", "#include <stdio.h>\nint main(void) { puts(\"a\"); return 0; }\n");
  for (int known = 0; known < 3; ++known) {
    EXPECT_EQ(same("$CC -O2 -c a.c -o ../build/a.o"), both);
    EXPECT_EQ(same("$CC -O2 -mavx2 -march=haswell -c a.c -o ../build/a.o"), both);
    EXPECT_EQ(same("$CC -O3 -march=native -c a.c -o ../build/a.o"), both);
  }
}

TEST_F(OtherLevels, CompilesThatReadAMacro) {
  write("src/a.c", "#ifdef __AVX2__\nint avx;\n#endif\nint main(void) { return 0; }\n");
  EXPECT_EQ(same("$CC -O2 -c a.c -o ../build/a.o"), v2);
  const auto why = session::level_differences(session_);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->at("x86-64-v3"), "a.c: its text depends on the instruction set");
  EXPECT_EQ(same("$CC -O2 -c a.c -o ../build/a.o", 0, "x86-64-v3"), Levels{"x86-64-v3"});
  EXPECT_EQ(same("$CC -O2 -U__AVX2__ -c a.c -o ../build/a.o"), both);
  // The macro decides which headers of intrinsics are read, and nothing uses them.
  write("src/a.c", "#include <xmmintrin.h>\n#ifdef __SSE3__\n#include <pmmintrin.h>\n#endif\n"
                   "int main(void) { return 0; }\n");
  EXPECT_EQ(same("$CC -O2 -c a.c -o ../build/a.o"), both);
}

TEST_F(OtherLevels, CompilesThatNeedFeatures) {
  write("src/a.c", "#include <xmmintrin.h>\n__m128 f(__m128 a) { return _mm_add_ps(a, a); }\n"
                   "void g(void) { _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON); }\n");
  EXPECT_EQ(same("$CC -O2 -c a.c -o ../build/a.o"), both_or_below());
  write("src/a.c", "typedef float v8 __attribute__((vector_size(32)));\nv8 f(v8* a) { return *a + *a; }\n");
  EXPECT_EQ(same("$CC -O2 -c a.c -o ../build/a.o"), none);
  write("src/a.c", "float f(_Float16* a) { return *a; }\n");
  EXPECT_EQ(same("$CC -O2 -c a.c -o ../build/a.o"), none);
}

TEST_F(OtherLevels, CompilesThatFail) {
  write("src/a.c", "#include <none.h>\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o", 1), both);
  write("src/a.c", "int f(void) { return g; }\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o", 1), both);
  write("src/a.c", "#include <immintrin.h>\n__m256i f(__m256i a) { return _mm256_add_epi8(a, a); }\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o", 1), v2);
}

TEST_F(OtherLevels, OtherJobs) {
  write("src/a.c", "#include <stdio.h>\n#ifdef __SSE3__\nint sse;\n#endif\nint a = __LINE__;\n");
  write("src/b.c", "#include <stdio.h>\nint main(void) { return 0; }\n");
  write("src/c.c", "float f(float* a) { return *a * 3 + 1; }\n");
  EXPECT_EQ(same("$CC -E a.c"), none);
  EXPECT_EQ(same("$CC -E b.c -o ../build/b.i && $CC -E - <b.c"), both);
  EXPECT_EQ(same("$CC -E none.c", 1), both);
  EXPECT_EQ(same("$CC -dM -E b.c"), none);
  EXPECT_EQ(same("$CC -O2 -S c.c -o ../build/c.s"), none);
  EXPECT_EQ(same("$CC -###  b.c 2>/dev/null"), none);
  EXPECT_EQ(same("$CC --version && $CC -dumpmachine && $CC -print-search-dirs && $CC -v"), both);
}

// What a script can see besides the output.
TEST_F(OtherLevels, MessagesAndFiles) {
  write("src/a.c", "#ifdef __AVX2__\n#error simd=2\n#else\n#error simd=1\n#endif\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o 2>/dev/null", 1), v2);
  EXPECT_EQ(same("$CC -E a.c 2>/dev/null", 1), v2);
  write("src/a.c", "#ifdef __AVX2__\n#warning avx\n#endif\nint a;\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o"), v2);
  EXPECT_EQ(same("$CC -fsyntax-only a.c"), none);
  write("src/avx.h", "#define A 1\n");
  write("src/a.c", "#ifdef __AVX2__\n#include \"avx.h\"\n#endif\nint a;\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o"), both);
  EXPECT_EQ(same("$CC -MD -c a.c -o ../build/a.o"), v2);
  EXPECT_EQ(same("$CC -MJ a.json -c a.c -o ../build/a.o"), none);
  EXPECT_EQ(same("$CC -march=native -E -v - </dev/null"), none);
}

// The comparison must not change what the build itself reads and writes.
TEST_F(OtherLevels, LeavesTheFilesOfTheBuildAlone) {
  write("src/a.c", "int f(void) { return g; }\n#ifdef __AVX2__\nint h(void) { return i; }\n#endif\n");
  EXPECT_EQ(same("$CC --serialize-diagnostics a.dia -c a.c -o ../build/a.o 2>/dev/null", 1), none);
  const std::string ours = read("src/a.dia");
  sh("$CLANG -march=x86-64 --serialize-diagnostics a.dia -c a.c -o ../build/a.o 2>/dev/null", 1);
  EXPECT_EQ(ours.size(), read("src/a.dia").size());
  write("src/b.c", "int f(float* a, float* b) { for (int i = 0; i < 9; ++i) a[i] += b[i]; return 1; }\n");
  EXPECT_EQ(same("$CC -O3 -S -fstack-usage b.c -o b.s"), none);
  write("src/c.c", "int c = 1;\n");
  EXPECT_EQ(same("$CC -E -P c.c -o c.c && grep -q 'c = 1' c.c"), both);
}

TEST_F(OtherLevels, CommandsThatAreKilled) {
  write("src/a.c", "int a;\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o"), both);
  EXPECT_TRUE(session::all_compared(session_));
  // What a killed command leaves.
  ASSERT_TRUE(session::ComparedCommand::begin(session_));
  EXPECT_FALSE(session::all_compared(session_));
}

TEST_F(OtherLevels, Assembly) {
  write("src/a.s", ".globl f\nf:\n  vpaddd %ymm0, %ymm1, %ymm2\n  ret\n");
  EXPECT_EQ(same("$CC -c a.s -o ../build/a.o"), both);
  write("src/a.S", "#ifdef __AVX2__\n.globl avx\navx:\n#endif\n.globl f\nf:\n  ret\n");
  EXPECT_EQ(same("$CC -c a.S -o ../build/a.o"), v2);
}

TEST_F(OtherLevels, SourcesFromStandardInput) {
  EXPECT_EQ(same("echo 'int main(void) { return 0; }' | $CC -x c - -o /dev/null"), both);
  EXPECT_EQ(same("echo 'int f(void) { return 1; }' | $CC -x c -c - -o ../build/a.o"), both);
  EXPECT_EQ(
      same("echo 'int f(void) { return 1; } int avx = sizeof(__AVX2__);' | $CC -x c -c - -o ../build/a.o", 1),
      v2);
  EXPECT_EQ(same("printf '#ifdef __AVX2__\nint avx;\n#endif\n' | $CC -x c -c - -o ../build/a.o"), v2);
  // Nothing is filed that another text would find.
  EXPECT_EQ(same("echo 'int g(void) { return 2; }' | $CC -x c -c - -o ../build/b.o"), both);
  EXPECT_NE(unit_of("build/a.o").module, unit_of("build/b.o").module);
}

TEST_F(OtherLevels, NativeObjects) {
  write("src/a.c", "int f(void) { return 1; }\n");
  EXPECT_EQ(same("$CC -mllvm -inline-threshold=1 -c a.c -o ../build/a.o"), none);
  write("src/a.ll", "define i32 @f() { ret i32 1 }\n");
  EXPECT_EQ(same("$CC -c a.ll -o ../build/a.o"), none);
  write("src/a.f90", "subroutine f()\nend subroutine\n");
  EXPECT_EQ(same("$FC -c a.f90 -o ../build/a.o"), none);
}

TEST_F(OtherLevels, Links) {
  write("src/a.c", "int main(void) { return 0; }\n");
  EXPECT_EQ(same("$CC a.c -o ../build/a && ../build/a && $CC -c a.c -o ../build/a.o && $CC ../build/a.o -o "
                 "../build/b"),
            both);
  EXPECT_EQ(same("$CC a.c -lnone -o ../build/a 2>/dev/null", 1), both);
}

// A command that is the same does not make up for an earlier one that is not.
TEST_F(OtherLevels, TheFirstDifferenceStays) {
  write("src/a.c", "#ifdef __AVX2__\nint avx;\n#endif\nint main(void) { return 0; }\n");
  write("src/b.c", "int b;\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o && $CC -c b.c -o ../build/b.o"), v2);
}

} // namespace

} // namespace xaas::frontdoor
