// A test in a temporary directory, with helpers for files in it.
#pragma once

#include <xaas/base/file.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace xaas {

class DirectoryTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto made = TemporaryDirectory::create();
    ASSERT_TRUE(made) << made.error().message;
    directory_.emplace(*std::move(made));
  }

  fs::path path(const std::string& name) const { return directory_->path() / name; }

  void write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(make_directories(path(name).parent_path()));
    const auto written = write_file(path(name), content, 0644, false);
    ASSERT_TRUE(written) << written.error().message;
  }

  std::string read(const std::string& name) const {
    auto content = read_file(path(name));
    EXPECT_TRUE(content) << content.error().message;
    return content ? *std::move(content) : std::string();
  }

  std::optional<TemporaryDirectory> directory_;
};

} // namespace xaas
