#include "platform_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace xaas::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Platform, OciNamesBecomeThoseOfLlvm) {
  const std::pair<const char*, const char*> cases[] = {{"linux/amd64", "x86_64"},
                                                       {"linux/arm64", "aarch64"},
                                                       {"linux/arm64/v8", "aarch64"},
                                                       {"linux/riscv64", "riscv64"}};
  for (const auto& [platform, arch] : cases) {
    const Result<std::string> found = architecture_of_platform(platform);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(*found, arch);
  }
}

TEST(Platform, OtherSystemsAndVariantsAreUsageErrors) {
  for (const char* platform :
       {"windows/amd64", "darwin/arm64", "arm64", "amd64/linux", "", "/amd64", "linux", "linux/",
        "linux/arm64/v9", "linux/amd64/v3", "linux/arm64/v8/x", "Linux/amd64"}) {
    const Result<std::string> found = architecture_of_platform(platform);
    ASSERT_FALSE(found) << platform;
    EXPECT_EQ(found.error().kind, ErrorKind::usage);
    EXPECT_THAT(found.error().message, HasSubstr(std::string("--platform ") + platform + ": "));
    EXPECT_EQ(found.error().hint, "linux/amd64 or linux/arm64");
  }
}

class Options : public ::testing::Test {
protected:
  // Nothing: CLI11 refuses the arguments.
  std::optional<Result<std::vector<std::string>>> read(const std::string& arguments, bool several) {
    CLI::App app;
    PlatformOptions options;
    options.add(app, "architectures", several);
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError&) {
      return std::nullopt;
    }
    return options.read();
  }
};

TEST_F(Options, BothNamesGiveTheSame) {
  for (const char* arguments : {"--arch x86_64,aarch64", "--platform linux/amd64,linux/arm64",
                                "--platform linux/amd64 --platform linux/arm64,linux/arm64/v8"})
    EXPECT_THAT(**read(arguments, true), ElementsAre("x86_64", "aarch64")) << arguments;
  EXPECT_THAT(**read("--platform linux/arm64", false), ElementsAre("aarch64"));
  EXPECT_THAT(**read("", false), ElementsAre());
  EXPECT_FALSE(read("--arch x86_64 --platform linux/amd64", true).has_value());
  EXPECT_FALSE(read("--platform linux/amd64 --platform linux/arm64", false).has_value());
  EXPECT_EQ(read("--platform linux/amd64,plan9/arm", true)->error().kind, ErrorKind::usage);
}

} // namespace
} // namespace xaas::cli
