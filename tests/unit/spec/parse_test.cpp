#include <xaas/spec/application.h>

#include <xaas/base/file.h>
#include <xaas/base/json.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::spec {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* solver = R"({
  // A comment.
  "name": "solver", "version": "2.0.3", "license": "BSD-3-Clause",
  "build": {
    "system": "cmake", "directory": "build//cmake/",
    "arguments": ["-DWITH_PLOTS=OFF"],
    "environment": {"LC_ALL": "C"},
    "targets": ["all"],
    "install": [{"from": "src/solver", "to": "bin/solver"}]
  },
  "specializations": [
    {"name": "threads", "category": "threading", "default": "on",
     "values": [{"value": "off", "arguments": ["-DUSE_OPENMP=OFF"]},
                {"value": "on",  "arguments": ["-DUSE_OPENMP=ON"]}]},
    {"name": "simd", "category": "cpu",
     "values": [{"value": "sse4", "arguments": ["-DSIMD=SSE4"], "requires": {"cpu": ["sse4.1"]}},
                {"value": "avx2", "arguments": ["-DSIMD=AVX2"], "requires": {"cpu": ["avx2", "fma"]}},
                {"value": "sve", "requires": {"cpu": ["sve"]}}],
     "prefer": [{"cpu": ["neoverse-v2"], "values": ["sse4", "sve"]}]}
  ],
  "isa": [],
  "exclude": [{"threads": "off", "simd": "avx2"}],
  "configurations": [{"simd": "avx2"}],
  "runtime": ["/usr/lib/x86_64-linux-gnu//gconv/"],
  "image": {"base": "scratch", "prefix": "/opt//solver/", "entrypoint": ["/opt/solver/bin/solver"], "env": {"A": "b"}}
})";

// A spec with these members besides name and build.
Result<Application> with(const std::string& members, const std::string& build = R"("system": "cmake")") {
  return parse_application(
      R"({"name": "a", "build": {)" + build + "}" + (members.empty() ? "" : ", ") + members + "}", "x.json");
}

// A spec with points "a" and "b" (values 1 and 2 each), with the given text in a=1 and b=1.
Result<Application> two_points(const std::string& in_a, const std::string& in_b,
                               const std::string& members = "") {
  return with(R"("specializations": [{"name": "a", "values": [{"value": "1")" + in_a +
              R"(}, {"value": "2"}]}, {"name": "b", "values": [{"value": "1")" + in_b +
              R"(}, {"value": "2"}]}])" + (members.empty() ? "" : ", " + members));
}

void expect_usage(const Result<Application>& result, const std::string& start, const std::string& hint = "") {
  ASSERT_FALSE(result) << start;
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  EXPECT_THAT(result.error().message, StartsWith(start));
  EXPECT_THAT(result.error().hint, HasSubstr(hint));
}

TEST(Parse, ReadsTheShippedSpecs) {
  size_t specs = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(XAAS_SPECS) / "applications")) {
    const auto parsed = read_application(entry.path());
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->name, entry.path().stem());
    ++specs;
  }
  EXPECT_GE(specs, 6u);
}

TEST(Parse, ReadsEveryKey) {
  const auto parsed = parse_application(solver, "xaas.json");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->name, "solver");
  EXPECT_EQ(parsed->license, "BSD-3-Clause");
  EXPECT_EQ(parsed->build.environment.at("LC_ALL"), "C");
  EXPECT_EQ(parsed->build.directory, "build/cmake");
  EXPECT_EQ(parsed->build.install.at(0).to, "bin/solver");
  ASSERT_EQ(parsed->points.size(), 2u);
  EXPECT_EQ(parsed->points[0].default_, "on");
  EXPECT_EQ(parsed->points[1].find("avx2")->requires_.cpu, (std::vector<std::string>{"avx2", "fma"}));
  EXPECT_EQ(parsed->points[1].prefer.at(0).values.at(1), "sve");
  ASSERT_TRUE(parsed->isa);
  EXPECT_TRUE(parsed->isa->empty());
  EXPECT_EQ(parsed->exclude.at(0).at("simd"), "avx2");
  EXPECT_EQ(parsed->runtime.at(0), "/usr/lib/x86_64-linux-gnu/gconv");
  EXPECT_EQ(parsed->image.prefix, "/opt/solver");
}

