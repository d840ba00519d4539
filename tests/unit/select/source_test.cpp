// Configurations that are built on the target, next to those with IR.
#include <xaas/select/select.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::select {
namespace {

using spec::Configuration;
using spec::SpecializationPoint;
using testing::HasSubstr;
using testing::Not;

spec::Value value(const std::string& name, bool from_source = false, std::vector<std::string> cpu = {}) {
  spec::Value made{name, {}, {}};
  made.from_source = from_source;
  made.requires_.cpu = std::move(cpu);
  return made;
}

system::SystemDescription machine(std::vector<std::string> features = {"avx", "avx2", "fma", "sse2"}) {
  system::SystemDescription system;
  system.arch = "x86_64";
  system.cpu.name = "haswell";
  system.cpu.features = std::move(features);
  return system;
}

Selection chosen(const SpecializationPoint& point, const system::SystemDescription& system,
                 std::vector<std::string> available = {},
                 const std::map<std::string, std::string>& set = {}) {
  std::vector<Configuration> configurations;
  if (available.empty())
    for (const spec::Value& each : point.values)
      available.push_back(each.value);
  for (const std::string& each : available)
    configurations.push_back(Configuration({{point.name, each}}));
  auto result = select({point}, configurations, system, set);
  EXPECT_TRUE(result) << result.error().message;
  return result ? *std::move(result) : Selection{};
}

// The result for a value of the only point.
std::string reason_of(const Selection& selection, const std::string& value) {
  for (const Outcome& outcome : selection.values)
    if (outcome.value == value)
      return outcome.reason;
  return "not there";
}

TEST(SelectSource, ValuesWithIrComeFirst) {
  // Also if the other value is the default or listed last.
  const SpecializationPoint fft{"fft", "fft", "mkl", {value("mkl", true), value("own")}, {}};
  const Selection selection = chosen(fft, machine());
  EXPECT_EQ(selection.configuration.id(), "fft=own");
  EXPECT_EQ(reason_of(selection, "mkl"), "ranks below fft=own, which has IR and need not be built here");
  const SpecializationPoint simd{
      "simd", "cpu", "", {value("sse2"), value("avx", true, {"avx"}), value("avx2", true, {"avx2"})}, {}};
  EXPECT_EQ(chosen(simd, machine()).configuration.id(), "simd=sse2");
}

TEST(SelectSource, IrComesBeforeAllSourceBuilds) {
  const SpecializationPoint simd{
      "simd",
      "cpu",
      "",
      {value("a", false, {"sse2"}), value("b", true, {"avx"}), value("c", false, {"avx2"})},
      {}};
  EXPECT_EQ(chosen(simd, machine()).configuration.id(), "simd=c");
  // If the image lacks the best value, the next one with IR is chosen.
  const Selection selection = chosen(simd, machine(), {"a", "b"});
  EXPECT_EQ(selection.configuration.id(), "simd=a");
  EXPECT_EQ(reason_of(selection, "b"), "ranks below simd=a, which has IR and need not be built here");
  EXPECT_EQ(chosen(simd, machine({"avx"})).configuration.id(), "simd=b");
}

TEST(SelectSource, WhereNothingElseFits) {
  const SpecializationPoint simd{
      "simd", "cpu", "", {value("old", true), value("new", false, {"avx512f"})}, {}};
  const Selection selection = chosen(simd, machine());
  EXPECT_EQ(selection.configuration.id(), "simd=old");
  EXPECT_THAT(selection.choices.at(0).reason, HasSubstr(", built from source"));
}

TEST(SelectSource, AGpuIsWorthIt) {
  SpecializationPoint gpu{"gpu", "gpu", "off", {value("off"), value("cuda", true)}, {}};
  gpu.values[1].requires_.gpu = spec::Requirement::Gpu{};
  gpu.values[1].requires_.gpu->vendor = "nvidia";
  EXPECT_EQ(chosen(gpu, machine()).configuration.id(), "gpu=off");
  system::SystemDescription with_gpu = machine();
  system::Gpu card;
  card.vendor = "nvidia";
  card.arch = "sm_90";
  with_gpu.gpus = {card};
  const Selection selection = chosen(gpu, with_gpu);
  EXPECT_EQ(selection.configuration.id(), "gpu=cuda");
  EXPECT_THAT(selection.choices.at(0).reason, HasSubstr("built from source"));
}

TEST(SelectSource, AGpuThatCodeWithASuffixIsFor) {
  SpecializationPoint gpu{"gpu", "gpu", "off", {value("off"), value("cuda", true)}, {}};
  gpu.values[1].requires_.gpu = spec::Requirement::Gpu{};
  system::SystemDescription with_gpu = machine();
  with_gpu.gpus = {system::Gpu()};
  with_gpu.gpus[0].vendor = "nvidia";
  for (const auto& [wanted, there, serves] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"sm_90", "sm_90", true},
                                                               {"sm_90", "sm_100", false},
                                                               {"sm_90a", "sm_90", true},
                                                               {"sm_90a", "sm_100", false},
                                                               {"sm_100a", "sm_103", false},
                                                               {"sm_100f", "sm_103", true},
                                                               {"sm_100f", "sm_120", false},
                                                               {"sm_100f", "sm_90", false},
                                                               {"gfx90a", "gfx90a", true},
                                                               {"gfx90a", "gfx942", false},
                                                               {"unheard-of", "unheard-of", true}}) {
    gpu.values[1].requires_.gpu->arch = wanted;
    with_gpu.gpus[0].arch = there;
    EXPECT_EQ(chosen(gpu, with_gpu).configuration.id(), serves ? "gpu=cuda" : "gpu=off")
        << wanted << " on " << there;
  }
}

