#include "cli/testing.h"

#include <xaas/base/file.h>
#include <xaas/base/json.h>

#include <gmock/gmock.h>

#include <cstdlib>
#include <sys/stat.h>

namespace xaas::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A home and a current directory of its own, without the settings of this machine.
class Program : public ::testing::Test {
protected:
  void SetUp() override {
    before_ = fs::current_path();
    fs::current_path(directory_.path());
    chmod(directory_.path().c_str(), 0755);
    for (const char* name : {"XAAS_JOBS", "XAAS_OFFLINE", "XDG_CONFIG_HOME", "XAAS_CACHE_DIR"})
      unsetenv(name);
    setenv("HOME", directory_.path().c_str(), 1);
    setenv("XAAS_SITE_CONFIG", site_.c_str(), 1);
    ASSERT_TRUE(make_directories(user_.parent_path()));
  }
  void TearDown() override {
    fs::current_path(before_);
    unsetenv("XAAS_JOBS");
  }

  static void write(const fs::path& file, const std::string& text) { ASSERT_TRUE(write_file(file, text)); }

  // "VALUE ORIGIN" of a setting.
  static std::string setting(const std::string& key, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments = {"config", "show", "--format", "json"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Ended shown = run_xaas(arguments);
    EXPECT_EQ(shown.code, 0) << shown.errors;
    const Json json = Json::parse(shown.output);
    for (const Json& each : json["settings"])
      if (each["key"] == key)
        return each["value"].dump() + " " + each["origin"].get<std::string>();
    return "none";
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  fs::path before_, site_ = directory_.path() / "site.json",
                    user_ = directory_.path() / ".config" / "xaas" / "config.json",
                    project_ = directory_.path() / "xaas-config.json";
};

TEST_F(Program, SettingsHaveOnePrecedence) {
  EXPECT_EQ(setting("jobs"), "null built-in");
  write(site_, R"({"jobs": 5})");
  EXPECT_EQ(setting("jobs"), "5 site");
  write(user_, R"({"jobs": 4})");
  EXPECT_EQ(setting("jobs"), "4 user");
  write(project_, R"({"jobs": 3})");
  EXPECT_EQ(setting("jobs"), "3 project");
  setenv("XAAS_JOBS", "2", 1);
  EXPECT_EQ(setting("jobs"), "2 environment");
  EXPECT_EQ(setting("jobs", {"-j", "1"}), "1 command-line");
}

TEST_F(Program, UnknownKeysAreWarningsOutsideTheJson) {
  write(user_, R"({"jbos": 4, "nice": 3})");
  const Ended shown = run_xaas({"config", "show", "--format", "json"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.errors,
            "xaas: warning: " + user_.string() + ": /jbos: unknown key \"jbos\"; did you mean `jobs`?\n");
  EXPECT_EQ(Json::parse(shown.output)["files"][1]["warnings"].size(), 1u);
  EXPECT_EQ(run_xaas({"config", "show", "-q"}).errors, "");
  EXPECT_EQ(setting("nice"), "3 user");
}

TEST_F(Program, TheKindOfAnErrorDecidesTheExitCode) {
  const auto expect = [](int code, const std::vector<std::string>& arguments, const std::string& text) {
    const Ended ended = run_xaas(arguments);
    EXPECT_EQ(ended.code, code) << ended.errors;
    EXPECT_THAT(ended.errors, HasSubstr("xaas: error: ")) << arguments[0];
    EXPECT_THAT(ended.errors, HasSubstr(text)) << arguments[0];
    EXPECT_EQ(ended.output, "") << arguments[0];
  };
  expect(2, {"inspect", "ocii:x"}, "ocii");
  expect(2, {"copy", "oci:a:b", "oci:c:d", "--platform", "windows/amd64"}, "windows/amd64");
  expect(2, {"deploy", "oci:a:b", "--set", "isa"}, "isa");
  expect(4, {"inspect", "oci:nowhere:x"}, "nowhere");
  expect(4, {"verify", "oci:nowhere:x"}, "nowhere");
  expect(6, {"inspect", "docker://localhost:1/x:y", "--offline"}, "offline");
  ASSERT_TRUE(make_directories(directory_.path() / "damaged"));
  write(directory_.path() / "damaged" / "oci-layout", R"({"imageLayoutVersion": "1.0.0"})");
  write(directory_.path() / "damaged" / "index.json", "not JSON");
  expect(7, {"inspect", "oci:damaged:x"}, "index.json");
  write(user_, R"({"jobs": "4"})");
  expect(2, {"detect"}, "/jobs: expected an integer");
  chmod(user_.c_str(), 0666);
  expect(9, {"detect"}, user_.string());
  // Without settings: these still work.
  EXPECT_EQ(run_xaas({"completion", "bash"}).code, 0);
  EXPECT_EQ(run_xaas({"detect", "--help"}).code, 0);
}

} // namespace
} // namespace xaas::cli
