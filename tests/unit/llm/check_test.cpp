// The accepted and the rejected parts of an answer, and their effects.
#include "llm/testing.h"

#include <unistd.h>

namespace xaas::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(ModelTest, TheModelCannotChangeDiscoveredPoints) {
  const discover::Findings findings = read();
  const discover::Discovery before = discover::classify(findings);
  ASSERT_EQ(before.points.size(), 2u); // openmp, simd
  Json openmp = turbo(), simd = turbo();
  openmp["name"] = "openmp";
  openmp["category"] = "other";
  openmp["default"] = "off";
  openmp["evidence"] = Json::array({place("CMakeLists.txt", 3)});
  openmp["values"] = Json::array({value("off", {"-DWAVES_OPENMP=OFF"}), value("yes", {"-DWAVES_OPENMP=1"})});
  simd["name"] = "vectors";
  simd["evidence"] = Json::array({place("CMakeLists.txt", 8)});
  simd["values"] = Json::array({value("AVX2", {"-DWAVES_SIMD=none"}), value("SSE4", {"-DWAVES_SIMD=SSE4"}),
                                value("wide", {"-DWAVES_SIMD=AVX_512"})});
  const auto result = ask_about({openmp, simd});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->discovery.points.size(), 2u);
  EXPECT_EQ(spec::to_json(result->discovery.points[0].point), spec::to_json(before.points[0].point));
  // One value is new. It comes first, so that no machine prefers it to the discovered ones.
  const discover::DiscoveredPoint& after = result->discovery.points[1];
  EXPECT_THAT(values(after), ElementsAre("SSE4", "none", "AVX2", "AVX_512"));
  Json rest = spec::to_json(after.point);
  rest["values"].erase(0);
  EXPECT_EQ(rest, spec::to_json(before.points[1].point));
  EXPECT_EQ(after.evidence, before.points[1].evidence);
  ASSERT_EQ(result->accepted.size(), 1u);
  EXPECT_EQ(result->accepted[0].point, "simd");
  EXPECT_FALSE(result->accepted[0].is_new);
  EXPECT_THAT(result->accepted[0].values, ElementsAre("SSE4"));
  ASSERT_EQ(result->rejected.size(), 1u);
  EXPECT_THAT(result->rejected[0].reason, HasSubstr("already has these values"));
}

TEST_F(ModelTest, NeedsComeFromTheKnowledge) {
  Json solver = turbo();
  solver["name"] = "solver";
  solver["evidence"] = Json::array({place("CMakeLists.txt", 7)});
  solver["values"] =
      Json::array({value("AVX2", {"-DWAVES_SOLVER=fast"}), value("exact", {"-DWAVES_SOLVER=exact"}),
                   value("VSX", {"-DWAVES_SOLVER=2"})});
  solver["default"] = "exact";
  const auto result = ask_about({solver});
  ASSERT_TRUE(result) << result.error().message;
  const discover::DiscoveredPoint* const added = point(result->discovery, "solver");
  ASSERT_NE(added, nullptr);
  EXPECT_THAT(values(*added), ElementsAre("exact", "AVX2")); // the value without needs is the weakest
  EXPECT_THAT(added->point.values[1].requires_.cpu, Not(IsEmpty()));
  EXPECT_EQ(added->point.default_, "AVX2"); // -DWAVES_SOLVER=fast is the default of the build
  ASSERT_EQ(result->rejected.size(), 2u);
  EXPECT_EQ(result->rejected[0].value, "VSX");
  EXPECT_THAT(result->rejected[0].reason, HasSubstr("an unsupported architecture"));
  EXPECT_THAT(result->rejected[1].reason, HasSubstr("that of the build is AVX2"));
}

TEST_F(ModelTest, AnOptionThatIsOnlyInTheEvidenceIsAccepted) {
  Json hidden = turbo();
  hidden["evidence"] = Json::array({place("CMakeLists.txt", 9)});
  hidden["values"] = Json::array({value("off", {}), value("on", {"-DWAVES_HIDDEN:BOOL=ON"})});
  const auto result = ask_about({hidden});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->rejected, IsEmpty());
  ASSERT_NE(point(result->discovery, "turbo"), nullptr);
  EXPECT_EQ(point(result->discovery, "turbo")->option, "WAVES_HIDDEN");
}

