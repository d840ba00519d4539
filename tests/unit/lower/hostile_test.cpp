// Damaged bitcode: whatever LLVM does with it in a worker, the result is an object or an error that names the
// module.
#include "lower/testing.h"

#include <gmock/gmock.h>

#include <chrono>

namespace xaas::lower {
namespace {

using ::testing::HasSubstr;

constexpr const char* tables = R"(
@table = internal constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]
@name = private unnamed_addr constant [5 x i8] c"name\00"
@state = thread_local global i64 0
declare i32 @puts(ptr)
declare double @llvm.fmuladd.f64(double, double, double)
define internal i32 @pick(i32 %i) noinline {
  %at = getelementptr [4 x i32], ptr @table, i64 0, i32 %i
  %v = load i32, ptr %at, !tbaa !0
  ret i32 %v
}
define double @dot(ptr noalias %x, ptr noalias %y, i64 %n) #0 {
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %px = getelementptr double, ptr %x, i64 %i
  %py = getelementptr double, ptr %y, i64 %i
  %a = load double, ptr %px
  %b = load double, ptr %py
  %t = call reassoc double @llvm.fmuladd.f64(double %a, double %b, double %s)
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %r = phi double [ 0.0, %entry ], [ %t, %loop ]
  ret double %r
}
define i32 @main(i32 %argc, ptr %argv) {
  call i32 @puts(ptr @name)
  %v = call i32 @pick(i32 %argc)
  switch i32 %v, label %other [ i32 1, label %one i32 2, label %two ]
one:
  call void asm sideeffect "nop", "~{memory}"()
  ret i32 1
two:
  atomicrmw add ptr @state, i64 1 seq_cst
  ret i32 2
other:
  ret i32 0
}
attributes #0 = { nounwind "target-features"="+sse2" }
!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2}
!2 = !{!"root"}
)";

// Lowers in a worker with low limits.
Result<void> lower_one(const Job& job) {
  return lower_all(
      1, [&](size_t) -> Result<Job> { return job; }, [](size_t, const Object&) { return Result<void>(); },
      {.workers = 1, .memory = 1u << 30, .cpu_seconds = 2});
}

void expect_contained(const Job& job, const std::string& what) {
  const auto result = lower_one(job);
  if (result)
    return;
  EXPECT_TRUE(result.error().kind == ErrorKind::integrity || result.error().kind == ErrorKind::failed)
      << what;
  EXPECT_THAT(result.error().message, HasSubstr("a.c (module sha256:")) << what;
}

TEST(HostileBitcode, FlippedBits) {
  const Job sound = job_of(tables);
  ASSERT_TRUE(lower_one(sound));
  const size_t bits = sound.bitcode.size() * 8;
  constexpr size_t tries = 250; // each in a process of its own
  for (size_t i = 0; i < tries; ++i) {
    Job job = sound;
    const size_t bit = i * bits / tries;
    job.bitcode[bit / 8] = static_cast<char>(job.bitcode[bit / 8] ^ (1 << bit % 8));
    expect_contained(job, "bit " + std::to_string(bit));
  }
}

TEST(HostileBitcode, CutOffAnywhere) {
  const Job sound = job_of(tables);
  for (size_t size = 0; size < sound.bitcode.size(); size += 37) {
    Job job = sound;
    job.bitcode.resize(size);
    const auto result = lower_one(job);
    ASSERT_FALSE(result) << size;
    EXPECT_THAT(result.error().message, HasSubstr("a.c (module sha256:")) << size;
  }
}

// LLVM computes the size of a type from its parts, recursively.
TEST(HostileBitcode, DeeplyNested) {
  std::string types = "%t0 = type { i32 }\n";
  constexpr int depth = 1000;
  for (int i = 1; i <= depth; ++i)
    types += "%t" + std::to_string(i) + " = type { %t" + std::to_string(i - 1) + " }\n";
  expect_contained(job_of(types + "define ptr @f(ptr %p) { %q = getelementptr %t" + std::to_string(depth) +
                          ", ptr %p, i64 1 ret ptr %q }"),
                   "deep type");
}

TEST(HostileBitcode, OfANewerLlvmOrNone) {
  Job job = job_of(tables);
  for (const std::string& bitcode : {std::string(), std::string("BC\xC0\xDE"), std::string(100000, '\xff'),
                                     std::string("\xDE\xC0\x17\x0B") + std::string(16, '\x7f')}) {
    job.bitcode = bitcode;
    const auto result = lower_one(job);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("a.c (module sha256:"));
  }
}

} // namespace
} // namespace xaas::lower