TEST(Parse, DefaultsNeedNameAndSystemOnly) {
  const auto parsed = with("");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->version, "0");
  EXPECT_FALSE(parsed->isa);
  EXPECT_EQ(parsed->image.prefix, "/usr/local");
  EXPECT_EQ(parsed->image.base, "scratch");
  EXPECT_TRUE(parsed->build.install.empty());
  EXPECT_TRUE(with("", R"("system": "make", "install": "target")"));
}

TEST(Parse, JsonRoundTrip) {
  const auto parsed = parse_application(solver, "xaas.json");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Json json = to_json(*parsed);
  const auto again = parse_application(json.dump(), "again");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(to_json(*again), json);
  EXPECT_EQ(json.begin().key(), "name");
  const auto commands = with("", R"("system": "commands", "build": "make", "install": "make install")");
  ASSERT_TRUE(commands) << commands.error().message;
  EXPECT_EQ(to_json(*parse_application(to_json(*commands).dump(), "again")), to_json(*commands));
  EXPECT_EQ(to_json(*with(""))["build"]["install"], "target");
  const auto both = with("", R"("system": "make", "install": ["target", {"from": "a", "to": "bin/a"}])");
  ASSERT_TRUE(both);
  EXPECT_TRUE(both->build.install_target);
  EXPECT_EQ(to_json(*both)["build"]["install"], Json::parse(R"(["target", {"from": "a", "to": "bin/a"}])"));
  EXPECT_FALSE(
      with("", R"("system": "make", "install": [{"from": "a", "to": "bin/a"}])")->build.install_target);
  EXPECT_TRUE(parse_application(to_json(*with("")).dump(), "again"));
}

TEST(Parse, UnknownKeyHasPointerAndSuggestion) {
  expect_usage(with("", R"("sytem": "cmake")"), "x.json: /build/sytem: unknown key \"sytem\"", "`system`");
  expect_usage(with(R"("specialisations": [])"), "x.json: /specialisations: unknown key",
               "`specializations`");
  expect_usage(two_points(R"(, "require": {})", ""),
               "x.json: /specializations/0/values/0/require: unknown key", "`requires`");
  expect_usage(two_points("", R"(, "requires": {"gpu": {"vendour": "amd"}})"),
               "x.json: /specializations/1/values/0/requires/gpu/vendour: unknown key", "`vendor`");
  expect_usage(with(R"("zzzzzzzzzzzz/~": 1)"), "x.json: /zzzzzzzzzzzz~1~0: unknown key", "known keys: name");
}

TEST(Parse, WrongTypeNamesTheValue) {
  expect_usage(with(R"("version": 5)"), "x.json: /version: expected a string, found 5");
  expect_usage(with(R"("isa": ["x86-64", 3])"), "x.json: /isa/1: expected a string, found 3");
  expect_usage(with("", R"("system": "cmake", "install": [{"from": "a", "to": null}])"),
               "x.json: /build/install/0/to: expected a string, found null");
  expect_usage(with("", R"("system": "cmake", "arguments": "-DX")"),
               "x.json: /build/arguments: expected an array, found \"-DX\"");
  expect_usage(two_points(R"(, "requires": {"cpu": 1})", ""),
               "x.json: /specializations/0/values/0/requires/cpu: expected a string or an array, found 1");
  expect_usage(parse_application("[]", "x.json"), "x.json: expected an object, found []");
}

TEST(Parse, MissingKeysAndEmptyLists) {
  expect_usage(parse_application("{}", "x.json"), "x.json: /name: missing");
  expect_usage(parse_application(R"({"name": "a"})", "x.json"), "x.json: /build: missing");
  expect_usage(with("", ""), "x.json: /build/system: missing");
  expect_usage(with(R"("specializations": [{"name": "a", "values": []}])"),
               "x.json: /specializations/0/values: an empty array");
  expect_usage(with(R"("exclude": [{}])"), "x.json: /exclude/0: an empty object");
}

