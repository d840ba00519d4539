// What a session learns about builds for other ISA levels.
#include "frontdoor/testing.h"

#include <xaas/session/log.h>
#include <xaas/store/cache.h>

#include <gmock/gmock.h>

#include <set>

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
  EXPECT_EQ(same("$CC -fsyntax-only a.c"), v2);
  write("src/avx.h", "#define A 1\n");
  write("src/a.c", "#ifdef __AVX2__\n#include \"avx.h\"\n#endif\nint a;\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o"), both);
  EXPECT_EQ(same("$CC -MD -c a.c -o ../build/a.o"), v2);
  EXPECT_EQ(same("$CC -MJ a.json -c a.c -o ../build/a.o"), none);
  EXPECT_EQ(same("$CC -march=native -E -v - </dev/null"), none);
}

// What is printed in spite of an error, and where macros are that a message names.
TEST_F(OtherLevels, TextAndMessagesOfErrors) {
  write("src/probe.h", "#include <none.h>\n#ifdef __AVX2__\nhave_avx2\n#endif\n");
  EXPECT_EQ(same("$CC -E probe.h 2>/dev/null", 1), v2);
  EXPECT_EQ(same("$CC -E - <probe.h 2>/dev/null", 1), v2);
  EXPECT_EQ(same("$CC -E probe.h -o ../build/probe.i 2>/dev/null", 1), both); // which nobody can read
  write("src/a.h", "");
  write("src/b.h", "");
  write("src/a.c", "#ifdef __AVX2__\n#include \"a.h\"\n#else\n#include \"b.h\"\n#endif\nint a = b;\n");
  EXPECT_EQ(same("$CC -c a.c -o ../build/a.o 2>/dev/null", 1), both);
  EXPECT_EQ(same("$CC -MD -MF a.d -c a.c -o ../build/a.o 2>/dev/null", 1), v2);
  write("src/a.c",
        "#ifdef __AVX2__\n#define SET(x) if (x = 1) x = 2\n#else\n#define SET(x) if (x = 1) x = 2\n"
        "#endif\nint f(int a) { SET(a); return a; }\n");
  EXPECT_EQ(same("$CC -w -c a.c -o ../build/a.o"), both);
  for (int known = 0; known < 3; ++known)
    EXPECT_EQ(same("$CC -Wall -c a.c -o ../build/a.o 2>/dev/null"), v2);
  same("$CC -Wall -c a.c -o ../build/a.o 2>../build/warnings", 0, "x86-64-v3");
  EXPECT_THAT(read("build/warnings"), testing::HasSubstr("a.c:2:22: note: expanded from macro"));
  same("$CC -Wall -c a.c -o ../build/a.o 2>../build/warnings");
  EXPECT_THAT(read("build/warnings"), testing::HasSubstr("a.c:4:22: note: expanded from macro"));
}

// The number of predefined macros is in no output, and the level in no object.
TEST_F(OtherLevels, OutputsWithoutTheLevel) {
  write("src/a.c", "#include <stdio.h>\nint main(void) { return 0; }\n");
  std::set<std::string> texts, objects;
  for (const char* level : {"x86-64", "x86-64-v3"}) {
    EXPECT_EQ(same("$CC -E a.c -o ../build/a.i && $CC -E a.c >../build/b.i && cmp ../build/a.i ../build/b.i",
                   0, level),
              both);
    texts.insert(read("build/a.i"));
    same("$CC -g -grecord-gcc-switches -frecord-gcc-switches -c a.c -o ../build/a.o", 0, level);
    objects.insert(unit_of("build/a.o").module.to_string());
  }
  EXPECT_EQ(texts.size(), 1U);
  EXPECT_EQ(objects.size(), 1U);
  EXPECT_THAT(*texts.begin(), testing::HasSubstr("\n# 1 \"<built-in>\" 3\n"));
  EXPECT_EQ(same("$CC -gen-cdb-fragment-path ../build -c a.c -o ../build/a.o"), none);
  write("src/a.cfg", "--target=aarch64-linux-gnu\n");
  EXPECT_EQ(same("$CC --config ./a.cfg -c a.c -o ../build/a.o 2>/dev/null", 1), none);
  EXPECT_EQ(same("$CC --no-such-option -c a.c -o ../build/a.o 2>/dev/null", 1), both);
}

// Pipes are read once, and what is discarded is not compared.
TEST_F(OtherLevels, PipesAndTheNullDevice) {
  write("src/a.c", "int main(void) { return 0; }\n");
  EXPECT_EQ(same("echo 'int q;' | $CC -include /dev/stdin -c a.c -o ../build/a.o"), both);
  EXPECT_EQ(same("echo 'int r = 5;' | $CC -include /dev/stdin -c a.c -o ../build/b.o"), both);
  EXPECT_NE(unit_of("build/a.o").module, unit_of("build/b.o").module);
  EXPECT_EQ(
      same("mkfifo f; (echo 'int s = 6;' >f) & timeout 60 $CC -include ./f -c a.c -o ../build/c.o; rm f"),
      both);
  EXPECT_NE(unit_of("build/b.o").module, unit_of("build/c.o").module);
  EXPECT_EQ(same("echo | $CC -x assembler -c - -o /dev/null && $CC -c -x c /dev/null -o /dev/null"), both);
  EXPECT_EQ(same("$CC -c a.c -o /dev/null && $CC -E a.c -o /dev/null"), both);
  EXPECT_EQ(same("TMPDIR=/proc/none $CC -E a.c"), both);
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
