#include <xaas/spec/application.h>

#include <xaas/target/cpu.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Application parsed(const std::string& members) {
  auto result = parse_application(R"({"name": "a", "build": {"system": "cmake", "arguments": ["-DALL"]},
    "specializations": [
      {"name": "threads", "default": "on", "values": [{"value": "off", "arguments": ["-T0"]},
                                                       {"value": "on", "arguments": ["-T1"]}]},
      {"name": "simd", "values": [{"value": "none", "arguments": ["-S0", "-Sx"]}, {"value": "avx2"},
                                  {"value": "tiled", "requires": {"values": {"threads": "on"}}}]}])" +
                                      members + "}",
                                  "x.json");
  EXPECT_TRUE(result) << result.error().message;
  return *std::move(result);
}

const std::string no_isa = R"(, "isa": [])";

std::vector<std::string> ids(const Result<std::vector<Configuration>>& configurations) {
  std::vector<std::string> all;
  if (!configurations)
    return {configurations.error().message};
  for (const Configuration& configuration : *configurations)
    all.push_back(configuration.id());
  return all;
}

std::vector<std::string> values_of(const SpecializationPoint& point) {
  std::vector<std::string> values;
  for (const Value& value : point.values)
    values.push_back(value.value);
  return values;
}

TEST(Expand, EarlierPointsVarySlowestAndRequiredValuesHold) {
  const Application application = parsed(no_isa);
  EXPECT_THAT(ids(expand(application, application.points, {}, 100)),
              ElementsAre("simd=none,threads=off", "simd=avx2,threads=off", "simd=none,threads=on",
                          "simd=avx2,threads=on", "simd=tiled,threads=on"));
}

TEST(Expand, Exclude) {
  const Application application = parsed(no_isa + R"(, "exclude": [{"threads": "off"}, {"simd": "none"}])");
  EXPECT_THAT(ids(expand(application, application.points, {}, 100)),
              ElementsAre("simd=avx2,threads=on", "simd=tiled,threads=on"));
}

TEST(Expand, ConfigurationsOfTheSpecAndOfTheCommandLine) {
  const Application application =
      parsed(no_isa + R"(, "configurations": [{"simd": "avx2"}, {"threads": "off"}, {"simd": "avx2"}])");
  EXPECT_THAT(ids(expand(application, application.points, {}, 100)),
              ElementsAre("simd=none,threads=off", "simd=avx2,threads=on"));
  EXPECT_THAT(ids(expand(application, application.points, {{{"simd", "tiled"}}, {}}, 100)),
              ElementsAre("simd=none,threads=on", "simd=tiled,threads=on"));
}

TEST(Expand, RefusesConfigurationsThatCannotBeBuilt) {
  const Application application = parsed(no_isa);
  const auto refused = [&](std::map<std::string, std::string> chosen) {
    const auto result = expand(application, application.points, {std::move(chosen)}, 100);
    EXPECT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::usage);
    return result.error();
  };
  EXPECT_THAT(refused({{"smd", "avx2"}}).hint, HasSubstr("`simd`"));
  EXPECT_THAT(refused({{"simd", "avx"}}).hint, HasSubstr("`avx2`"));
  EXPECT_THAT(refused({{"simd", "tiled"}, {"threads", "off"}}).message, HasSubstr("requires threads=on"));
  const Application nothing = parsed(no_isa + R"(, "exclude": [{"threads": "off"}, {"threads": "on"}])");
  const auto result = expand(nothing, nothing.points, {}, 100);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  EXPECT_THAT(result.error().message, HasSubstr("the spec excludes threads=on"));
}

