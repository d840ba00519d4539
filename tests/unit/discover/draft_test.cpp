#include "discover/testing.h"

#include <gtest/gtest.h>

namespace xaas::discover {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Configurations = std::vector<std::map<std::string, std::string>>;

class DraftTest : public TreeTest {
protected:
  Draft of_cmake(const std::string& text, const std::string& arch = "x86_64") {
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(Solver VERSION 2.1)\n" + text);
    const Findings findings = read();
    return draft(findings, classify(findings), arch);
  }
  static const spec::SpecializationPoint* point(const Draft& draft, const std::string& name) {
    for (const spec::SpecializationPoint& point : draft.application.points)
      if (point.name == name)
        return &point;
    return nullptr;
  }
  static std::vector<std::string> values(const Draft& draft, const std::string& name) {
    std::vector<std::string> all;
    if (const spec::SpecializationPoint* const found = point(draft, name))
      for (const spec::Value& value : found->values)
        all.push_back(value.value);
    return all;
  }
  static std::vector<std::string> built(const Draft& draft) {
    std::vector<std::string> ids;
    const auto points = spec::all_points(draft.application, "x86_64", {});
    const auto configurations = spec::expand(draft.application, *points, {}, 100);
    EXPECT_TRUE(configurations) << configurations.error().message;
    for (const spec::Configuration& configuration : *configurations)
      ids.push_back(configuration.id());
    return ids;
  }
  static std::vector<std::string> arguments(const Draft& draft, const std::string& level) {
    return spec::arguments_of(draft.application, {}, *target::cpu_by_name("x86_64", level));
  }
  // What is written parses to the same spec.
  static std::string text_of(const Draft& draft) {
    const std::string text = to_text(draft);
    const auto again = spec::parse_application(text, "draft");
    EXPECT_TRUE(again) << again.error().message << "\n" << text;
    if (again)
      EXPECT_EQ(spec::to_json(*again), spec::to_json(draft.application));
    return text;
  }
};

TEST_F(DraftTest, BuildsTheDefaultsAtEveryLevel) {
  const Draft draft = of_cmake("option(SOLVER_MPI \"\" OFF)\noption(SOLVER_OPENMP \"Use threads\" ON)\n");
  EXPECT_THAT(built(draft),
              ElementsAre("isa=x86-64,mpi=off,openmp=on", "isa=x86-64-v2,mpi=off,openmp=on",
                          "isa=x86-64-v3,mpi=off,openmp=on", "isa=x86-64-v4,mpi=off,openmp=on"));
  EXPECT_EQ(text_of(draft),
            R"(// A draft by `xaas init` for x86_64, to review.
// Name the program that a container starts:
// "image": {"entrypoint": ["/usr/local/bin/PROGRAM"]}
{
  "name": "solver",
  "version": "2.1",
  "build": {"system": "cmake"},
  "specializations": [
    // SOLVER_MPI (CMakeLists.txt:3)
    {
      "name": "mpi", "category": "communication", "default": "off",
      "values": [
        {"value": "off", "arguments": ["-DSOLVER_MPI=OFF"]},
        {"value": "on", "arguments": ["-DSOLVER_MPI=ON"]}
      ]
    },
    // SOLVER_OPENMP (CMakeLists.txt:4): Use threads
    {
      "name": "openmp", "category": "threading", "default": "on",
      "values": [
        {"value": "off", "arguments": ["-DSOLVER_OPENMP=OFF"]},
        {"value": "on", "arguments": ["-DSOLVER_OPENMP=ON"]}
      ]
    }
  ],
  // {}: the default of every point, at each ISA level of x86_64.
  // Another entry could be {"mpi": "on"}.
  "configurations": [{}]
}
)");
}

TEST_F(DraftTest, WithoutPointsOnlyTheLevelsAreBuilt) {
  const Draft draft = of_cmake("");
  EXPECT_THAT(draft.application.configurations, IsEmpty());
  EXPECT_EQ(built(draft).size(), 4u);
  EXPECT_THAT(text_of(draft), HasSubstr("  \"build\": {\"system\": \"cmake\"}\n}"));
}

TEST_F(DraftTest, TestsAndDocumentationAreNotBuilt) {
  const Draft draft = of_cmake("option(SOLVER_TEST \"\" ON)\noption(SOLVER_BUILD_DOCS \"\" OFF)\n"
                               "option(SOLVER_UNIT_TESTS \"\" ON)\noption(SOLVER_TEST_MODE \"\" ON)\n");
  EXPECT_THAT(draft.application.build.arguments, ElementsAre("-DSOLVER_TEST=OFF", "-DSOLVER_UNIT_TESTS=OFF"));
  EXPECT_THAT(text_of(draft),
              HasSubstr("SOLVER_TEST (CMakeLists.txt:3),\n  // SOLVER_UNIT_TESTS (CMakeLists.txt:5).\n"));
}

TEST_F(DraftTest, MesonOptimizes) {
  write("meson.build", "project('a', 'c', version: '1.0')\n");
  write("meson_options.txt", "option('tests', type: 'feature', value: 'enabled')\n"
                             "option('docs', type: 'boolean', value: true)\n"
                             "option('threads', type: 'boolean', value: false)\n");
  const Findings findings = read();
  const Draft found = draft(findings, classify(findings), "x86_64");
  EXPECT_THAT(found.application.build.arguments,
              ElementsAre("-Dbuildtype=release", "-Dtests=disabled", "-Ddocs=false"));
}

TEST_F(DraftTest, AutoconfsOwnFlagsAreReplaced) {
  const auto environment = [&](const std::string& script) {
    write("configure.ac", "AC_INIT([a], [1.0])\nAC_PROG_CC\nAC_PROG_F77\n" + script);
    const Findings findings = read();
    return draft(findings, classify(findings), "x86_64").application.build.environment;
  };
  const std::map<std::string, std::string> fast = {{"CFLAGS", "-O3"}, {"FCFLAGS", "-O3"}, {"FFLAGS", "-O3"}};
  EXPECT_EQ(environment("dnl CFLAGS is -O2\nAC_CHECK_LIB([m-Other], [f])\n"), fast);
  EXPECT_THAT(environment("CFLAGS=\"-O1 $CFLAGS\"\n"), IsEmpty());
  EXPECT_THAT(environment("if test \"$ac_test_CFLAGS\" != set; then CFLAGS=; fi\n"), IsEmpty());
  write("src/Makefile.am", "AM_CFLAGS = -Wall -Os\n");
  EXPECT_THAT(environment(""), IsEmpty());
}

TEST_F(DraftTest, SwitchesOfExtensionsFollowTheLevel) {
  const Draft draft = of_cmake("option(ENABLE_SSE42 \"\" ON)\noption(ENABLE_AVX2 \"\" OFF)\n"
                               "option(ENABLE_AVX512 \"\" ON)\noption(ENABLE_NEON \"\" ON)\n");
  EXPECT_THAT(built(draft), ElementsAre("isa=x86-64", "isa=x86-64-v2", "isa=x86-64-v3", "isa=x86-64-v4"));
  EXPECT_THAT(arguments(draft, "x86-64"),
              ElementsAre("-DENABLE_SSE42=OFF", "-DENABLE_AVX2=OFF", "-DENABLE_AVX512=OFF"));
  EXPECT_THAT(arguments(draft, "x86-64-v2"),
              ElementsAre("-DENABLE_SSE42=ON", "-DENABLE_AVX2=OFF", "-DENABLE_AVX512=OFF"));
  EXPECT_THAT(arguments(draft, "x86-64-v4"),
              ElementsAre("-DENABLE_SSE42=ON", "-DENABLE_AVX2=ON", "-DENABLE_AVX512=ON"));
  const std::string text = text_of(draft);
  EXPECT_THAT(text, HasSubstr("// On at the ISA levels that have avx2, fma: x86-64-v3, x86-64-v4.\n"));
  EXPECT_THAT(text,
              HasSubstr("// Left out: ENABLE_NEON (CMakeLists.txt:6): x86_64 has no such instructions\n"));
  EXPECT_THAT(values(of_cmake("option(ENABLE_NEON \"\" ON)\n", "aarch64"), "neon"), ElementsAre("off", "on"));
}

TEST_F(DraftTest, OfExtensionsThatEveryCpuHasOnlyTheStrongestIsSet) {
  const Draft draft =
      of_cmake("option(ENABLE_SSE \"\" OFF)\noption(ENABLE_SSE2 \"\" OFF)\noption(ENABLE_AVX \"\" OFF)\n");
  EXPECT_THAT(arguments(draft, "x86-64"), ElementsAre("-DENABLE_SSE2=ON", "-DENABLE_AVX=OFF"));
  EXPECT_THAT(text_of(draft),
              HasSubstr("// Left out: ENABLE_SSE (CMakeLists.txt:3): every x86_64 has more, and "
                        "ENABLE_SSE2 is for that\n"));
}

TEST_F(DraftTest, ADefaultThatNeedsAGpuIsNotTaken) {
  const Draft draft = of_cmake("option(SOLVER_CUDA \"\" ON)\n");
  ASSERT_TRUE(point(draft, "cuda"));
  EXPECT_EQ(point(draft, "cuda")->default_, "off");
  EXPECT_THAT(text_of(draft),
              HasSubstr("// The project's default is on, which not every machine can use.\n"));
}

TEST_F(DraftTest, ASwitchThatConfigureDecidesFollowsTheLevel) {
  write("configure.ac",
        "AC_INIT([s],[1])\nAC_ARG_ENABLE([avx2], [AS_HELP_STRING([--enable-avx2],[AVX2])])\n");
  const Findings findings = read();
  const Draft found = draft(findings, classify(findings), "x86_64");
  EXPECT_THAT(arguments(found, "x86-64-v2"), ElementsAre("--disable-avx2"));
  EXPECT_THAT(arguments(found, "x86-64-v3"), ElementsAre("--enable-avx2"));
}

TEST_F(DraftTest, AChoiceWithAValueForEveryLevelTakesThePlaceOfIsa) {
  const Draft draft = of_cmake(R"(
option(SOLVER_OPENMP "" ON)
set(SIMD AUTO CACHE STRING "")
set_property(CACHE SIMD PROPERTY STRINGS AUTO None SSE2 SSE4.1 AVX_256 AVX2_256 AVX_512 ARM_NEON_ASIMD)
)");
  EXPECT_TRUE(draft.application.isa);
  EXPECT_THAT(draft.application.configurations,
              ElementsAre(std::map<std::string, std::string>{{"simd", "SSE2"}},
                          std::map<std::string, std::string>{{"simd", "SSE4.1"}},
                          std::map<std::string, std::string>{{"simd", "AVX_256"}},
                          std::map<std::string, std::string>{{"simd", "AVX2_256"}},
                          std::map<std::string, std::string>{{"simd", "AVX_512"}}));
  const std::string text = text_of(draft);
  EXPECT_THAT(text, HasSubstr("Left out: ARM_NEON_ASIMD"));
  EXPECT_THAT(text, HasSubstr("Left out: AUTO (CMakeLists.txt:5): the build machine would decide"));
  EXPECT_EQ(point(draft, "simd")->default_, "SSE2");
  EXPECT_THAT(text, HasSubstr("\"isa\": [],\n"));
  EXPECT_THAT(text, HasSubstr("// No ISA levels: simd has a value for each of them"));
}

TEST_F(DraftTest, BesideASwitchACompleteChoiceFollowsTheLevel) {
  const Draft draft = of_cmake(R"(
option(ENABLE_FMA4 "" OFF)
set(SIMD AUTO CACHE STRING "")
set_property(CACHE SIMD PROPERTY STRINGS AUTO None SSE2 SSE4.1 AVX2_256 AVX_512)
)");
  EXPECT_FALSE(draft.application.isa);
  EXPECT_EQ(built(draft).size(), 4u);
  EXPECT_THAT(arguments(draft, "x86-64"), ElementsAre("-DENABLE_FMA4=OFF", "-DSIMD=SSE2"));
  EXPECT_THAT(arguments(draft, "x86-64-v4"), ElementsAre("-DENABLE_FMA4=OFF", "-DSIMD=AVX_512"));
  EXPECT_THAT(text_of(draft), HasSubstr("// Off: no ISA level has fma4.\n"));
}

TEST_F(DraftTest, AnotherChoiceFollowsTheLevel) {
  const Draft draft = of_cmake(R"(
set(SIMD auto CACHE STRING "")
set_property(CACHE SIMD PROPERTY STRINGS auto none AVX2 AVX_512)
)");
  EXPECT_FALSE(draft.application.isa);
  EXPECT_THAT(values(draft, "simd"), ElementsAre("none", "AVX2", "AVX_512"));
  EXPECT_THAT(arguments(draft, "x86-64-v2"), ElementsAre("-DSIMD=none"));
  EXPECT_THAT(arguments(draft, "x86-64-v3"), ElementsAre("-DSIMD=AVX2"));
  EXPECT_THAT(text_of(draft),
              HasSubstr("// Left out: auto (CMakeLists.txt:4): the build machine would decide\n"));
}

TEST_F(DraftTest, LeavesOutValuesAndPoints) {
  Draft draft = of_cmake("option(SOLVER_MPI \"\" ON)\noption(SOLVER_OPENMP \"\" ON)\n");
  draft.application.configurations = {{}, {{"mpi", "on"}}, {{"openmp", "off"}}};
  leave_out(draft, {"mpi", "on", "it does not compile:\nmpi.h: No such file", {}});
  EXPECT_THAT(values(draft, "mpi"), ElementsAre("off"));
  EXPECT_EQ(point(draft, "mpi")->default_, "");
  EXPECT_EQ(draft.application.configurations, (Configurations{{}, {{"openmp", "off"}}}));
  leave_out(draft, {"openmp", "", "it is not wanted", {}});
  EXPECT_FALSE(point(draft, "openmp"));
  EXPECT_EQ(draft.application.configurations, Configurations{{}});
  Draft simd = of_cmake("option(ENABLE_AVX2 \"\" ON)\n");
  leave_out(simd, {"avx2", "off", "it does not compile", {}});
  EXPECT_THAT(values(simd, "avx2"), ElementsAre("default", "on"));
  text_of(simd);
  const std::string text = text_of(draft);
  EXPECT_THAT(text, HasSubstr("    // Left out: on: it does not compile:\n    // mpi.h: No such file\n"));
  EXPECT_THAT(text, HasSubstr("  // Left out: openmp: it is not wanted\n  \"specializations\""));
}

TEST_F(DraftTest, ARemarkIsAlwaysAComment) {
  Draft draft = of_cmake("option(SOLVER_OPENMP \"a\\n}] \\\" // b */ \" ON)\n");
  draft.remarks.push_back({"/build", "one\n\ntwo \r \x1b[31m \xff " + std::string(150, 'x')});
  draft.remarks.push_back({"/specializations/openmp/values/on", "fast"});
  draft.remarks.push_back({"/specializations/nosuch", "lost"});
  draft.application.build.arguments = {"-DA=1"};
  const std::string text = text_of(draft);
  EXPECT_THAT(text, HasSubstr("  // one\n  //\n  // two \\u000d \\u001b[31m \\xff\n  // xxx"));
  EXPECT_THAT(text, HasSubstr("        // fast\n        {\"value\": \"on\""));
  EXPECT_THAT(text, Not(HasSubstr("lost")));
}

} // namespace
} // namespace xaas::discover
