// Merging images on disk. Which bundles can be united is tested with image::unite.
#include "image/testing.h"

#include <xaas/merge/merge.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace xaas::merge {
namespace {

using image::testing::Fixture;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MergeTest : public ::testing::Test {
protected:
  // What a job writes that builds some of the configurations level=0, level=1 and level=2.
  static Fixture job(const std::vector<size_t>& levels) {
    Fixture fixture(3);
    fixture.bundle.points = {{"level", "other", "0", {{"0", {}, {}}, {"1", {}, {}}, {"2", {}, {}}}, {}}};
    std::vector<image::BundleConfiguration> built;
    for (const size_t level : levels)
      built.push_back(fixture.bundle.configurations.at(level));
    fixture.bundle.configurations = built;
    return fixture;
  }

  oci::Reference at(const std::string& name) const {
    return *oci::parse_reference("oci:" + (directory_.path() / name).string() + ":ir");
  }

  // Writes the image of `fixture`, which `change` may damage before.
  Digest write(
      const std::string& name, const Fixture& fixture,
      const std::function<void(oci::NewImage&)>& change = [](oci::NewImage&) {}) const {
    oci::NewImage image = *fixture.make();
    change(image);
    return *oci::write_image(at(name), image);
  }

  Result<Report> merge(const std::vector<std::string>& names, std::optional<int64_t> time = {}) const {
    Request request;
    for (const std::string& name : names)
      request.images.push_back(at(name));
    request.output = at("merged");
    request.time = time;
    return merge_ir_images(request);
  }

  std::string created() const { return (*oci::open_image(at("merged")))->config().created; }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(MergeTest, IsTheImageOfOneBuildInAnyOrder) {
  const Digest whole = write("whole", job({0, 1, 2}));
  const Digest first = write("first", job({0}));
  write("second", job({1}));
  write("others", job({0, 2}));
  std::vector<std::string> names = {"first", "others", "second"};
  do {
    const auto report = merge(names);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(report->digest, whole);
    EXPECT_EQ(report->name, "solver");
  } while (std::next_permutation(names.begin(), names.end()));

  const auto report = merge({"others", "first", "second"});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->inputs.size(), 3u);
  EXPECT_EQ(report->inputs[1].digest, first);
  EXPECT_EQ(report->inputs[1].arch, "x86_64");
  EXPECT_THAT(report->inputs[0].configurations, ElementsAre("level=0", "level=2"));
  ASSERT_EQ(report->images.size(), 1u);
  EXPECT_EQ(report->images[0].digest, whole);
  EXPECT_EQ(report->images[0].configurations.size(), 3u);
  EXPECT_EQ(report->images[0].modules, 3u);
}

TEST_F(MergeTest, TheDateIsTheLatestOrTheOneGiven) {
  write("first", job({0}));
  ASSERT_TRUE(merge({"first"}, 86400));
  EXPECT_EQ(created(), "1970-01-02T00:00:00Z");
  fs::rename(directory_.path() / "merged", directory_.path() / "later");
  write("second", job({1}));
  ASSERT_TRUE(merge({"second", "later", "first"}));
  EXPECT_EQ(created(), "1970-01-02T00:00:00Z");
  ASSERT_TRUE(merge({"second", "later"}, 0));
  EXPECT_EQ(created(), "1970-01-01T00:00:00Z");
}

TEST_F(MergeTest, SeveralArchitecturesBecomeAnIndex) {
  write("x86", job({0}));
  Fixture other = job({0});
  other.bundle.arch = "aarch64";
  write("arm", other);
  write("more", job({1}));
  const auto report = merge({"x86", "arm", "more"});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->images.size(), 2u);
  EXPECT_EQ(report->images[0].arch, "x86_64"); // amd64 comes before arm64
  EXPECT_EQ(report->images[0].configurations.size(), 2u);
  EXPECT_EQ(report->images[1].arch, "aarch64");
  EXPECT_NE(report->digest, report->images[0].digest);
  // The index is an input like any other.
  fs::rename(directory_.path() / "merged", directory_.path() / "index");
  const auto again = merge({"index"});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->digest, report->digest);
  EXPECT_EQ(again->inputs.size(), 2u);
}

TEST_F(MergeTest, ErrorsNameTheImageAndWriteNothing) {
  write("first", job({0}));
  const auto refused = [&](const std::vector<std::string>& names, ErrorKind kind) {
    const auto report = merge(names);
    EXPECT_FALSE(report);
    EXPECT_EQ(report ? ErrorKind::interrupted : report.error().kind, kind);
    EXPECT_FALSE(fs::exists(directory_.path() / "merged/index.json"));
    return report ? "" : report.error().message;
  };
  EXPECT_THAT(refused({"first", "nowhere"}, ErrorKind::not_found), HasSubstr("nowhere"));
  Fixture other = job({1});
  other.bundle.name = "other";
  write("other", other);
  EXPECT_THAT(refused({"first", "other"}, ErrorKind::usage), HasSubstr("other"));
  other.bundle.arch = "aarch64"; // also where no configuration meets another
  write("foreign", other);
  EXPECT_THAT(refused({"first", "foreign"}, ErrorKind::usage), HasSubstr("foreign"));
  write("plain", job({1}), [](oci::NewImage& image) { image.annotations.erase(image::annotation::kind); });
  refused({"first", "plain"}, ErrorKind::usage);
  EXPECT_EQ(merge({}).error().kind, ErrorKind::usage);
}

// A bundle names what its image does not have, or has with another size.
TEST_F(MergeTest, ContentsThatAreNotThere) {
  write("first", job({0}));
  write("short", job({1}), [](oci::NewImage& image) { image.layers.pop_back(); });
  const auto missing = merge({"first", "short"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::integrity);
  // Another image may have it.
  write("whole", job({0, 1, 2}));
  const auto lent = merge({"short", "whole"});
  ASSERT_TRUE(lent) << lent.error().message;

  Fixture lying = job({1});
  for (auto& [digest, size] : lying.bundle.modules)
    ++size;
  write("lying", lying);
  const auto wrong = merge({"lying"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::integrity);
}

TEST_F(MergeTest, AnImageIsNoTree) {
  write("first", job({0}));
  for (const std::string transport : {"rootfs:", "squashfs:"}) {
    Request request;
    request.images = {at("first")};
    request.output = *oci::parse_reference(transport + (directory_.path() / "tree").string());
    const auto report = merge_ir_images(request);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().kind, ErrorKind::usage);
    EXPECT_THAT(report.error().message, HasSubstr(transport));
  }
  EXPECT_FALSE(fs::exists(directory_.path() / "tree"));
}

} // namespace
} // namespace xaas::merge
