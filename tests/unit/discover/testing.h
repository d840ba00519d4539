// Helpers of the discover module's tests: small trees.
#pragma once

#include <xaas/base/file.h>
#include <xaas/discover/draft.h>

#include <gmock/gmock.h>

#include <optional>
#include <string>

namespace xaas::discover {

class TreeTest : public ::testing::Test {
protected:
  void SetUp() override {
    auto made = TemporaryDirectory::create();
    ASSERT_TRUE(made);
    directory_.emplace(*std::move(made));
  }
  const fs::path& tree() const { return directory_->path(); }
  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(make_directories((tree() / path).parent_path()));
    ASSERT_TRUE(write_file(tree() / path, text));
  }
  Findings read(const Limits& limits = {}) {
    const auto findings = read_tree(tree(), {}, limits);
    EXPECT_TRUE(findings) << (findings ? "" : findings.error().message);
    return findings ? *findings : Findings();
  }
  static const Option* option(const Findings& findings, const std::string& name) {
    for (const Option& option : findings.options)
      if (option.name == name)
        return &option;
    return nullptr;
  }
  static const DiscoveredPoint* point(const Discovery& discovery, const std::string& name) {
    for (const DiscoveredPoint& point : discovery.points)
      if (point.point.name == name)
        return &point;
    return nullptr;
  }
  static std::vector<std::string> values(const DiscoveredPoint& found) {
    std::vector<std::string> list;
    for (const spec::Value& value : found.point.values)
      list.push_back(value.value);
    return list;
  }

private:
  std::optional<TemporaryDirectory> directory_;
};

} // namespace xaas::discover
