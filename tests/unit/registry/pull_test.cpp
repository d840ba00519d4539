#include "registry/fake.h"

#include <xaas/base/json.h>

namespace xaas::registry {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

class Pull : public ::testing::Test {
protected:
  Pull() { fake.put(image, "v1"); }
  Result<std::unique_ptr<oci::Image>> open(const std::string& name = "app:v1", const char* arch = "amd64") {
    return open_image(fake.reference(name), arch, test.access());
  }
  const oci::Descriptor& layer(size_t i) const { return image.layers[i].descriptor; }
  std::string layer_path() const { return "/v2/app/blobs/" + layer(0).digest.to_string(); }
  std::string layer_bytes() const { return bytes_of(image.layers[0]); }
  // Opens the image and reads the first layer.
  Result<std::string> read_layer() {
    XAAS_TRY(const auto opened, open());
    return opened->blob(layer(0));
  }
  const oci::NewImage image = small_image("x");
  FakeRegistry fake;
  TestAccess test;
};

TEST_F(Pull, ReadsByTagAndByDigestAndMovesOnlyWhatIsRead) {
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  const Digest digest = oci::manifest_digest(image);
  EXPECT_EQ((*opened)->digest(), digest);
  EXPECT_EQ(fake.count("GET /v2/app/blobs/"), 1); // the configuration
  EXPECT_EQ(*(*opened)->blob(layer(0)), layer_bytes());
  EXPECT_EQ(*(*opened)->blob(layer(0)), layer_bytes()); // known by now
  EXPECT_EQ(fake.count("GET /v2/app/blobs/"), 2);
  EXPECT_TRUE(open("app@" + digest.to_string()));
  EXPECT_EQ(open("app:v2").error().kind, ErrorKind::not_found);
}

TEST_F(Pull, WhatWasReadIsKeptForLaterRuns) {
  const auto directory = *TemporaryDirectory::create();
  Access access = test.access();
  access.blobs = *store::Cache::open(directory.path() / "blobs");
  ASSERT_TRUE((*open_image(fake.reference("app:v1"), "amd64", access))->blob(layer(0)));
  access.offline = true;
  const std::string pinned = "app@" + oci::manifest_digest(image).to_string();
  const auto again = open_image(fake.reference(pinned), "amd64", access);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE((*again)->blob(layer(0)));
  EXPECT_EQ((*again)->blob(layer(1)).error().kind, ErrorKind::network); // of this nobody has a copy
  EXPECT_EQ(open_image(fake.reference("app:v1"), "amd64", access).error().kind, ErrorKind::network);
  EXPECT_EQ(fake.count("GET /v2/app/blobs/"), 2);
}

TEST_F(Pull, AnIndexGivesTheEntryOfTheArchitecture) {
  const oci::Document manifest = oci::publication_of(image).root();
  const auto index = [&](const char* type, const char* manifest_type, const char* arch) {
    return Json{{"schemaVersion", 2},
                {"mediaType", type},
                {"manifests",
                 {{{"mediaType", manifest_type},
                   {"digest", manifest.digest.to_string()},
                   {"size", manifest.text.size()},
                   {"platform", {{"architecture", arch}, {"os", "linux"}}}}}}}
        .dump();
  };
  fake.put_manifest("multi", oci::media_type::index,
                    index(oci::media_type::index, oci::media_type::manifest, "amd64"));
  EXPECT_EQ((*open("app:multi"))->digest(), manifest.digest);
  EXPECT_EQ(open("app:multi", "arm64").error().kind, ErrorKind::unsatisfied);
  // What the bytes say of themselves and what the registry says must agree.
  fake.put_manifest("both", oci::media_type::manifest,
                    index(oci::media_type::index, oci::media_type::manifest, "amd64"));
  EXPECT_EQ(open("app:both").error().kind, ErrorKind::integrity);
}

TEST_F(Pull, ABrokenTransferGoesOnWhereItEnded) {
  const std::string bytes = layer_bytes();
  int times = 0;
  fake.override = [&](const std::string&, const std::string& path,
                      const std::string& request) -> std::optional<std::string> {
    if (path != layer_path() || ++times > 2)
      return std::nullopt;
    const std::string range = FakeRegistry::field(request, "Range");
    EXPECT_EQ(range, times == 1 ? "" : "bytes=10-");
    const std::string head =
        range.empty() ? "HTTP/1.1 200 X\r\n" : "HTTP/1.1 206 X\r\nContent-Range: bytes 10-99/99\r\n";
    const std::string rest = bytes.substr(range.empty() ? 0 : 10);
    return head + "Content-Length: " + std::to_string(rest.size()) + "\r\n\r\n" + rest.substr(0, 10);
  };
  const auto read = read_layer();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, bytes);
  EXPECT_EQ(times, 3);
  EXPECT_THAT(fake.requests().back(), HasSubstr("Range: bytes=20-\r\n"));
  EXPECT_EQ(test.pauses.size(), 2U);
}