TEST_F(ModelTest, InventedEvidenceIsRejected) {
  write("secret.txt", "WAVES_TURBO\n");
  ASSERT_TRUE(make_directories(tree() / "sub"));
  ASSERT_EQ(symlink("/etc", (tree() / "etc").c_str()), 0);
  ASSERT_EQ(symlink("/etc/passwd", (tree() / "passwd").c_str()), 0);
  const std::vector<std::pair<Json, std::string>> places = {
      {place("../../etc/passwd", 1), "not a path inside the tree"},
      {place("sub/../CMakeLists.txt", 4), "not a path inside the tree"},
      {place("/etc/passwd", 1), "not a path inside the tree"},
      {place((tree() / "CMakeLists.txt").string(), 4), "not a path inside the tree"},
      {place("etc/passwd", 1), "not a path inside the tree"},
      {place("passwd", 1), "not a path inside the tree"},
      {place("", 1), "not a path inside the tree"},
      {place("absent.txt", 1), "not a file of the tree"},
      {place("sub", 1), "not a file of the tree"},
      {place("CMakeLists.txt\n", 4), "not a file of the tree"},
      {place("CMakeLists.txt", 0), "no line 0"},
      {place("CMakeLists.txt", -1), "no line -1"},
      {place("CMakeLists.txt", 4000), "no line 4000"},
      {Json{{"file", "CMakeLists.txt"}, {"line", UINT64_MAX}}, "no line -1"},
      {place("CMakeLists.txt", 1), "does not name the option"},
      {place("CMakeLists.txt", 3), "does not name the option"}}; // only has WAVES_, the name of the project
  for (const auto& [json, words] : places) {
    Json damaged = turbo();
    damaged["evidence"] = Json::array({json});
    const std::string reasons = rejection({damaged});
    EXPECT_THAT(reasons, HasSubstr(words)) << json;
    EXPECT_THAT(reasons, HasSubstr("no evidence is left")) << json;
  }
  Json half = turbo();
  half["evidence"].push_back(place("../../etc/passwd", 1));
  const auto result = ask_about({half});
  ASSERT_TRUE(result);
  ASSERT_NE(point(result->discovery, "turbo"), nullptr);
  EXPECT_EQ(point(result->discovery, "turbo")->evidence.size(), 1u);
  EXPECT_EQ(result->rejected.size(), 1u);
}

TEST_F(ModelTest, RejectedArguments) {
  const std::vector<std::pair<std::string, std::string>> arguments = {
      {"-DWAVES_INVENTED=ON", "neither in the findings"},
      {"-DWAVES_TURBO=$ENV{HOME}", "characters that are not allowed"},
      {"-DWAVES_TURBO=$(shell id)", "characters that are not allowed"},
      {"-DWAVES_TURBO=`id`", "characters that are not allowed"},
      {"-DWAVES_TURBO=../x", "characters that are not allowed"},
      {"-DWAVES_TURBO=a\nb", "characters that are not allowed"},
      {"-DWAVES_TURBO=@file", "characters that are not allowed"},
      {"-DWAVES_TURBO=AVX9", "AVX9 is neither in the evidence nor"},
      {"-DWAVES_SIMD=AVX_1024", "AVX_1024 is neither in the evidence"},
      {"-DWAVES_SIMD=ON", "ON is neither in the evidence"},
      {"-DWAVES_SIMD=256", "256 is neither in the evidence"},
      {"-DWAVES_SOLVER=quick", "quick is neither in the evidence"},
      {"-DWAVES_SIMD=AVX2 -fplugin=x", "-fplugin=x is neither in the evidence"},
      {"-DWAVES_PATH=x", "sets the location of something"},
      {"-DCMAKE_C_COMPILER=gcc", "cannot be set by a specialization point"},
      {"-DCC=gcc", "cannot be set by a specialization point"},
      {"-DWAVES_TURBO", "cmake accepts no argument of this form"},
      {"WAVES_TURBO=ON", "cmake accepts no argument of this form"},
      {"-P", "cmake accepts no argument of this form"},
      {"-C", "cmake accepts no argument of this form"},
      {"--preset=x", "cmake accepts no argument of this form"},
      {"-DWAVES TURBO=ON", "cmake accepts no argument of this form"},
      {"", "cmake accepts no argument of this form"},
      {"-DWAVES_TURBO=" + std::string(300, 'x'), "cmake accepts no argument of this form"}};
  for (const auto& [argument, words] : arguments) {
    Json damaged = turbo();
    // The evidence contains every option of these.
    damaged["evidence"] = Json::array({place("CMakeLists.txt", 4), place("CMakeLists.txt", 6),
                                       place("CMakeLists.txt", 10), place("CMakeLists.txt", 2)});
    damaged["values"][1]["arguments"] = Json::array({argument});
    EXPECT_THAT(rejection({damaged}), HasSubstr(words)) << argument;
  }
}

