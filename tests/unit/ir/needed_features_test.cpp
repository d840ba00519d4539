#include "ir/testing.h"

#include <xaas/ir/needed_features.h>

#include <llvm/IR/Intrinsics.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::ir {

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

std::optional<std::vector<std::string>> needed(const std::string& text, bool complete_headers = true) {
  llvm::LLVMContext context;
  const auto module = module_of(text, context);
  UnitOptions options;
  options.text["triple"] = "x86_64-pc-linux-gnu";
  const auto found =
      needed_features(*module, instruction_set({}, options, *target::cpu_by_name("x86_64", "x86-64")),
                      [&](const llvm::Function& function) {
                        return complete_headers && function.getName().starts_with("_mm_");
                      });
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : std::nullopt;
}

const std::string intrinsics =
    "define internal i32 @_mm_abs(i32 %a) alwaysinline \"xaas-target\"=\"target:ssse3\" { ret i32 %a }\n"
    "declare i32 @llvm.x86.sse42.crc32.32.8(i32, i8)\n"
    "declare i64 @llvm.x86.xgetbv(i32)\n"
    "declare i32 @llvm.x86.sse2.pmovmskb.128(<16 x i8>)\n";

TEST(NeededFeatures, OfFunctionsThatAreInlined) {
  EXPECT_THAT(needed(intrinsics + "define i32 @f(i32 %a) { %r = call i32 @_mm_abs(i32 %a) ret i32 %r }"),
              Optional(ElementsAre("sse3", "ssse3")));
  // Through another one, which needs more itself.
  EXPECT_THAT(
      needed(intrinsics +
             "define internal i32 @g(i32 %a) alwaysinline { %r = call i32 @_mm_abs(i32 %a) ret i32 %r }\n"
             "define internal i32 @h(i32 %a) alwaysinline \"xaas-target\"=\"target:bmi\" "
             "{ %r = call i32 @g(i32 %a) ret i32 %r }\n"
             "define i32 @f(i32 %a) { %r = call i32 @h(i32 %a) ret i32 %r }"),
      Optional(ElementsAre("bmi", "sse3", "ssse3")));
  // What the call alone says counts, too.
  EXPECT_THAT(needed("define i32 @g(i32 %a) \"xaas-target\"=\"target:bmi\" { ret i32 %a }\n"
                     "define i32 @f(i32 %a) { %r = call i32 @g(i32 %a) alwaysinline ret i32 %r }"),
              Optional(ElementsAre("bmi")));
}

TEST(NeededFeatures, NotOfFunctionsThatAreCalled) {
  EXPECT_THAT(needed("define i32 @g(i32 %a) \"xaas-target\"=\"target:avx2\" { ret i32 %a }\n"
                     "define i32 @f(i32 %a) { %r = call i32 @g(i32 %a) ret i32 %r }"),
              Optional(IsEmpty()));
}

TEST(NeededFeatures, NotWhatTheOwnAttributeBrings) {
  EXPECT_THAT(needed(intrinsics + "define i32 @f(i32 %a) \"xaas-target\"=\"target:avx2\" "
                                  "{ %r = call i32 @_mm_abs(i32 %a) ret i32 %r }"),
              Optional(IsEmpty()));
  EXPECT_THAT(needed(intrinsics + "define i32 @f(i32 %a) \"xaas-target\"=\"target:bmi\" "
                                  "{ %r = call i32 @_mm_abs(i32 %a) ret i32 %r }"),
              Optional(ElementsAre("sse3", "ssse3")));
}

TEST(NeededFeatures, OfIntrinsics) {
  EXPECT_THAT(needed(intrinsics + "define i32 @f(i32 %a) "
                                  "{ %r = call i32 @llvm.x86.sse42.crc32.32.8(i32 %a, i8 1) ret i32 %r }"),
              Optional(ElementsAre("crc32")));
  EXPECT_THAT(needed(intrinsics + "define i32 @f(<16 x i8> %a) "
                                  "{ %r = call i32 @llvm.x86.sse2.pmovmskb.128(<16 x i8> %a) ret i32 %r }"),
              Optional(IsEmpty()));
}

// Clang translates some builtins by hand.
TEST(NeededFeatures, UnknownIntrinsicsAreThoseOfHeaders) {
  const std::string in_header =
      intrinsics + "define internal i64 @_mm_xgetbv(i32 %a) alwaysinline \"xaas-target\"=\"target:xsave\" "
                   "{ %r = call i64 @llvm.x86.xgetbv(i32 %a) ret i64 %r }\n"
                   "define i64 @f(i32 %a) { %r = call i64 @_mm_xgetbv(i32 %a) ret i64 %r }";
  EXPECT_THAT(needed(in_header), Optional(ElementsAre("xsave")));
  EXPECT_EQ(needed(in_header, false), std::nullopt);
  EXPECT_EQ(
      needed(intrinsics + "define i64 @f(i32 %a) { %r = call i64 @llvm.x86.xgetbv(i32 %a) ret i64 %r }"),
      std::nullopt);
  EXPECT_THAT(needed("declare void @llvm.x86.sse.ldmxcsr(ptr)\n"
                     "define void @f(ptr %a) { call void @llvm.x86.sse.ldmxcsr(ptr %a) ret void }"),
              Optional(IsEmpty()));
}

// Clang asks for AVX where the predicate is one that only AVX has.
TEST(NeededFeatures, OfComparisons) {
  const auto of_predicate = [](int predicate) {
    return needed("declare <4 x float> @llvm.x86.sse.cmp.ss(<4 x float>, <4 x float>, i8 immarg)\n"
                  "define <4 x float> @f(<4 x float> %a) { %r = call <4 x float> "
                  "@llvm.x86.sse.cmp.ss(<4 x float> %a, <4 x float> %a, i8 " +
                  std::to_string(predicate) + ") ret <4 x float> %r }");
  };
  EXPECT_THAT(of_predicate(7), Optional(IsEmpty()));
  EXPECT_THAT(of_predicate(8), Optional(ElementsAre("avx")));
}

// A new version of Clang may write its tables in another way.
TEST(NeededFeatures, TheTableHasMostIntrinsics) {
  size_t all = 0, known = 0;
  for (unsigned id = 1; id < llvm::Intrinsic::num_intrinsics; ++id) {
    if (!llvm::Intrinsic::getBaseName(id).starts_with("llvm.x86."))
      continue;
    ++all;
    const auto features = features_of_intrinsic(id);
    known += features.has_value();
    for (const std::string& feature : features.value_or(std::vector<std::string>()))
      EXPECT_TRUE(target::is_feature("x86_64", feature)) << feature;
  }
  EXPECT_GT(known, all / 2);
}

} // namespace

} // namespace xaas::ir