TEST_F(Pull, PassingTroubleIsTriedAgainAfterGrowingPauses) {
  int times = 0;
  fake.override = [&](const std::string&, const std::string& path,
                      const std::string&) -> std::optional<std::string> {
    if (path != layer_path() || ++times > 3)
      return std::nullopt;
    return times == 1   ? FakeRegistry::reply(429, "", "Retry-After: 7\r\n")
           : times == 2 ? FakeRegistry::reply(503, "")
                        : std::string();
  };
  ASSERT_TRUE(read_layer());
  using namespace std::chrono_literals;
  EXPECT_EQ(test.pauses, (std::vector<std::chrono::milliseconds>{7000ms, 1000ms, 2000ms}));
}

TEST_F(Pull, TroubleThatStaysIsAnErrorOfTheNetwork) {
  for (const int status : {408, 429, 500, 503}) {
    fake.override = [&](const std::string&, const std::string& path,
                        const std::string&) -> std::optional<std::string> {
      return path == layer_path() ? std::optional(FakeRegistry::reply(status, "")) : std::nullopt;
    };
    EXPECT_EQ(read_layer().error().kind, ErrorKind::network) << status;
  }
  const size_t before = test.pauses.size();
  fake.override = [&](const std::string&, const std::string& path,
                      const std::string&) -> std::optional<std::string> {
    return path == layer_path() ? std::optional(FakeRegistry::reply(429, "", "Retry-After: 86400\r\n"))
                                : std::nullopt;
  };
  EXPECT_EQ(read_layer().error().kind, ErrorKind::network);
  EXPECT_EQ(test.pauses.size(), before); // a day is not waited for
}

TEST_F(Pull, WhatIsForbiddenOrMissingIsNotTriedAgain) {
  for (const auto& [status, kind] : {std::pair(403, ErrorKind::denied), std::pair(404, ErrorKind::integrity),
                                     std::pair(400, ErrorKind::failed)}) {
    fake.override = [&](const std::string&, const std::string& path,
                        const std::string&) -> std::optional<std::string> {
      return path == layer_path() ? std::optional(FakeRegistry::reply(status, "")) : std::nullopt;
    };
    const auto read = read_layer();
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, kind) << read.error().message;
  }
  EXPECT_TRUE(test.pauses.empty());
}

TEST_F(Pull, HostileBodiesAreIntegrityErrors) {
  const std::string bytes = layer_bytes();
  std::string other = bytes;
  other[other.size() / 2] ^= 1;
  const std::string cases[] = {
      FakeRegistry::reply(200, other),           // another digest
      FakeRegistry::reply(200, bytes.substr(1)), // too short, and says so
      FakeRegistry::reply(200, bytes + "x"),     // too long
      FakeRegistry::reply(200, ""),              // nothing
      "HTTP/1.1 200 X\r\nConnection: close\r\n\r\n" + bytes + std::string(5'000'000, 'x'), // without an end
      "HTTP/1.1 206 X\r\nConnection: close\r\nContent-Range: bytes 5-9/10\r\n\r\nabcde",
      "HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: 99999999999\r\n\r\n" + bytes + bytes,
  };
  for (const std::string& reply : cases) {
    fake.override = [&](const std::string&, const std::string& path,
                        const std::string&) -> std::optional<std::string> {
      return path == layer_path() ? std::optional(reply) : std::nullopt;
    };
    const auto read = read_layer();
    ASSERT_FALSE(read) << reply.substr(0, 60);
    EXPECT_EQ(read.error().kind, ErrorKind::integrity) << read.error().message;
  }
}

