#include "options.h"

#include <gmock/gmock.h>

namespace xaas::trial {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MissingNames, AreReadFromTheMessagesOfManyTools) {
  EXPECT_THAT(missing_names("-- Could NOT find GTest (missing: GTEST_LIBRARY)"), ElementsAre("GTest"));
  EXPECT_THAT(missing_names("  Could not find a package configuration file provided by \"Eigen3\" with any"),
              ElementsAre("Eigen3"));
  EXPECT_THAT(missing_names("By not providing \"FindCatch2.cmake\" in CMAKE_MODULE_PATH this project"),
              ElementsAre("Catch2"));
  EXPECT_THAT(missing_names("No package 'fftw3f' found"), ElementsAre("fftw3f"));
  EXPECT_THAT(missing_names("meson.build:7:0: ERROR: Dependency \"gtk4\" not found, tried pkgconfig"),
              ElementsAre("gtk4"));
  EXPECT_THAT(missing_names("a.c:1:10: fatal error: 'sys/omp.h' file not found"), ElementsAre("omp"));
  EXPECT_THAT(missing_names("ld.lld: error: unable to find library -lhwloc"), ElementsAre("hwloc"));
  EXPECT_THAT(missing_names("/bin/sh: 1: doxygen: not found"), ElementsAre("doxygen"));
  EXPECT_THAT(missing_names("configure: error: libxml2 is required"), ElementsAre("libxml2"));
  EXPECT_THAT(missing_names("a.c:1:1: error: expected identifier"), IsEmpty());
}

// A draft, the options of its build, and the failure of one of its builds.
class OptionsTest : public testing::Test {
protected:
  void option(const std::string& name, const std::string& initial, std::vector<std::string> values = {}) {
    discover::Option option;
    option.name = name;
    option.initial = initial;
    option.values = std::move(values);
    if (!option.values.empty())
      option.kind = discover::Option::Kind::choice;
    findings_.options.push_back(option);
  }

  void point(const std::string& name, const std::vector<spec::Value>& values) {
    spec::SpecializationPoint point;
    point.name = name;
    point.category = "other";
    point.values = values;
    draft_.application.points.push_back(point);
  }

  std::string learn(const std::string& output, const std::string& step = "configure") {
    failure_.cause = build::FailedBuild::Cause::step;
    failure_.step = step;
    failure_.output = output;
    failure_.error = output.substr(0, output.find('\n'));
    const auto has_program = [](const std::string&) { return true; };
    return learn_options({failure_, findings_, source_, has_program}, draft_);
  }

  const std::vector<std::string>& arguments() const { return draft_.application.build.arguments; }

  discover::Findings findings_;
  discover::Draft draft_;
  Failure failure_;
  fs::path source_;
};

TEST_F(OptionsTest, SwitchesOffWhatNeedsAMissingPackageOnce) {
  option("SOLVER_BUILD_TESTING", "ON");
  option("SOLVER_USE_MKL", "ON");
  EXPECT_NE(learn("CMake Error: Could NOT find GTest"), "");
  EXPECT_THAT(arguments(), ElementsAre("-DSOLVER_BUILD_TESTING=OFF"));
  EXPECT_EQ(learn("CMake Error: Could NOT find GTest"), "");
}

TEST_F(OptionsTest, SwitchesOffByTheBuildSystem) {
  option("with-python", "yes");
  option("enable-docs", "yes");
  draft_.application.build.system = spec::BuildSystem::autotools;
  EXPECT_NE(learn("configure: error: Python not found"), "");
  EXPECT_NE(learn("sh: doxygen: not found", "build"), "");
  EXPECT_THAT(arguments(), ElementsAre("--without-python", "--disable-docs"));
}

TEST_F(OptionsTest, SwitchesOffAMesonFeature) {
  option("tests", "auto", {"enabled", "disabled", "auto"});
  draft_.application.build.system = spec::BuildSystem::meson;
  EXPECT_NE(learn("ERROR: Dependency \"cmocka\" not found"), "");
  EXPECT_THAT(arguments(), ElementsAre("-Dtests=disabled"));
}

TEST_F(OptionsTest, APartThatFailsToCompileIsSwitchedOff) {
  option("BUILD_EXAMPLES", "ON");
  EXPECT_NE(learn("examples/demo.cpp:3:1: error: unknown type name 'x'", "build"), "");
  EXPECT_THAT(arguments(), ElementsAre("-DBUILD_EXAMPLES=OFF"));
}

TEST_F(OptionsTest, AnOptionThatIsOffOrUnrelatedStays) {
  option("BUILD_TESTS", "OFF");
  option("USE_CUDA", "ON");
  EXPECT_EQ(learn("Could NOT find GTest"), "");
  EXPECT_EQ(learn("a.c:1:1: error: expected identifier", "build"), "");
  EXPECT_THAT(arguments(), IsEmpty());
}

TEST_F(OptionsTest, LeavesOutTheValueThatTheMessagesBlame) {
  point("blas", {{"mkl", {"-DBLAS=mkl"}, {}}, {"reference", {"-DBLAS=reference"}, {}}});
  failure_.values = {{"blas", "mkl"}};
  EXPECT_NE(learn("Could NOT find MKL (missing: MKL_LIBRARIES)"), "");
  ASSERT_EQ(draft_.application.points.size(), 1u);
  EXPECT_FALSE(draft_.application.points[0].find("mkl"));
  ASSERT_EQ(draft_.left_out.size(), 1u);
  EXPECT_EQ(draft_.left_out[0].value, "mkl");
}

TEST_F(OptionsTest, TriesTheValuesOfARequiredVariableInTurn) {
  option("MODEL", "", {"cuda", "serial"});
  findings_.options[0].required = true;
  EXPECT_NE(learn("CMake Error: MODEL is not set"), "");
  EXPECT_THAT(arguments(), ElementsAre("-DMODEL=cuda"));
  EXPECT_NE(learn("CMake Error: MODEL=cuda needs nvcc"), "");
  EXPECT_THAT(arguments(), ElementsAre("-DMODEL=serial"));
  EXPECT_EQ(learn("CMake Error: MODEL=serial fails, too"), "");
}

} // namespace
} // namespace xaas::trial