TEST(Parse, UnknownWords) {
  expect_usage(with("", R"("system": "cmkae")"),
               "x.json: /build/system: \"cmkae\" is not one of cmake, autotools", "`cmake`");
  expect_usage(with(R"("specializations": [{"name": "a,b=c", "values": [{"value": "1"}]}])"),
               "x.json: /specializations/0/name: \"a,b=c\" does not match");
  expect_usage(with(R"("specializations": [{"name": "a", "values": [{"value": "1,b=2"}]}])"),
               "x.json: /specializations/0/values/0/value: \"1,b=2\" does not match");
  expect_usage(with("", R"("system": "cmake", "environment": {"A B": "c"})"),
               "x.json: /build/environment/A B: \"A B\" does not match");
  expect_usage(with(R"("isa": ["x86-64-v9"])"), "x.json: /isa/0: \"x86-64-v9\" is not an ISA level",
               "`x86-64");
  expect_usage(with(R"("isa": ["x86-64-v2", "x86-64-v2"])"), "x.json: /isa/1: \"x86-64-v2\" is given twice");
}

TEST(Parse, CpuWordsAreFeaturesOrOneLevel) {
  const auto cpu = [](const std::string& value) {
    return two_points(R"(, "requires": {"cpu": )" + value + "}", "");
  };
  for (const char* good : {R"("x86-64-v3")", R"(["x86-64-v3"])", R"("haswell")", R"("avx2")",
                           R"(["avx", "fma4"])", R"(["sve", "sve2"])", "[]"})
    EXPECT_TRUE(cpu(good)) << good;
  const std::string place = "x.json: /specializations/0/values/0/requires/cpu: ";
  expect_usage(cpu(R"(["avx2", "avx512ff"])"), place + "\"avx512ff\" is neither", "`avx512f`");
  expect_usage(cpu(R"("x86-64-v33")"), place + "\"x86-64-v33\" is neither", "did you mean");
  expect_usage(cpu(R"(["avx2", "x86-64-v3"])"), place + "\"x86-64-v3\" is an ISA level or a CPU");
  expect_usage(with(R"("specializations": [{"name": "a", "values": [{"value": "1"}],
                       "prefer": [{"cpu": ["neoverse-x9"], "values": ["1"]}]}])"),
               "x.json: /specializations/0/prefer/0/cpu/0: \"neoverse-x9\" is not a CPU");
}

TEST(Parse, CpusOfAPreference) {
  const auto prefer = [](const std::string& word) {
    return with(R"("specializations": [{"name": "a", "values": [{"value": "1"}],
                    "prefer": [{"cpu": ["haswell", ")" +
                word + R"("], "values": ["1"]}]}])");
  };
  for (const char* good :
       {"znver4", "skx", "grace", "znver*", "*lake*", "neoverse-*", "x86-64-v4", "armv9-a"})
    EXPECT_TRUE(prefer(good)) << good << ": " << prefer(good).error().message;
  const std::string place = "x.json: /specializations/0/prefer/0/cpu/1: ";
  for (const auto& [bad, hint] :
       {std::pair("znver44", "`znver4`"), std::pair("neoverse-v22", "`neoverse-v2`"),
        std::pair("znvr*", "`znver*`"), std::pair("neoverse_n*", "`neoverse-n*`"),
        std::pair("", "supported-cpus"), std::pair("zn*9*q", "any characters"),
        std::pair("armv8.6-a", "did you mean"), std::pair("avx2", "")})
    expect_usage(prefer(bad), place + "\"" + bad + "\" is not a CPU that LLVM knows", hint);
}