TEST(Expand, CombinationsAreCountedBeforeTheyAreGenerated) {
  Application application = parsed(no_isa);
  EXPECT_TRUE(expand(application, application.points, {}, 6));
  const auto refused = expand(application, application.points, {}, 5);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().message, HasSubstr("6 configurations are more than the limit of 5"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--max-configurations"));
  // 6^40 combinations.
  std::vector<SpecializationPoint> points;
  for (int i = 0; i < 40; ++i)
    for (SpecializationPoint point : application.points) {
      point.name += std::to_string(i);
      points.push_back(point);
    }
  EXPECT_THAT(expand(application, points, {}, 1000).error().message, HasSubstr("limit of 1000"));
  EXPECT_FALSE(expand(application, application.points, {{{"simd", "none"}}, {{"simd", "avx2"}}}, 1));
}

TEST(Expand, WithoutPointsThereIsOneConfiguration) {
  const auto application = parse_application(R"({"name": "a", "build": {"system": "make"}, "isa": []})", "x");
  ASSERT_TRUE(application);
  EXPECT_THAT(ids(expand(*application, {}, {}, 1)), ElementsAre("default"));
}

TEST(Isa, LevelsComeLastAndWeakestFirst) {
  const auto points = all_points(parsed(""), "x86_64", {});
  ASSERT_TRUE(points);
  ASSERT_EQ(points->size(), 3u);
  EXPECT_EQ(points->back().name, "isa");
  EXPECT_EQ(points->back().default_, "x86-64");
  EXPECT_THAT(values_of(points->back()), ElementsAre("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"));
  const Application some = parsed(R"(, "isa": ["x86-64-v3", "armv8-a", "x86-64-v2"])");
  EXPECT_THAT(values_of(all_points(some, "x86_64", {})->back()), ElementsAre("x86-64-v2", "x86-64-v3"));
  EXPECT_THAT(values_of(all_points(some, "aarch64", {})->back()), ElementsAre("armv8-a"));
  EXPECT_THAT(values_of(all_points(some, "x86_64", {"x86-64-v4", "x86-64", "x86-64"})->back()),
              ElementsAre("x86-64", "x86-64-v4"));
  EXPECT_EQ(all_points(parsed(no_isa), "x86_64", {})->size(), 2u);
  EXPECT_EQ(all_points(parsed(no_isa), "x86_64", {"x86-64-v3"})->size(), 3u);
}

TEST(Isa, UnknownLevelOnTheCommandLine) {
  const auto refused = all_points(parsed(""), "x86_64", {"x86-64-v5"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().hint, HasSubstr("x86-64-v"));
  EXPECT_FALSE(all_points(parsed(""), "x86_64", {"armv8-a"}));
}

TEST(Isa, ConfigurationsOfOtherLevelsAreLeftOut) {
  const Application application =
      parsed(R"(, "configurations": [{"isa": "x86-64-v3"}, {"isa": "armv8-a"}, {"isa": "x86-64"}])");
  const auto points = all_points(application, "x86_64", {});
  EXPECT_THAT(ids(expand(application, *points, {}, 100)),
              ElementsAre("isa=x86-64,simd=none,threads=on", "isa=x86-64-v3,simd=none,threads=on"));
  EXPECT_THAT(ids(expand(application, *all_points(application, "aarch64", {}), {}, 100)),
              ElementsAre("isa=armv8-a,simd=none,threads=on"));
  EXPECT_FALSE(expand(application, *points, {{{"isa", "armv8-a"}}}, 100));
}

TEST(Points, ValuesOfOtherArchitecturesAreLeftOut) {
  const auto application =
      parse_application(R"({"name": "a", "build": {"system": "cmake"}, "isa": [], "specializations": [
    {"name": "simd", "default": "avx2", "values": [{"value": "none"}, {"value": "avx2", "requires": {"cpu": ["avx2", "fma"]}},
      {"value": "neon", "requires": {"cpu": ["neon"]}}, {"value": "sve", "requires": {"cpu": ["sve"]}}],
     "prefer": [{"cpu": ["neoverse-v2"], "values": ["neon", "sve"]}, {"cpu": ["znver1"], "values": ["none", "sve"]}]},
    {"name": "tile", "values": [{"value": "amx", "requires": {"cpu": ["amx-tile"]}}]}],
    "configurations": [{"simd": "neon"}, {"simd": "avx2"}, {"simd": "none"}]})",
                        "x.json");
  ASSERT_TRUE(application) << application.error().message;
  const auto arm = all_points(*application, "aarch64", {}), x86 = all_points(*application, "x86_64", {});
  ASSERT_TRUE(arm && x86);
  ASSERT_EQ(arm->size(), 1u);
  EXPECT_THAT(values_of((*arm)[0]), ElementsAre("none", "neon", "sve"));
  EXPECT_EQ((*arm)[0].default_, "none");
  EXPECT_EQ((*arm)[0].prefer.size(), 2u);
  EXPECT_THAT(ids(expand(*application, *arm, {}, 100)), ElementsAre("simd=none", "simd=neon"));
  ASSERT_EQ(x86->size(), 2u);
  EXPECT_THAT(values_of((*x86)[0]), ElementsAre("none", "avx2"));
  ASSERT_EQ((*x86)[0].prefer.size(), 1u);
  EXPECT_THAT((*x86)[0].prefer[0].values, ElementsAre("none"));
  EXPECT_THAT(ids(expand(*application, *x86, {}, 100)),
              ElementsAre("simd=none,tile=amx", "simd=avx2,tile=amx"));
  EXPECT_FALSE(expand(*application, *x86, {{{"simd", "neon"}}}, 100)); // listed explicitly
}