TEST(SelectSource, PreferredValuesDoNotWaitForIr) {
  SpecializationPoint fft{"fft", "fft", "own", {value("own"), value("mkl", true)}, {{{"haswell"}, {"mkl"}}}};
  Selection selection = chosen(fft, machine());
  EXPECT_EQ(selection.configuration.id(), "fft=mkl");
  EXPECT_EQ(selection.choices.at(0).reason, "preferred on haswell, built from source");
  fft.prefer = {{{"znver4"}, {"mkl"}}};
  EXPECT_EQ(chosen(fft, machine()).configuration.id(), "fft=own");
}

TEST(SelectSource, ASetValueIsChosen) {
  const SpecializationPoint fft{"fft", "fft", "own", {value("own"), value("mkl", true)}, {}};
  EXPECT_EQ(chosen(fft, machine(), {}, {{"fft", "mkl"}}).configuration.id(), "fft=mkl");
}

// The configurations of a hostile image can have any names.
TEST(SelectSource, ConfigurationsOfNoPointOrValueAreDamage) {
  const SpecializationPoint fft{"fft", "fft", "own", {value("own"), value("mkl", true)}, {}};
  for (const Configuration& odd :
       {Configuration(), Configuration({{"fft", "none"}}), Configuration({{"other", "own"}})}) {
    const auto refused = select({fft}, {Configuration({{"fft", "mkl"}}), odd}, machine(), {});
    ASSERT_FALSE(refused) << odd.id();
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity) << odd.id();
    EXPECT_THAT(refused.error().message, HasSubstr(odd.id()));
  }
}

// Without any IR, as in a source image, values rank as usual and no reason mentions the source.
TEST(SelectSource, WithoutIrValuesRankAsUsual) {
  const SpecializationPoint simd{"simd", "cpu", "", {value("sse2"), value("avx2", false, {"avx2"})}, {}};
  const Selection selection = chosen(simd, machine());
  EXPECT_EQ(selection.configuration.id(), "simd=avx2");
  EXPECT_THAT(selection.choices.at(0).reason, Not(HasSubstr("source")));
  const SpecializationPoint all{"simd", "cpu", "", {value("sse2", true), value("avx2", true, {"avx2"})}, {}};
  EXPECT_EQ(chosen(all, machine()).configuration.id(), "simd=avx2");
}

} // namespace
} // namespace xaas::select