TEST_F(ModelTest, CompilerFlagsMustBeInTheEvidence) {
  write("CMakeLists.txt", "project(waves)\nset(WAVES_FLAGS \"\" CACHE STRING \"such as -mfma\")\n"
                          "option(WAVES_OPENMP \"\" ON)\nset(WAVES_SIMD none CACHE STRING \"\")\n"
                          "set_property(CACHE WAVES_SIMD PROPERTY STRINGS none AVX2)\n");
  Json flags = turbo();
  flags["evidence"] = Json::array({place("CMakeLists.txt", 2)});
  flags["values"] = Json::array({value("plain", {}), value("fma", {"-DWAVES_FLAGS=-mfma"}),
                                 value("fast", {"-DWAVES_FLAGS=-ffast-math"})});
  const auto result = ask_about({flags});
  ASSERT_TRUE(result);
  ASSERT_NE(point(result->discovery, "turbo"), nullptr);
  EXPECT_THAT(values(*point(result->discovery, "turbo")), ElementsAre("plain", "fma"));
  ASSERT_GE(result->rejected.size(), 1u);
  EXPECT_THAT(result->rejected[0].reason, HasSubstr("-ffast-math is neither in the evidence"));
}

TEST_F(ModelTest, RejectedPoints) {
  const auto damage = [](const std::function<void(Json&)>& change) {
    Json json = turbo();
    change(json);
    return json;
  };
  const std::vector<std::pair<Json, std::string>> points = {
      {damage([](Json& p) { p["name"] = "isa"; }), "its name"},
      {damage([](Json& p) { p["name"] = ""; }), "its name"},
      {damage([](Json& p) { p["name"] = "a b"; }), "its name"},
      {damage([](Json& p) { p["name"] = "a\x1b[31m"; }), "its name"},
      {damage([](Json& p) { p["name"] = std::string(65, 'a'); }), "its name"},
      {damage([](Json& p) { p["reason"] = "a\nb"; }), "its reason"},
      {damage([](Json& p) {
         p["reason"] = "a\xe2\x80\xae"
                       "b";
       }),
       "its reason"},
      {damage([](Json& p) { p["reason"] = std::string(1001, 'a'); }), "its reason"},
      {damage([](Json& p) { p["values"] = Json::array(); }), "no value is left"},
      {damage([](Json& p) { p["values"].erase(0); }), "at least two values"},
      {damage([](Json& p) { p["values"][1] = p["values"][0]; }), "is listed twice"},
      {damage([](Json& p) { p["values"][1]["value"] = "a b"; }), "its name is not valid for a value"},
      {damage([](Json& p) {
         p["values"][0]["arguments"] = Json::array();
         p["values"][1]["arguments"] = Json::array();
       }),
       "no evidence is left"},
      {damage([](Json& p) {
         for (int i = 0; i < 40; ++i)
           p["values"].push_back(value("v" + std::to_string(i), {}));
       }),
       "too many values"},
      {damage([](Json& p) {
         for (int i = 0; i < 20; ++i)
           p["evidence"].push_back(place("CMakeLists.txt", 4));
       }),
       "too much evidence"},
      {damage([](Json& p) { p["evidence"] = Json::array(); }), "no evidence is left"},
      {damage([](Json& p) { p["name"] = "openmp"; }), "its name is that of the point for WAVES_OPENMP"},
      {damage([](Json& p) { p["values"][1]["arguments"].push_back("-DWAVES_OPENMP=ON"); }),
       "it sets an option of the point openmp"}};
  for (const auto& [json, words] : points)
    EXPECT_THAT(rejection({json}), HasSubstr(words)) << json;
}