TEST(Arguments, OfTheSpecThenOfEachPoint) {
  const Application application = parsed(no_isa);
  const Configuration configuration({{"threads", "on"}, {"simd", "none"}});
  const auto cpu = cpu_of(configuration, "x86_64");
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->name, "x86-64");
  EXPECT_THAT(arguments_of(application, configuration, *cpu), ElementsAre("-DALL", "-T1", "-S0", "-Sx"));
}

Application with_follower(const std::string& members) {
  auto result = parse_application(R"({"name": "a", "build": {"system": "cmake"}, "specializations": [
      {"name": "avx2", "follows": "isa", "values": [{"value": "off", "arguments": ["-A0"]},
        {"value": "on", "arguments": ["-A1"], "requires": {"cpu": ["avx2", "fma"]}},
        {"value": "wide", "arguments": ["-A2"], "requires": {"cpu": "x86-64-v4"}},
        {"value": "sve", "arguments": ["-A3"], "requires": {"cpu": ["sve"]}}]},
      {"name": "threads", "default": "on", "values": [{"value": "off"}, {"value": "on", "arguments": ["-T1"]}]}])" +
                                      members + "}",
                                  "x.json");
  EXPECT_TRUE(result) << result.error().message;
  return *std::move(result);
}

TEST(Follows, EachLevelHasTheLastValueThatItCanRun) {
  const Application application = with_follower("");
  const auto points = all_points(application, "x86_64", {});
  ASSERT_TRUE(points);
  EXPECT_EQ(points->size(), 2u); // threads and isa
  const auto all = expand(application, *points, {}, 100);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 8u);
  const auto arguments = [&](const std::string& arch, const std::string& level) {
    const Configuration configuration({{"isa", level}, {"threads", "on"}});
    return arguments_of(application, configuration, *cpu_of(configuration, arch));
  };
  EXPECT_THAT(arguments("x86_64", "x86-64"), ElementsAre("-A0", "-T1"));
  EXPECT_THAT(arguments("x86_64", "x86-64-v2"), ElementsAre("-A0", "-T1"));
  EXPECT_THAT(arguments("x86_64", "x86-64-v3"), ElementsAre("-A1", "-T1"));
  EXPECT_THAT(arguments("x86_64", "x86-64-v4"), ElementsAre("-A2", "-T1"));
  EXPECT_THAT(arguments("aarch64", "armv8-a"), ElementsAre("-A0", "-T1"));
  EXPECT_THAT(arguments("aarch64", "armv8.2-a+sve"), ElementsAre("-A3", "-T1"));
  // Without a level the weakest counts, and for a build on the target, its CPU.
  EXPECT_THAT(arguments_of(application, Configuration(), *cpu_of({}, "x86_64")), ElementsAre("-A0"));
  EXPECT_THAT(arguments_of(application, Configuration(), *target::cpu_by_name("x86_64", "znver4")),
              ElementsAre("-A2"));
  EXPECT_EQ(to_json(*parse_application(to_json(application).dump(), "again")), to_json(application));
}

TEST(Follows, IsNotChosen) {
  const auto refused = [](const std::string& members) {
    const auto result =
        parse_application(R"({"name": "a", "build": {"system": "cmake"}, )" + members + "}", "x");
    EXPECT_FALSE(result);
    return result ? "" : result.error().message;
  };
  const auto point = [](const std::string& members) {
    return R"("specializations": [{"name": "p", "follows": "isa", )" + members + "}]";
  };
  const std::string values = R"("values": [{"value": "off"}, {"value": "on", "requires": {"cpu": ["avx"]}}])";
  EXPECT_THAT(refused(point(R"("default": "off", )" + values)), HasSubstr("/default: point p follows `isa`"));
  EXPECT_THAT(refused(point(R"("prefer": [{"cpu": ["znver4"], "values": ["on"]}], )" + values)),
              HasSubstr("/prefer: point p follows `isa`"));
  EXPECT_THAT(refused(point(R"("values": [{"value": "on", "requires": {"cpu": ["avx"]}}])")),
              HasSubstr("has no value for levels without avx"));
  EXPECT_THAT(
      refused(point(R"("values": [{"value": "a"}, {"value": "b", "requires": {"mpi": "mpich-12"}}])")),
      HasSubstr("can only require a CPU"));
  EXPECT_THAT(refused(point(values) + R"(, "configurations": [{"p": "on"}])"), HasSubstr("is not chosen"));
  EXPECT_THAT(refused(R"("specializations": [{"name": "p", "follows": "cpu", "values": [{"value": "a"}]}])"),
              HasSubstr("\"cpu\" is not one of isa"));
  const Application application = with_follower("");
  const auto points = all_points(application, "x86_64", {});
  EXPECT_THAT(expand(application, *points, {{{"avx2", "on"}}}, 100).error().message,
              HasSubstr("avx2=on: point avx2 follows `isa`"));
}

