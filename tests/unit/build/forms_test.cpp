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

} // namespace
} // namespace xaas::build