TEST(Preference, MatchesTheCpuByAnyOfItsNames) {
  const auto speaks = [](const std::string& word, const std::string& arch, const std::string& cpu) {
    const Preference rule{{"no-such-cpu", word}, {"1"}};
    const std::string* found = rule.find(*target::cpu_by_name(arch, cpu));
    EXPECT_TRUE(!found || *found == word);
    return found != nullptr;
  };
  EXPECT_TRUE(speaks("haswell", "x86_64", "haswell"));
  EXPECT_TRUE(speaks("skylake-avx512", "x86_64", "skx"));
  EXPECT_TRUE(speaks("skx", "x86_64", "skylake-avx512"));
  EXPECT_TRUE(speaks("corei7-*", "x86_64", "sandybridge"));
  EXPECT_TRUE(speaks("neoverse-n2", "aarch64", "cobalt-100"));
  EXPECT_TRUE(speaks("neoverse-*", "aarch64", "cobalt-100"));
  EXPECT_TRUE(speaks("znver*", "x86_64", "znver3"));
  EXPECT_TRUE(speaks("*lake*512", "x86_64", "skylake-avx512"));
  EXPECT_TRUE(speaks("*", "aarch64", "generic"));
  EXPECT_FALSE(speaks("znver*", "x86_64", "bdver2"));
  EXPECT_FALSE(speaks("znver3*3", "x86_64", "znver3"));
  EXPECT_FALSE(speaks("*lakelake", "x86_64", "skylake"));
  EXPECT_FALSE(speaks("haswell", "x86_64", "broadwell"));
  // A level matches every CPU that has it.
  EXPECT_TRUE(speaks("x86-64-v3", "x86_64", "znver4"));
  EXPECT_TRUE(speaks("x86-64-v4", "x86_64", "x86-64-v4"));
  EXPECT_FALSE(speaks("x86-64-v4", "x86_64", "haswell"));
  EXPECT_TRUE(speaks("armv8-a", "aarch64", "neoverse-v2"));
  EXPECT_FALSE(speaks("armv8-a", "x86_64", "znver4"));
  // Features decide, not the name of the CPU: a virtual machine may hide some.
  target::Cpu hidden = *target::cpu_by_name("x86_64", "znver4");
  std::erase(hidden.features, "avx512bw");
  EXPECT_EQ((Preference{{"x86-64-v4"}, {"1"}}.find(hidden)), nullptr);
  EXPECT_EQ((Preference{{"*"}, {"1"}}.find({"riscv64", "", {}})) != nullptr, true);
}

TEST(Parse, LibrariesOfTheImage) {
  const auto library = [](const std::string& members) {
    return two_points(R"(, "requires": {"library": [{"name": "fftw3")" + members + "}]}", "");
  };
  using From = Requirement::From;
  EXPECT_EQ(library("")->points[0].values[0].requires_.libraries.at(0).from, From::host);
  const auto image = library(R"(, "from": "image")");
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->points[0].values[0].requires_.libraries.at(0).from, From::image);
  EXPECT_EQ(to_json(image->points[0])["values"][0]["requires"].dump(),
            R"({"library":[{"name":"fftw3","from":"image"}]})");
  const std::string place = "x.json: /specializations/0/values/0/requires/library/0/";
  expect_usage(library(R"(, "from": "imge")"), place + "from: \"imge\" is not one of host, image", "`image`");
  expect_usage(library(R"(, "from": "image", "version": "3.3")"),
               place + "version: \"3.3\": the image contains", "remove `version`");
  EXPECT_TRUE(library(R"(, "from": "host", "version": "3.3")"));
}

