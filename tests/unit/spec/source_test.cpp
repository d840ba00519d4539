// The parts of a spec for building on the target.
#include <xaas/spec/application.h>

#include <xaas/base/json.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::spec {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Result<Application> spec_with(const std::string& members) {
  const std::string start = R"({"name": "a", "build": {"system": "make"})";
  return parse_application(start + (members.empty() ? "" : ", ") + members + "}", "x.json");
}

const std::string digest(64, 'a');

std::string fetched(const std::string& to, const std::string& url = "https://example.org/x",
                    const std::string& sha256 = digest) {
  return R"("fetch": [{"url": ")" + url + R"(", "sha256": ")" + sha256 + R"(", "to": ")" + to + "\"}]";
}

constexpr const char* everything =
    R"("toolchain": {"packages": ["gcc", "g++", "libfftw3-dev"], "suite": "bookworm",
    "compilers": {"c": "gcc-12", "cxx": "/usr/bin/g++-12", "fortran": "gfortran"}, "path": "/opt/bin:/usr/bin"},
  "include": ["data/*.bin", "generated"],
  "fetch": [{"url": "http://example.org/a", "sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
             "to": "third_party//a.tar"},
            {"url": "https://example.org/b.zip", "sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
             "to": "third_party/b", "unpack": true}],
  "specializations": [{"name": "gpu", "values": [{"value": "off"}, {"value": "cuda", "from_source": true}]}])";

TEST(SourceSpec, ReadsEveryKey) {
  const auto parsed = spec_with(everything);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->toolchain.packages, (std::vector<std::string>{"gcc", "g++", "libfftw3-dev"}));
  EXPECT_EQ(parsed->toolchain.suite, "bookworm");
  EXPECT_EQ(parsed->toolchain.c, "gcc-12");
  EXPECT_EQ(parsed->toolchain.cxx, "/usr/bin/g++-12");
  EXPECT_EQ(parsed->toolchain.fortran, "gfortran");
  EXPECT_EQ(parsed->toolchain.path, "/opt/bin:/usr/bin");
  EXPECT_EQ(parsed->include, (std::vector<std::string>{"data/*.bin", "generated"}));
  ASSERT_EQ(parsed->fetch.size(), 2u);
  EXPECT_EQ(parsed->fetch[0].to, "third_party/a.tar");
  EXPECT_FALSE(parsed->fetch[0].unpack);
  EXPECT_TRUE(parsed->fetch[1].unpack);
  EXPECT_FALSE(parsed->points.at(0).find("off")->from_source);
  EXPECT_TRUE(parsed->points.at(0).find("cuda")->from_source);
  EXPECT_EQ(spec_with(R"("toolchain": {"base": "docker://example.org/gcc:12"})")->toolchain.base,
            "docker://example.org/gcc:12");
}

TEST(SourceSpec, JsonRoundTrip) {
  for (const std::string& text : {std::string(everything), std::string(R"("toolchain": {"base": "oci:gcc"})"),
                                  std::string(R"("toolchain": {"compilers": {"cxx": "c++"}})")}) {
    const auto parsed = spec_with(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    const Json json = to_json(*parsed);
    const auto again = parse_application(json.dump(), "again");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->toolchain, parsed->toolchain);
    EXPECT_EQ(again->fetch, parsed->fetch);
    EXPECT_EQ(again->include, parsed->include);
    EXPECT_EQ(to_json(*again), json);
  }
  const Json plain = to_json(*spec_with(R"("specializations": [{"name": "a", "values": [{"value": "1"}]}])"));
  for (const char* const key : {"toolchain", "include", "fetch"})
    EXPECT_FALSE(plain.contains(key)) << key;
  EXPECT_EQ(plain.dump().find("from_source"), std::string::npos);
}

