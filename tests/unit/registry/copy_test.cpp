// Blobs larger than the pieces in which they come, over connections that break, and copies between
// transports.
#include "registry/fake.h"

#include <xaas/base/file.h>

#include <random>

namespace xaas::registry {
namespace {

using namespace testing;

class Copy : public ::testing::Test {
protected:
  oci::NewImage large_image() {
    oci::NewImage made = small_image("x");
    std::mt19937 random(1);
    std::string content(3'000'000, '\0');
    for (char& c : content)
      c = static_cast<char>(random());
    oci::LayerBuilder builder;
    EXPECT_TRUE(builder.add_file("large", content));
    made.layers.push_back(*builder.finish(oci::Compression::gzip, "test"));
    return made;
  }
  oci::Reference layout(const std::string& name) {
    return *oci::parse_reference("oci:" + (directory_.path() / name).string() + ":v1");
  }
  std::string path_of(const oci::NewLayer& layer) const {
    return "/v2/app/blobs/" + layer.descriptor.digest.to_string();
  }
  FakeRegistry fake;
  TestAccess test;
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(Copy, ABlobThatIsCutAtRandomOffsetsArrivesWhole) {
  const oci::NewImage image = large_image();
  fake.put(image, "v1");
  const std::string bytes = bytes_of(image.layers[2]);
  std::mt19937 random(7);
  int cuts = 0;
  fake.override = [&](const std::string&, const std::string& path,
                      const std::string& request) -> std::optional<std::string> {
    if (path != path_of(image.layers[2]) || cuts == 10)
      return std::nullopt;
    ++cuts;
    const std::string range = FakeRegistry::field(request, "Range");
    const size_t from = range.empty() ? 0 : std::stoul(range.substr(6));
    // Far enough to count as progress, so that the tries are not used up.
    const size_t some = std::min(bytes.size() - from, random() % 200'000 + 1);
    const std::string head =
        range.empty() ? "HTTP/1.1 200 X\r\n"
                      : "HTTP/1.1 206 X\r\nContent-Range: bytes " + std::to_string(from) + "-" +
                            std::to_string(bytes.size() - 1) + "/" + std::to_string(bytes.size()) + "\r\n";
    return head + "Content-Length: " + std::to_string(bytes.size() - from) + "\r\n\r\n" +
           bytes.substr(from, some);
  };
  Access access = test.access();
  access.tries = 20;
  const auto copied = copy(fake.reference("app:v1"), layout("a"), {}, "amd64", access);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->digest, oci::manifest_digest(image));
  EXPECT_EQ(cuts, 10);
  EXPECT_EQ(test.pauses.size(), 10U);
  EXPECT_EQ(*read_file(directory_.path() / "a/blobs/sha256" / image.layers[2].descriptor.digest.hex()),
            bytes);
}

TEST_F(Copy, ARegistryWithoutRangesIsReadFromTheStart) {
  const oci::NewImage image = large_image();
  fake.put(image, "v1");
  const std::string bytes = bytes_of(image.layers[2]);
  int times = 0;
  fake.override = [&](const std::string&, const std::string& path,
                      const std::string&) -> std::optional<std::string> {
    if (path != path_of(image.layers[2]))
      return std::nullopt;
    if (++times == 2)
      return FakeRegistry::reply(416, "");
    const std::string all = FakeRegistry::reply(200, bytes);
    return times == 1 ? all.substr(0, all.size() / 2) : all;
  };
  const auto copied = copy(fake.reference("app:v1"), layout("a"), {}, "amd64", test.access());
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(times, 3);
}

TEST_F(Copy, BetweenRegistriesAndLayoutsNothingChanges) {
  FakeRegistry other;
  const oci::NewImage image = large_image();
  oci::NewImage arm = small_image("arm");
  arm.config.architecture = "arm64";
  ASSERT_TRUE(write_index(layout("a"), {image, arm}, test.access()));
  const auto up = copy(layout("a"), fake.reference("app:v1"), {}, "amd64", test.access());
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_FALSE(up->converted);
  const auto across = copy(fake.reference("app:v1"), other.reference("app:v1"), {}, "amd64", test.access());
  ASSERT_TRUE(across) << across.error().message;
  EXPECT_EQ(across->digest, up->digest);
  EXPECT_EQ(other.blobs, fake.blobs);
  const auto one = copy(other.reference("app:v1"), layout("b"), "arm64", "amd64", test.access());
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->digest, oci::manifest_digest(arm));
  EXPECT_EQ(copy(other.reference("app:v1"), layout("c"), "riscv64", "amd64", test.access()).error().kind,
            ErrorKind::unsatisfied);
}

TEST_F(Copy, ATreeIsUnpackedWithPlacesForMounts) {
  fake.put(small_image("x"), "v1");
  const auto to = *oci::parse_reference("rootfs:" + (directory_.path() / "tree").string());
  const auto copied = copy(fake.reference("app:v1"), to, {}, "amd64", test.access());
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(*read_file(directory_.path() / "tree/bin/a"), "xbin/a");
  for (const char* place : {"dev", "proc", "sys", "tmp", "home", "etc/passwd"})
    EXPECT_TRUE(fs::exists(directory_.path() / "tree" / place)) << place;
  EXPECT_EQ(copy(fake.reference("app:v1"), to, {}, "amd64", test.access()).error().kind, ErrorKind::usage);
}

TEST_F(Copy, WhatWasPrefetchedIsNotAskedForAgain) {
  const oci::NewImage image = large_image();
  fake.put(image, "v1");
  Access access = test.access();
  access.transfers = 4;
  const auto opened = open_image(fake.reference("app:v1"), "amd64", access);
  ASSERT_TRUE(opened);
  (*opened)->prefetch((*opened)->manifest().layers, no_progress());
  const size_t asked = fake.requests().size();
  for (const oci::NewLayer& layer : image.layers) {
    const auto blob = (*opened)->open_blob(layer.descriptor);
    ASSERT_TRUE(blob) << blob.error().message;
    EXPECT_EQ(*oci::read_whole(**blob), bytes_of(layer));
  }
  EXPECT_EQ(fake.requests().size(), asked);
}

TEST_F(Copy, ATrickleIsGivenUpWithItsRate) {
  fake.put(small_image("x"), "v1");
  const oci::NewImage image = small_image("x");
  fake.override = [&](const std::string&, const std::string& path,
                      const std::string&) -> std::optional<std::string> {
    if (path != path_of(image.layers[0]))
      return std::nullopt;
    std::this_thread::sleep_for(std::chrono::seconds(3));
    return std::string();
  };
  Access access = test.access();
  access.stall = std::chrono::seconds(1);
  access.tries = 1;
  const auto copied = copy(fake.reference("app:v1"), layout("a"), {}, "amd64", access);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().kind, ErrorKind::network);
  EXPECT_THAT(copied.error().message, ::testing::HasSubstr("1024 bytes/sec"));
}

} // namespace
} // namespace xaas::registry
