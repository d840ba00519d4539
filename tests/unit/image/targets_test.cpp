#include <xaas/image/targets.h>

#include <xaas/base/text.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::image {
namespace {

using ::testing::HasSubstr;

target::Cpu cpu(const std::string& name) {
  return *target::cpu_by_name("x86_64", name);
}

Annotations of(const std::string& name) {
  return {{annotation::cpu, name}, {annotation::features, join(cpu(name).features, ",")}};
}

TEST(Targets, TheOneWithMostFeaturesThatTheCpuHas) {
  const std::vector<Annotations> images = {of("x86-64"), of("nehalem"), of("haswell"), of("znver4")};
  const auto chosen = [&](const std::string& name) { return *best_for(cpu(name))(images); };
  EXPECT_EQ(chosen("core2"), 0u);
  EXPECT_EQ(chosen("sandybridge"), 1u);
  EXPECT_EQ(chosen("haswell"), 2u);
  EXPECT_EQ(chosen("skylake"), 2u);
  EXPECT_EQ(chosen("znver4"), 3u);
  EXPECT_EQ(chosen("znver5"), 3u);
  EXPECT_EQ(*best_for(cpu("haswell"))({of("haswell"), of("haswell")}), 0u);
}

TEST(Targets, OfNoneThatFitsAllAreNamed) {
  const std::vector<Annotations> images = {of("haswell"), of("znver4")};
  const Result<size_t> unfit = best_for(cpu("nehalem"))(images);
  ASSERT_FALSE(unfit);
  EXPECT_EQ(unfit.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(unfit.error().message, HasSubstr("that for haswell needs "));
  EXPECT_THAT(unfit.error().message, HasSubstr("that for znver4 needs"));
  EXPECT_EQ(*best_for(cpu("nehalem"), IfNoneFits::first)(images), 0u);
}

// Names that LLVM does not know count for nothing, and annotations are no prose for messages.
TEST(Targets, HostileAnnotations) {
  Annotations many = of("x86-64");
  for (int i = 0; i < 1000; ++i)
    many[annotation::features] += ",invented" + std::to_string(i);
  EXPECT_EQ(*best_for(cpu("nehalem"))({many, of("nehalem")}), 1u);
  Annotations lying = of("haswell");
  lying[annotation::cpu] = "a\nline";
  EXPECT_THAT(best_for(cpu("nehalem"))(std::vector<Annotations>(1000, lying)).error().message,
              ::testing::AllOf(HasSubstr("one needs "), ::testing::Not(HasSubstr("line")),
                               ::testing::SizeIs(::testing::Lt(1000u))));
}

// An image without annotations may run anywhere; others are better.
TEST(Targets, ImagesOfOtherToolsFit) {
  EXPECT_EQ(*best_for(cpu("nehalem"))({{}, of("haswell")}), 0u);
  EXPECT_EQ(*best_for(cpu("haswell"))({{}, of("haswell")}), 1u);
  EXPECT_TRUE(lacking({}, cpu("x86-64")).empty());
}

} // namespace
} // namespace xaas::image