TEST(SourceSpec, PointRoundTrip) {
  const auto parsed = spec_with(everything);
  ASSERT_TRUE(parsed);
  const Json json = to_json(parsed->points.at(0));
  const auto point = parse_point(JsonReader(json, "x"));
  ASSERT_TRUE(point) << point.error().message;
  EXPECT_TRUE(point->find("cuda")->from_source);
  EXPECT_FALSE(point->find("off")->from_source);
}

TEST(SourceSpec, EveryErrorNamesItsPlace) {
  const struct {
    std::string members, place;
  } wrong[] = {
      {R"("toolchain": [])", "/toolchain"},
      {R"("toolchain": {"package": ["gcc"]})", "/toolchain/package"},
      {R"("toolchain": {"base": ""})", "/toolchain/base"},
      {R"("toolchain": {"base": 1})", "/toolchain/base"},
      {R"("toolchain": {"packages": "gcc"})", "/toolchain/packages"},
      {R"("toolchain": {"packages": ["gcc", "--option"]})", "/toolchain/packages/1"},
      {R"("toolchain": {"packages": ["GCC"]})", "/toolchain/packages/0"},
      {R"("toolchain": {"packages": ["gcc,make"]})", "/toolchain/packages/0"},
      {R"("toolchain": {"packages": ["gcc"], "suite": "../x"})", "/toolchain/suite"},
      {R"("toolchain": {"compilers": {"C": "gcc"}})", "/toolchain/compilers/C"},
      {R"("toolchain": {"compilers": {"c": ""}})", "/toolchain/compilers/c"},
      {R"("toolchain": {"path": ""})", "/toolchain/path"},
      {R"("toolchain": {"base": "oci:x", "packages": ["gcc"]})", "/toolchain/packages"},
      {R"("toolchain": {"suite": "bookworm"})", "/toolchain/suite"},
      {R"("toolchain": {"base": "oci:x", "suite": "bookworm"})", "/toolchain/suite"},
      {R"("include": "data")", "/include"},
      {R"("include": [""])", "/include/0"},
      {R"("fetch": {})", "/fetch"},
      {R"("fetch": [{"url": "https://example.org/x", "to": "x"}])", "/fetch/0/sha256"},
      {R"("fetch": [{"url": "https://example.org/x", "sha256": ")" + digest +
           R"(", "to": "x", "unpack": "yes"}])",
       "/fetch/0/unpack"},
      {fetched("x", "ftp://example.org/x"), "/fetch/0/url"},
      {fetched("x", "file:///etc/passwd"), "/fetch/0/url"},
      {fetched("x", "https://example.org/a b"), "/fetch/0/url"},
      {fetched("x", "https://example.org/x", std::string(64, 'A')), "/fetch/0/sha256"},
      {fetched("x", "https://example.org/x", std::string(63, 'a')), "/fetch/0/sha256"},
      {fetched(""), "/fetch/0/to"},
      {fetched("."), "/fetch/0/to"},
      {fetched("/etc/x"), "/fetch/0/to"},
      {fetched("../x"), "/fetch/0/to"},
      {fetched("a/../../x"), "/fetch/0/to"},
      {fetched("a/"), "/fetch/0/to"},
      {R"("fetch": [{"url": "https://example.org/x", "sha256": ")" + digest +
           R"(", "to": "a/b"}, {"url": "https://example.org/y", "sha256": ")" + digest +
           R"(", "to": "a/./b"}])",
       "/fetch/1/to"},
      {R"("specializations": [{"name": "a", "values": [{"value": "1", "from_source": "yes"}]}])",
       "/specializations/0/values/0/from_source"},
  };
  for (const auto& each : wrong) {
    const auto parsed = spec_with(each.members);
    ASSERT_FALSE(parsed) << each.members;
    EXPECT_EQ(parsed.error().kind, ErrorKind::usage) << each.members;
    EXPECT_THAT(parsed.error().message, StartsWith("x.json: " + each.place + ":")) << each.members;
  }
  EXPECT_THAT(spec_with(R"("toolchain": {"package": ["gcc"]})").error().hint, HasSubstr("packages"));
}

} // namespace
} // namespace xaas::spec