TEST(Parse, LibrariesThatMayComeFromTheHost) {
  const auto host = [](const std::string& list) { return with(R"("host": )" + list); };
  const std::string text =
      R"(["mpi",{"library":"fftw3","sonames":["libfftw3.so.3","libfftw3_omp.so.3"]},"blas"])";
  const auto parsed = host(text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->host, (std::vector<HostPreference>{
                              {"mpi", {}}, {"fftw3", {"libfftw3.so.3", "libfftw3_omp.so.3"}}, {"blas", {}}}));
  EXPECT_EQ(to_json(*parsed)["host"].dump(), text);
  EXPECT_EQ(parse_application(to_json(*parsed).dump(), "again")->host, parsed->host);
  EXPECT_FALSE(to_json(*host("[]")).contains("host"));
  expect_usage(host(R"("mpi")"), "x.json: /host: expected an array");
  expect_usage(host(R"([3])"), "x.json: /host/0: expected");
  expect_usage(host(R"(["../mpi"])"), "x.json: /host/0");
  expect_usage(host(R"([{"library": "m", "soname": ["libm.so"]}])"), "x.json: /host/0/soname: unknown key",
               "`sonames`");
  expect_usage(host(R"([{"sonames": ["libm.so"]}])"), "x.json: /host/0");
  expect_usage(host(R"([{"library": "x", "sonames": ["/etc/libx.so.1"]}])"), "x.json: /host/0/sonames/0");
  expect_usage(host(R"([{"library": "x", "sonames": ["libx.a"]}])"), "x.json: /host/0/sonames/0");
  expect_usage(host(R"(["a", {"library": "a", "sonames": ["liba.so.1"]}])"),
               "x.json: /host/1: \"a\" is preferred twice");
  expect_usage(host(R"([{"library": "mpi", "sonames": ["libmpi.so.12"]}])"), "x.json: /host/0/sonames: ");
}

TEST(Parse, DanglingNames) {
  expect_usage(with(R"("specializations": [{"name": "a", "default": "offf", "values": [{"value": "off"}]}])"),
               "x.json: /specializations/0/default: \"offf\" is not a value of point a", "`off`");
  expect_usage(with(R"("specializations": [{"name": "a", "values": [{"value": "1"}],
                       "prefer": [{"cpu": ["haswell"], "values": ["1", "two"]}]}])"),
               "x.json: /specializations/0/prefer/0/values/1: \"two\" is not a value");
  expect_usage(two_points(R"(, "requires": {"values": {"c": "1"}})", ""),
               "x.json: /specializations/0/values/0/requires/values/c: \"c\" is not a specialization point");
  expect_usage(two_points("", "", R"("exclude": [{"a": "1"}, {"a": "1", "b": "3"}])"),
               "x.json: /exclude/1/b: \"3\" is not a value of point b");
  expect_usage(two_points("", "", R"("configurations": [{"thread": "1"}])"),
               "x.json: /configurations/0/thread: \"thread\" is not a specialization point");
  EXPECT_TRUE(two_points("", "", R"("exclude": [{"isa": "x86-64-v4", "b": "1"}])"));
  expect_usage(two_points("", "", R"("isa": ["x86-64"], "exclude": [{"isa": "x86-64-v4"}])"),
               "x.json: /exclude/0/isa: \"x86-64-v4\" is not a value of point isa");
  expect_usage(two_points("", "", R"("isa": [], "exclude": [{"isa": "x86-64-v4"}])"),
               "x.json: /exclude/0/isa: \"isa\" is not a specialization point");
}

TEST(Parse, Duplicates) {
  const std::string point = R"({"name": "a", "values": [{"value": "1"}]})";
  expect_usage(with(R"("specializations": [)" + point + ", " + point + "]"),
               "x.json: /specializations/1/name: \"a\" names two points");
  expect_usage(with(R"("specializations": [{"name": "a", "values": [{"value": "1"}, {"value": "1"}]}])"),
               "x.json: /specializations/0/values/1/value: \"1\" is given twice");
  expect_usage(with(R"("specializations": [{"name": "isa", "values": [{"value": "1"}]}])"),
               "x.json: /specializations/0/name: \"isa\" names the built-in point");
}

TEST(Parse, Cycles) {
  expect_usage(
      two_points(R"(, "requires": {"values": {"b": "1"}})", R"(, "requires": {"values": {"a": "1"}})"),
      "x.json: /specializations/0/values/0/requires/values: a cycle: a=1 requires b=1 requires a=1");
  // Not a cycle of values, but a=1 can never be chosen.
  expect_usage(
      two_points(R"(, "requires": {"values": {"b": "1"}})", R"(, "requires": {"values": {"a": "2"}})"),
      "x.json: /specializations/0/values/0/requires/values: a cycle");
  expect_usage(two_points(R"(, "requires": {"values": {"a": "1"}})", ""),
               "x.json: /specializations/0/values/0/requires/values: a cycle: a=1 requires a=1");
  EXPECT_TRUE(
      two_points(R"(, "requires": {"values": {"b": "2"}})", R"(, "requires": {"values": {"a": "2"}})"));
}