TEST_F(ModelTest, WrongTypesAndCategoriesAreErrors) {
  for (const char* key : {"name", "category", "reason", "evidence", "values", "default"}) {
    Json missing = turbo(), wrong = turbo();
    missing.erase(key);
    wrong[key] = 7;
    EXPECT_THAT(rejection({missing}), HasSubstr("error: ")) << key;
    EXPECT_THAT(rejection({wrong}), HasSubstr("error: ")) << key;
  }
  Json category = turbo(), line = turbo();
  category["category"] = "color";
  line["evidence"][0]["line"] = "4";
  EXPECT_THAT(rejection({category}), HasSubstr("error: "));
  EXPECT_THAT(rejection({line}), HasSubstr("error: "));
}

TEST_F(ModelTest, ManyPointsAndTheSamePointTwice) {
  const auto twice = ask_about({turbo(), turbo()});
  ASSERT_TRUE(twice);
  EXPECT_EQ(twice->accepted.size(), 1u);
  ASSERT_EQ(twice->rejected.size(), 1u);
  EXPECT_THAT(twice->rejected[0].reason, HasSubstr("it sets an option of the point turbo"));
  const auto many = ask_about(std::vector<Json>(200, turbo()));
  ASSERT_TRUE(many);
  EXPECT_EQ(many->accepted.size(), 1u);
  EXPECT_EQ(many->rejected.front().reason, "136 points above the limit of 64");
}

TEST_F(ModelTest, ADefaultThatIsNotAValue) {
  Json damaged = turbo();
  damaged["evidence"] = Json::array({place("CMakeLists.txt", 9)});
  damaged["values"] = Json::array({value("off", {}), value("on", {"-DWAVES_HIDDEN=ON"})});
  damaged["default"] = "turbo";
  const auto result = ask_about({damaged});
  ASSERT_TRUE(result);
  ASSERT_NE(point(result->discovery, "turbo"), nullptr);
  EXPECT_EQ(point(result->discovery, "turbo")->point.default_, "off"); // the first

  EXPECT_THAT(result->rejected.at(0).reason, HasSubstr("as default"));
}

TEST_F(ModelTest, OtherBuildSystems) {
  fs::remove(tree() / "CMakeLists.txt");
  write("configure.ac",
        "AC_INIT([waves], [1])\nAC_ARG_ENABLE([turbo], AS_HELP_STRING([--disable-turbo], [x]))\n"
        "AC_ARG_WITH([lut], AS_HELP_STRING([--with-lut=SIZE], [x]))\n");
  Json configure = turbo(), with = turbo();
  configure["evidence"] = Json::array({place("configure.ac", 2)});
  configure["values"] = Json::array({value("off", {"--disable-turbo"}), value("on", {"--enable-turbo"})});
  with["name"] = "lut";
  with["evidence"] = Json::array({place("configure.ac", 3)});
  with["values"] = Json::array({value("small", {"--with-lut=8"}), value("large", {"--with-lut=16"}),
                                value("evil", {"--prefix=x"}), value("cc", {"CC=cc"})});
  auto result = ask_about({configure, with});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->accepted.size(), 2u) << to_json(*result).dump(1);
  EXPECT_EQ(point(result->discovery, "turbo")->option, "enable-turbo");
  EXPECT_THAT(values(*point(result->discovery, "lut")), ElementsAre("small", "large"));

  fs::remove(tree() / "configure.ac");
  write("Makefile", "ifeq ($(TURBO),1)\nCFLAGS += -DTURBO\nendif\nall:\n\t$(CC) $(CFLAGS) waves.c\n");
  Json make = turbo();
  make["evidence"] = Json::array({place("Makefile", 1)});
  make["values"] = Json::array({value("off", {"TURBO="}), value("on", {"TURBO=1"}), value("x", {"SHELL=x"})});
  result = ask_about({make});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->accepted.size(), 1u) << to_json(*result).dump(1);
  EXPECT_THAT(values(*point(result->discovery, "turbo")), ElementsAre("off", "on"));
}