TEST(Isa, AConfigurationThatDoesNotNameItMeansAllLevels) {
  const Application application = parsed(R"(, "isa": ["x86-64", "x86-64-v3"],
                "configurations": [{"simd": "avx2"}, {"simd": "tiled", "isa": "x86-64-v3"}])");
  const auto points = all_points(application, "x86_64", {});
  EXPECT_THAT(ids(expand(application, *points, {}, 100)),
              ElementsAre("isa=x86-64,simd=avx2,threads=on", "isa=x86-64-v3,simd=avx2,threads=on",
                          "isa=x86-64-v3,simd=tiled,threads=on"));
  EXPECT_THAT(ids(expand(application, *points, {{{"threads", "off"}}}, 100)),
              ElementsAre("isa=x86-64,simd=none,threads=off", "isa=x86-64-v3,simd=none,threads=off"));
  EXPECT_THAT(ids(expand(application, *points, {{}}, 100)),
              ElementsAre("isa=x86-64,simd=none,threads=on", "isa=x86-64-v3,simd=none,threads=on"));
  EXPECT_THAT(expand(application, *points, {{{"simd", "avx2"}}}, 1).error().message,
              HasSubstr("2 configurations are more than the limit of 1"));
}

TEST(Isa, ALevelThatIsExcludedDoesNotExcludeTheOthers) {
  const Application application = parsed(R"(, "isa": ["x86-64", "x86-64-v3"],
    "exclude": [{"isa": "x86-64", "threads": "off"}, {"simd": "avx2"}])");
  const auto points = all_points(application, "x86_64", {});
  EXPECT_THAT(ids(expand(application, *points, {{{"threads", "off"}}}, 100)),
              ElementsAre("isa=x86-64-v3,simd=none,threads=off"));
  EXPECT_THAT(expand(application, *points, {{{"simd", "avx2"}}}, 100).error().message,
              HasSubstr("cannot be built: the spec excludes simd=avx2"));
}

TEST(Expand, TheErrorSaysWhatExcludedWhat) {
  const auto application =
      parse_application(R"({"name": "a", "build": {"system": "cmake"}, "specializations": [
      {"name": "simd", "values": [{"value": "none"}, {"value": "neon", "requires": {"cpu": ["neon"]}}]}],
      "configurations": [{"simd": "neon"}, {"isa": "armv8-a"}, {"simd": "none", "isa": "x86-64"}],
      "exclude": [{"isa": "x86-64", "simd": "none"}]})",
                        "x");
  ASSERT_TRUE(application);
  const auto points = all_points(*application, "x86_64", {"x86-64"});
  EXPECT_EQ(expand(*application, *points, {}, 100).error().message,
            "a: no configuration is left to build: simd=neon requires neon, which another architecture has; "
            "isa=armv8-a is not a level of this build (x86-64); the spec excludes isa=x86-64,simd=none");
}

TEST(Assignments, ParseAndRefuse) {
  const auto good = parse_assignments("simd=AVX_512,isa=armv8.2-a+sve");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->at("isa"), "armv8.2-a+sve");
  for (const char* bad : {"", "a", "a=", "=b", "a=b,", ",a=b", "a=b=c", "a=b,a=b"}) {
    const auto refused = parse_assignments(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().kind, ErrorKind::usage) << bad;
  }
}

TEST(Configuration, IdIsSortedByPoint) {
  EXPECT_EQ(Configuration({{"b", "1"}, {"a", "2"}}).id(), "a=2,b=1");
  EXPECT_EQ(Configuration().id(), "default");
}

} // namespace
} // namespace xaas::spec
