#include "registry/fake.h"

namespace xaas::registry {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class Push : public ::testing::Test {
protected:
  Result<Digest> push(const oci::NewImage& pushed, const std::string& name = "app:v1",
                      uint64_t chunk = 64 << 20) {
    Access access = test.access();
    access.chunk_bytes = chunk;
    return write_image(fake.reference(name), pushed, access);
  }
  const oci::NewImage image = small_image("x");
  FakeRegistry fake;
  TestAccess test;
};

TEST_F(Push, WhatIsWrittenIsReadAndNothingIsSentTwice) {
  ASSERT_TRUE(check_writable(fake.reference("app:v1"), test.access()));
  const auto digest = push(image);
  ASSERT_TRUE(digest) << digest.error().message;
  EXPECT_EQ(*digest, oci::manifest_digest(image));
  EXPECT_EQ((*open_image(fake.reference("app:v1"), "amd64", test.access()))->digest(), *digest);
  const int sent = fake.count("PUT /v2/app/blobs/uploads/");
  EXPECT_EQ(sent, 3);
  ASSERT_TRUE(push(image, "app:v2"));
  EXPECT_EQ(fake.count("PUT /v2/app/blobs/uploads/"), sent);
  EXPECT_EQ(push(image, "app@" + digest->to_string()).error().kind, ErrorKind::usage);
}

TEST_F(Push, ABlobOfTheSameRegistryIsMounted) {
  oci::NewImage based = image;
  fake.override = [](const std::string& method, const std::string&,
                     const std::string&) -> std::optional<std::string> {
    if (method == "HEAD")
      return "HTTP/1.1 404 X\r\nConnection: close\r\n\r\n"; // not in this repository
    return std::nullopt;
  };
  fake.blobs[image.layers[0].descriptor.digest.to_string()] = bytes_of(image.layers[0]);
  based.layers[0].origin = fake.reference("base:v1");
  based.layers[0].open = []() -> Result<oci::BlobPtr> {
    return make_error(ErrorKind::failed, "not to be read");
  };
  based.layers[1].origin = *oci::parse_reference("docker://elsewhere.example.org/base");
  const auto digest = push(based);
  ASSERT_TRUE(digest) << digest.error().message;
  EXPECT_EQ(fake.count("POST /v2/app/blobs/uploads/?mount=" + image.layers[0].descriptor.digest.to_string() +
                       "&from=base "),
            1);
  EXPECT_EQ(fake.count("POST /v2/app/blobs/uploads/ "), 2);
}

TEST_F(Push, AMountThatIsRefusedBecomesAnUpload) {
  oci::NewImage based = image;
  fake.override = [](const std::string&, const std::string& path,
                     const std::string&) -> std::optional<std::string> {
    if (path.find("mount=") != std::string::npos)
      return FakeRegistry::reply(403, "");
    return std::nullopt;
  };
  based.layers[0].origin = fake.reference("base:v1");
  ASSERT_TRUE(push(based));
  EXPECT_TRUE(fake.blobs.contains(image.layers[0].descriptor.digest.to_string()));
}

TEST_F(Push, LargeBlobsGoInChunksAndGoOnAfterTrouble) {
  int patches = 0;
  fake.override = [&](const std::string& method, const std::string&,
                      const std::string&) -> std::optional<std::string> {
    if (method == "PATCH" && ++patches % 3 == 2)
      return patches == 2 ? FakeRegistry::reply(503, "") : std::string(); // or no answer at all
    return std::nullopt;
  };
  const auto digest = push(image, "app:v1", 50);
  ASSERT_TRUE(digest) << digest.error().message;
  EXPECT_GT(fake.count("GET /v2/app/blobs/uploads/one"), 1);
  for (const oci::NewLayer& layer : image.layers)
    EXPECT_EQ(fake.blobs.at(layer.descriptor.digest.to_string()), bytes_of(layer));
}

TEST_F(Push, AnUploadWhoseAnswerWasLostIsNotRepeated) {
  int puts = 0;
  fake.override = [&](const std::string& method, const std::string& path,
                      const std::string& request) -> std::optional<std::string> {
    if (method != "PUT" || path.find("/uploads/") == std::string::npos || ++puts > 1)
      return std::nullopt;
    const std::string body = FakeRegistry::body_of(request);
    fake.blobs[digest_of(body).to_string()] = body;
    return std::string();
  };
  ASSERT_TRUE(push(image));
  EXPECT_EQ(puts, 3);
}

TEST_F(Push, AFailedPushLeavesNoTag) {
  for (const int status : {500, 413, 403}) {
    int puts = 0;
    fake.override = [&](const std::string& method, const std::string& path,
                        const std::string&) -> std::optional<std::string> {
      if (method == "PUT" && path.find("/uploads/") != std::string::npos && ++puts > 1)
        return FakeRegistry::reply(status, R"({"errors":[{"code":"DENIED","message":"no \u001b room"}]})");
      return std::nullopt;
    };
    fake.blobs.clear();
    const auto digest = push(image);
    ASSERT_FALSE(digest);
    EXPECT_EQ(digest.error().kind, status == 500   ? ErrorKind::network
                                   : status == 403 ? ErrorKind::denied
                                                   : ErrorKind::failed);
    EXPECT_THAT(digest.error().message, HasSubstr(R"(DENIED, no \u001b room)"));
    EXPECT_TRUE(fake.manifests.empty());
  }
}

TEST_F(Push, BytesThatAreNotTheirDescriptorsAreNotSent) {
  oci::NewImage wrong = image;
  wrong.layers[1].open = []() -> Result<oci::BlobPtr> { return oci::blob_of("other"); };
  EXPECT_EQ(push(wrong).error().kind, ErrorKind::integrity);
  EXPECT_TRUE(fake.manifests.empty());
}

TEST_F(Push, WhereNobodyMayWriteIsFoundOutBefore) {
  fake.override = [](const std::string& method, const std::string&,
                     const std::string&) -> std::optional<std::string> {
    return method == "POST" ? std::optional(FakeRegistry::reply(403, "")) : std::nullopt;
  };
  const auto checked = check_writable(fake.reference("app:v1"), test.access());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::denied);
  EXPECT_THAT(checked.error().hint, HasSubstr("podman login"));
}

} // namespace
} // namespace xaas::registry