TEST(Parse, InstallPathsStayBelowTheirRoots) {
  const auto install = [](const std::string& from, const std::string& to) {
    return with("", R"("system": "make", "install": [{"from": ")" + from + R"(", "to": ")" + to + R"("}])");
  };
  EXPECT_EQ(install("./a", "x/../bin//a")->build.install[0].to, "bin/a");
  for (const char* bad : {"../x", "bin/../../x", "/bin/x", "bin/", ".", "..", "a/.."}) {
    expect_usage(install("a", bad), "x.json: /build/install/0/to: ");
    expect_usage(install(bad, "a"), "x.json: /build/install/0/from: ");
  }
  expect_usage(
      with("", R"("system": "make", "install": [{"from": "a", "to": "x"}, {"from": "b", "to": "./x"}])"),
      "x.json: /build/install/1/to: \"./x\" is installed twice");
}

TEST(Parse, TheBuildSystemBeginsBelowTheSources) {
  const auto directory = [](const std::string& name) {
    return with("", R"("system": "cmake", "directory": ")" + name + "\"");
  };
  for (const auto& [name, normal] :
       {std::pair("build/cmake", "build/cmake"), {"./build/", "build"}, {"a/..", ""}, {".", ""}, {"", ""}}) {
    const Result<Application> application = directory(name);
    ASSERT_TRUE(application) << application.error().message;
    EXPECT_EQ(application->build.directory, normal) << name;
  }
  for (const char* bad : {"/usr", "..", "../x", "a/../../x"})
    expect_usage(directory(bad), "x.json: /build/directory: ");
}

