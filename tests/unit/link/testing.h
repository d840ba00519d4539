// Helpers of the link tests: a directory, commands in it, files of it.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/process.h>

#include <gtest/gtest.h>

namespace xaas::link {

class LinkTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto made = TemporaryDirectory::create();
    ASSERT_TRUE(made) << made.error().message;
    directory_.emplace(*std::move(made));
  }

  fs::path path(const std::string& name) const { return directory_->path() / name; }

  void write(const std::string& name, const std::string& content) {
    if (const fs::path parent = path(name).parent_path(); !fs::exists(parent))
      fs::create_directories(parent);
    const auto written = write_file(path(name), content, 0644, false);
    ASSERT_TRUE(written) << written.error().message;
  }

  std::string read(const std::string& name) const {
    auto content = read_file(path(name));
    EXPECT_TRUE(content) << content.error().message;
    return content ? *std::move(content) : std::string();
  }

  // Runs a shell command in the directory; its output.
  std::string sh(const std::string& command, int expected = 0) const {
    const auto result = run_process({.arguments = {"sh", "-c", command}, .directory = directory_->path()});
    EXPECT_TRUE(result) << result.error().message;
    if (!result)
      return {};
    EXPECT_EQ(result->exit_code, expected) << command << "\n" << result->output;
    return result->output;
  }

  std::optional<TemporaryDirectory> directory_;
};

} // namespace xaas::link
