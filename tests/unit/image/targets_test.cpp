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

// An image without annotations may run anywhere; others are better.
TEST(Targets, ImagesOfOtherToolsFit) {
  EXPECT_EQ(*best_for(cpu("nehalem"))({{}, of("haswell")}), 0u);
  EXPECT_EQ(*best_for(cpu("haswell"))({{}, of("haswell")}), 1u);
  EXPECT_TRUE(lacking({}, cpu("x86-64")).empty());
}

} // namespace
} // namespace xaas::image
