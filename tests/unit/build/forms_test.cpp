#include "forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::build {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

spec::Value value(const std::string& name, bool from_source) {
  spec::Value made{name, {}, {}};
  made.from_source = from_source;
  return made;
}

std::vector<spec::Configuration> every(const std::vector<spec::SpecializationPoint>& points) {
  return *spec::expand({}, points, {}, 100);
}

TEST(Forms, AValueThatIsBuiltFromSourceDecides) {
  const std::vector<spec::SpecializationPoint> points = {
      {"gpu", "gpu", "off", {value("off", false), value("cuda", true)}, {}},
      {"fft", "fft", "own", {value("own", false), value("mkl", true)}, {}}};
  const Forms forms = forms_of(points, every(points));
  EXPECT_THAT(ids_of(forms.ir), ElementsAre("fft=own,gpu=off"));
  EXPECT_THAT(ids_of(forms.source), ElementsAre("fft=mkl,gpu=off", "fft=own,gpu=cuda", "fft=mkl,gpu=cuda"));
}

TEST(Forms, WithoutSuchValuesAllHaveIr) {
  const std::vector<spec::SpecializationPoint> points = {
      {"gpu", "gpu", "off", {value("off", false), value("on", false)}, {}}};
  const Forms forms = forms_of(points, every(points));
  EXPECT_THAT(ids_of(forms.ir), ElementsAre("gpu=off", "gpu=on"));
  EXPECT_THAT(forms.source, IsEmpty());
  EXPECT_THAT(ids_of(forms_of({}, {spec::Configuration()}).ir), ElementsAre("default"));
}

// The target replaces the ISA level in builds from source, so one of these is enough.
TEST(Forms, OnlyTheWeakestLevelIsBuiltFromSource) {
  const std::vector<spec::SpecializationPoint> points = {
      {"gpu", "gpu", "off", {value("off", false), value("cuda", true)}, {}},
      spec::isa_point({"x86-64", "x86-64-v2", "x86-64-v3"})};
  const Forms forms = forms_of(points, every(points));
  EXPECT_THAT(ids_of(forms.ir),
              ElementsAre("gpu=off,isa=x86-64", "gpu=off,isa=x86-64-v2", "gpu=off,isa=x86-64-v3"));
  EXPECT_THAT(ids_of(forms.source), ElementsAre("gpu=cuda,isa=x86-64"));
}

TEST(Forms, LaterConfigurationsAtOtherLevels) {
  const std::vector<spec::SpecializationPoint> points = {
      {"isa", "cpu", "v1", {value("v1", false), value("v2", false), value("v3", false)}, {}},
      {"mpi", "other", "off", {value("off", false), value("on", false)}, {}}};
  const std::vector<spec::Configuration> all = every(points);
  const auto later = [&](const std::string& id) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.id() == id; });
    return ids_of(later_at_other_levels(points, all, *found));
  };
  EXPECT_THAT(later("isa=v1,mpi=on"), ElementsAre("isa=v2,mpi=on", "isa=v3,mpi=on"));
  EXPECT_THAT(later("isa=v2,mpi=off"), ElementsAre("isa=v3,mpi=off"));
  EXPECT_THAT(later("isa=v3,mpi=off"), IsEmpty());
  // Without the point, configurations have no level.
  EXPECT_THAT(later_at_other_levels({}, {spec::Configuration()}, spec::Configuration()), IsEmpty());
  EXPECT_THAT(later_at_other_levels(points, {}, all.front()), IsEmpty());
}

} // namespace
} // namespace xaas::build