TEST_F(ModelTest, AdditionsAreMarked) {
  Json simd = turbo(), evil = turbo();
  simd["name"] = "simd";
  simd["evidence"] = Json::array({place("CMakeLists.txt", 8)});
  simd["values"] = Json::array({value("SSE4", {"-DWAVES_SIMD=SSE4"})});
  evil["reason"] = "\"}], */ // \\ <b>";
  const auto result = ask_about({simd, evil});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->accepted.size(), 2u);
  Json points = Json::array();
  for (const discover::DiscoveredPoint& found : result->discovery.points)
    points.push_back(spec::to_json(found.point));
  const Json plain = points;
  mark(points, *result);
  EXPECT_EQ(points[0], plain[0]);
  EXPECT_FALSE(points[1].contains("source"));
  EXPECT_EQ(points[1]["values"][0]["source"], "language-model");
  EXPECT_EQ(points[1]["values"][0]["model"], "small");
  EXPECT_EQ(points[1]["values"][1], plain[1]["values"][0 + 1]);
  EXPECT_EQ(points[2]["source"], "language-model");

  // The spec has comments and parses; without them, it is unchanged.
  discover::Draft draft = discover::draft(read(), result->discovery, "x86_64");
  for (const discover::Remark& remark : remarks(*result))
    draft.remarks.push_back(remark);
  const std::string text = discover::to_text(draft);
  EXPECT_THAT(text, HasSubstr("// named by the language model small: Vector kernels. (CMakeLists.txt:8)\n"));
  EXPECT_THAT(text, HasSubstr("// named by the language model small: \"}], */ // "));
  const auto parsed = spec::parse_application(text, "spec");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(spec::to_json(*parsed), spec::to_json(draft.application));
}

TEST_F(ModelTest, ATreeWithoutOtherFindingsMakesASpec) {
  write("CMakeLists.txt", "project(waves)\nif(WAVES_HIDDEN)\nendif()\n");
  Json hidden = turbo();
  hidden["evidence"] = Json::array({place("CMakeLists.txt", 2)});
  hidden["values"] = Json::array({value("off", {}), value("on", {"-DWAVES_HIDDEN=ON"})});
  hidden["default"] = "";
  const auto result = ask_about({hidden});
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_EQ(result->discovery.points.size(), 1u);
  const auto parsed = spec::parse_application(
      discover::to_text(discover::draft(read(), result->discovery, "x86_64")), "spec");
  EXPECT_TRUE(parsed) << parsed.error().message;
}

TEST_F(ModelTest, TheDocumentOfTheEvaluationHasTheAdditions) {
  const auto result = ask_about({turbo()});
  ASSERT_TRUE(result);
  const Json paper = discover::paper_document(read(), result->discovery);
  EXPECT_EQ(paper["simd_vectorization"]["turbo"]["build_flag"], "-DWAVES_TURBO");
  EXPECT_EQ(paper["simd_vectorization"]["AVX2"]["build_flag"], "-DWAVES_SIMD=AVX2");
  EXPECT_EQ(paper["gpu_build"]["value"], false);
  Json gpu = turbo();
  gpu["category"] = "gpu";
  const auto with_gpu = ask_about({gpu});
  ASSERT_TRUE(with_gpu);
  EXPECT_EQ(discover::paper_document(read(), with_gpu->discovery)["gpu_build"]["value"], true);
}

} // namespace
} // namespace xaas::llm