TEST(Parse, PrefixAndRuntimeAreAbsolute) {
  expect_usage(with(R"("image": {"prefix": "opt/x"})"),
               "x.json: /image/prefix: \"opt/x\" is not an absolute path");
  expect_usage(with(R"("image": {"prefix": "/opt/../../x"})"), "x.json: /image/prefix: ");
  expect_usage(with(R"("runtime": ["lib"])"), "x.json: /runtime/0: \"lib\" is not an absolute path");
  EXPECT_EQ(with(R"("image": {"prefix": "//opt/./x/"})")->image.prefix, "/opt/x");
  EXPECT_EQ(with(R"("image": {"prefix": "///"})")->image.prefix, "/");
}

TEST(Parse, KeysOfOneBuildSystem) {
  expect_usage(with("", R"("system": "commands", "install": "x", "directory": "a")"),
               "x.json: /build/directory: ", "cd a");
  expect_usage(with("", R"("system": "cmake", "configure": "./configure")"), "x.json: /build/configure: ");
  expect_usage(with("", R"("system": "meson", "install": "cp a b")"), "x.json: /build/install: ", "commands");
  expect_usage(with("", R"("system": "commands", "build": "make")"), "x.json: /build/install: missing");
  expect_usage(with("", R"("system": "commands", "install": "target")"), "x.json: /build/install: ");
  expect_usage(with("", R"("system": "commands", "install": ["target", {"from": "a", "to": "b"}])"),
               "x.json: /build/install: the build system `commands` has no install target");
  expect_usage(with("", R"("system": "make", "install": ["all"])"), "x.json: /build/install/0: \"all\"",
               "target");
  expect_usage(with("", R"("system": "commands", "install": "a", "targets": ["b"])"),
               "x.json: /build/targets: ");
  expect_usage(with("", R"("system": "commands", "install": "a", "arguments": ["X=1", "-DY"])"),
               "x.json: /build/arguments/1: \"-DY\" is not NAME=value");
  EXPECT_EQ(with("", R"("system": "commands", "install": "a b", "arguments": ["X="])")->build.install_command,
            "a b");
}

TEST(Parse, HostileDocuments) {
  expect_usage(parse_application(std::string(100000, '['), "x.json"), "x.json: not valid JSON");
  expect_usage(parse_application(std::string(100000, '[') + std::string(100000, ']'), "x.json"),
               "x.json: nested more than");
  expect_usage(parse_application(std::string(400, '[') + std::string(400, ']'), "x.json"), "x.json: /0/0/0");
  expect_usage(with(R"("version": ")" + std::string(100000, 'a') + '"'),
               "x.json: /version: a string of 100000 bytes");
  expect_usage(with('"' + std::string(100000, 'a') + R"(": 1)"), "x.json: a key is a string of 100000 bytes");
  expect_usage(with(R"("version": "a\u0000b")"), "x.json: /version: a string with a NUL");
  expect_usage(parse_application("", "x.json"), "x.json: not valid JSON");
  // The longest allowed string passes the regular expressions.
  const std::string longest(4096, 'a');
  EXPECT_TRUE(with(R"("specializations": [{"name": ")" + longest + R"(", "values": [{"value": "1"}]}])"));
}

TEST(Read, NamesTheFile) {
  EXPECT_EQ(read_application("/nonexistent/xaas.json").error().kind, ErrorKind::not_found);
  auto directory = *TemporaryDirectory::create();
  const fs::path file = directory.path() / "xaas.json";
  ASSERT_TRUE(write_file(file, "{}"));
  EXPECT_THAT(read_application(file).error().message, StartsWith(file.string() + ": /name: missing"));
}

TEST(Point, JsonHasTheShapeOfInspect) {
  EXPECT_EQ(
      to_json(isa_point({"x86-64-v3"})).dump(),
      R"({"name":"isa","category":"cpu","default":"x86-64-v3","values":[{"value":"x86-64-v3","arguments":[],)"
      R"("requires":{"cpu":"x86-64-v3"}}]})");
  const auto parsed = two_points(
      R"(, "requires": {"cpu": "avx2", "gpu": {"vendor": "nvidia", "driver": "550.1", "or": "cpu"}, "mpi": "mpich-12",
           "library": [{"name": "fftw3", "version": "3.3"}, {"name": "m"}], "values": {"b": "2"}})",
      "");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Json json = to_json(parsed->points[0]);
  EXPECT_EQ(json["default"], nullptr);
  EXPECT_EQ(json["values"][0]["requires"].dump(),
            R"({"cpu":["avx2"],"gpu":{"vendor":"nvidia","driver":"550.1","or":"cpu"},"mpi":"mpich-12",)"
            R"("library":[{"name":"fftw3","version":"3.3"},{"name":"m"}],"values":{"b":"2"}})");
  EXPECT_EQ(json["values"][1]["requires"], Json::object());
  EXPECT_FALSE(json.contains("prefer"));
  const auto again = parse_point(JsonReader(json, "bundle"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->values[0].requires_, parsed->points[0].values[0].requires_);
  EXPECT_EQ(to_json(*again), json);
}

TEST(Point, DamagedPointIsAnErrorOfTheReadersKind) {
  for (const char* text :
       {"[]", "{}", R"({"name":"a"})", R"({"name":"a","values":[]})", R"({"name":"a","values":[1]})",
        R"({"name":"a","values":[{"value":"1"}],"default":"2"})",
        R"({"name":"a","values":[{"value":"1","requires":{"cpu":{}}}]})",
        R"({"name":"a","values":[{"value":"1","requires":{"gpu":3}}]})",
        R"({"name":"a","values":[{"value":"1","requires":{"gpu":{"or":"none"}}}]})",
        R"({"name":"a","values":[{"value":"1","requires":{"library":[{"name":"m","from":"moon"}]}}]})",
        R"({"name":"a","values":[{"value":"1"},{"value":"1"}]})"}) {
    const Json json = Json::parse(text);
    const auto parsed = parse_point(JsonReader(json, "bundle.json"));
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::integrity) << text;
    EXPECT_THAT(parsed.error().message, StartsWith("bundle.json")) << text;
  }
}

} // namespace
} // namespace xaas::spec