TEST_F(Pull, HostileManifestsAreRefused) {
  const std::string good = oci::publication_of(image).root().text;
  const auto reply = [&](const std::string& text, const std::string& headers = {}) {
    fake.override = [=](const std::string&, const std::string& path,
                        const std::string&) -> std::optional<std::string> {
      if (path.find("/manifests/") == std::string::npos)
        return std::nullopt;
      return FakeRegistry::reply(200, text, headers + "Content-Type: " + oci::media_type::manifest + "\r\n");
    };
  };
  reply(good + std::string(5'000'000, ' '));
  EXPECT_EQ(open().error().kind, ErrorKind::integrity);
  reply(good, "Docker-Content-Digest: " + digest_of("other").to_string() + "\r\n");
  EXPECT_EQ(open().error().kind, ErrorKind::integrity);
  reply(good + " ");
  EXPECT_EQ(open("app@" + digest_of(good).to_string()).error().kind, ErrorKind::integrity);
  reply("{");
  EXPECT_EQ(open().error().kind, ErrorKind::integrity);
  reply("<html>");
  EXPECT_EQ(open().error().kind, ErrorKind::integrity);
  // A layer of more bytes than anybody sends.
  Json huge = Json::parse(good);
  huge["layers"][0]["size"] = uint64_t(1) << 60;
  reply(huge.dump());
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->open_blob((*opened)->manifest().layers[0]).error().kind, ErrorKind::integrity);
}

TEST_F(Pull, RedirectsGoWithoutTheTokenAndEnd) {
  HttpServer elsewhere([&](const std::string&) { return FakeRegistry::reply(200, layer_bytes()); });
  std::string location = elsewhere.url("/storage?signature=1");
  fake.override = [&](const std::string&, const std::string& path,
                      const std::string& request) -> std::optional<std::string> {
    if (path == "/v2/token")
      return std::nullopt;
    if (path.starts_with("/token"))
      return FakeRegistry::reply(200, R"({"token":"s3cret-token"})");
    if (request.find("Authorization: Bearer s3cret-token") == std::string::npos)
      return FakeRegistry::reply(401, "",
                                 "WWW-Authenticate: Bearer realm=\"" + fake.url("/token") + "\"\r\n");
    return path == layer_path()
               ? std::optional(FakeRegistry::reply(307, "", "Location: " + location + "\r\n"))
               : std::nullopt;
  };
  const auto read = read_layer();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(elsewhere.requests().size(), 1U);
  EXPECT_THAT(elsewhere.requests()[0], Not(HasSubstr("s3cret")));

  location = fake.url(layer_path()); // a circle
  EXPECT_EQ(read_layer().error().kind, ErrorKind::integrity);
  for (const char* nowhere : {"", "ftp://127.0.0.1/x", "http://user:pw@127.0.0.1/x", "file:///etc/passwd"}) {
    location = nowhere;
    EXPECT_EQ(read_layer().error().kind, ErrorKind::integrity) << nowhere;
  }
}

TEST_F(Pull, DockersFormatIsRead) {
  Json manifest = Json::parse(oci::publication_of(image).root().text);
  manifest["mediaType"] = oci::media_type::docker_manifest;
  manifest["config"]["mediaType"] = oci::media_type::docker_config;
  manifest.erase("annotations");
  for (Json& each : manifest["layers"])
    each["mediaType"] = oci::media_type::docker_layer_gzip;
  fake.put_manifest("docker", oci::media_type::docker_manifest, manifest.dump());
  const auto opened = open("app:docker");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->manifest().annotations.at("dev.xaas.kind"), "deployed"); // from the labels
  EXPECT_TRUE((*opened)->blob((*opened)->manifest().layers[0]));
}

TEST_F(Pull, AServerThatIsNoRegistryIsSaidToBeNone) {
  fake.override = [](const std::string&, const std::string&,
                     const std::string&) -> std::optional<std::string> {
    return FakeRegistry::reply(404, "not here");
  };
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::network);
  EXPECT_THAT(opened.error().message, HasSubstr("not a registry"));
}

} // namespace
} // namespace xaas::registry
