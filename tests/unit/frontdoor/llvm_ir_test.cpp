// LLVM IR as a source language.
#include "frontdoor/testing.h"

#include <gmock/gmock.h>

namespace xaas::frontdoor {
namespace {

using testing::HasSubstr;

class IrSource : public FrontDoorTest {
protected:
  // A loop that vectorizes, in a function with these attributes.
  static std::string axpy(const std::string& attributes = "", const std::string& head = "") {
    return head + R"(
define void @axpy(ptr noalias %y, ptr noalias %x, i64 %n) )" +
           attributes + R"( {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr double, ptr %x, i64 %i
  %to = getelementptr double, ptr %y, i64 %i
  %a = load double, ptr %from
  %b = load double, ptr %to
  %p = fmul fast double %a, 3.0
  %s = fadd fast double %p, %b
  store double %s, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
)";
  }
  ir::Unit compile(const std::string& text, const std::string& options = "-O2") {
    write("src/a.ll", text);
    sh("$CC " + options + " -c a.ll -o ../build/a.o");
    EXPECT_TRUE(is_captured("build/a.o")) << reason();
    return is_captured("build/a.o") ? unit_of("build/a.o") : ir::Unit();
  }
  std::string refused(const std::string& text) {
    write("src/a.ll", text);
    sh("$CC -O2 -Wno-override-module -c a.ll -o ../build/a.o");
    EXPECT_FALSE(is_captured("build/a.o"));
    return reason();
  }
  std::string reason() const { return sh("cat $SESSION/native/* && rm $SESSION/native/*"); }
  std::string clangs(const std::string& cpu, const std::string& options = "-O2") {
    sh("$CLANG " + options + " -march=" + cpu + " -c a.ll -o ../build/clang.o");
    return read("build/clang.o");
  }
};

// The machine code is Clang's own for the target, and one module serves all levels.
TEST_F(IrSource, IsLoweredForTheTarget) {
  const Digest module = compile(axpy()).module;
  for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
    use_level(level);
    EXPECT_EQ(compile(axpy()).module, module) << level;
  }
  const ir::Unit unit = unit_of("build/a.o");
  EXPECT_EQ(unit.source, "a.ll");
  for (const char* cpu : {"x86-64", "haswell", "skylake-avx512"})
    expect_equal(lowered(unit, cpu), clangs(cpu), cpu);
  EXPECT_FALSE(lowered_from_prepared(unit, "haswell").empty());
}

TEST_F(IrSource, BitcodeAndStandardInput) {
  const Digest module = compile(axpy()).module;
  sh("llvm-as-22 a.ll -o a.bc && $CC -O2 -c a.bc -o ../build/b.o && cat a.ll | $CC -O2 -x ir -c - -o "
     "../build/c.o");
  for (const char* object : {"build/b.o", "build/c.o"}) {
    ASSERT_TRUE(is_captured(object)) << reason();
    EXPECT_EQ(unit_of(object).module, module) << object;
  }
  // Directly to a program.
  write("src/m.ll", "define i32 @main() {\n  ret i32 3\n}\n");
  sh("$CC m.ll -o ../build/m && ../build/m", 3);
  EXPECT_TRUE(is_captured("build/m"));
}

// What rustc and Clang write by default.
TEST_F(IrSource, TheLowestLevelIsOpen) {
  const Digest module = compile(axpy()).module;
  for (
      const char* attributes :
      {R"("target-cpu"="x86-64")", R"("target-cpu"="x86-64" "tune-cpu"="generic")",
       R"("target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic")"})
    EXPECT_EQ(compile(axpy(attributes)).module, module) << attributes;
  for (const char* head :
       {R"(target triple = "x86_64-unknown-linux-gnu")", R"(target triple = "x86_64-pc-linux-gnu")",
        R"(target triple = "x86_64-linux-gnu")",
        // of LLVM 14, as ldc 1.30 writes it into text
        R"(target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128")"})
    EXPECT_EQ(compile(axpy("", head)).module, module) << head;
}

TEST_F(IrSource, OtherAttributesAreKept) {
  const ir::Unit unit = compile(axpy(R"("target-features"="+avx2,+fma")"));
  for (const char* cpu : {"x86-64", "skylake-avx512"})
    expect_equal(lowered(unit, cpu), clangs(cpu), cpu);
  compile(axpy(R"("target-cpu"="haswell")"));
  // -march of the command line fixes the open ones.
  const ir::Unit fixed = compile(axpy(), "-O2 -march=haswell");
  expect_equal(lowered(fixed, "x86-64"), clangs("haswell"), "haswell");
}

TEST_F(IrSource, WhatIsNotForTheTargetIsNamed) {
  EXPECT_THAT(refused(axpy("", R"(target triple = "x86_64-unknown-linux-musl")")),
              HasSubstr("IR for x86_64-unknown-linux-musl"));
  EXPECT_THAT(refused(axpy("", R"(target triple = "x86_64-unknown-freebsd")")), HasSubstr("freebsd"));
  EXPECT_THAT(refused(axpy("", R"(target datalayout = "e-p:64:64-i64:64-n32:64-S64")")),
              HasSubstr("data layout e-p:64"));
  EXPECT_THAT(refused("define <8 x float> @wide(<8 x float> %a) {\n  ret <8 x float> %a\n}\n"),
              HasSubstr("wide passes vectors of more than 128 bits"));
  EXPECT_THAT(refused("declare void @other({i32, <16 x i32>})\ndefine void @f() {\n  ret void\n}\n"),
              HasSubstr("other passes vectors"));
  compile("define internal <8 x float> @own(<8 x float> %a) {\n  ret <8 x float> %a\n}\n"
          "define void @f(ptr %p) {\n  %a = load <8 x float>, ptr %p\n"
          "  %b = call <8 x float> @own(<8 x float> %a)\n  store <8 x float> %b, ptr %p\n  ret void\n}\n");
  write("src/a.ll", "no IR\n");
  EXPECT_THAT(sh("$CC -O2 -c a.ll -o ../build/a.o", 1), HasSubstr("error: expected top-level entity"));
}

// Debug information names no directory of the build.
TEST_F(IrSource, DoesNotDependOnTheDirectory) {
  write("src/a.c", "int f(int a) { return a + 1; }\n");
  std::vector<Digest> modules;
  for (const char* directory : {"one", "two"}) {
    ASSERT_TRUE(make_directories(path("src") / directory));
    sh(std::string("cp a.c ") + directory + " && cd " + directory +
       " && $CLANG -g -O1 -Xclang -disable-llvm-passes -S -emit-llvm $PWD/a.c -o a.ll");
    session_.prefixes = {{path("src") / directory, "."}};
    use_level(directory, "x86-64");
    sh(std::string("cd ") + directory + " && $CC -O2 -g -c a.ll -o ../../build/a.o");
    ASSERT_TRUE(is_captured("build/a.o"));
    modules.push_back(unit_of("build/a.o").module);
  }
  EXPECT_EQ(modules[0], modules[1]);
}

} // namespace
} // namespace xaas::frontdoor
