#include "registry/fake.h"

#include <xaas/base/json.h>
#include <xaas/oci/publication.h>
#include <xaas/registry/referrers.h>

#include <gtest/gtest.h>

namespace xaas::registry {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class Referrers : public ::testing::Test {
protected:
  static constexpr const char* type = "application/spdx+json";

  Referrers() {
    const oci::Publication image = oci::publication_of(small_image("x"));
    subject_ = {oci::media_type::manifest, image.root().digest, image.root().text.size(), {}};
    registry_.put(small_image("x"), "tag");
  }
  oci::Artifact artifact(const std::string& content) const { return {type, content, subject_, {{"a", "b"}}}; }
  Result<Digest> attach_to(const oci::Artifact& artifact) {
    return attach(registry_.reference("app:tag"), artifact, access_.access());
  }
  std::vector<std::string> listed(const std::string& of_type = type) {
    const auto list = referrers(registry_.reference("app:tag"), subject_.digest, of_type, access_.access());
    EXPECT_TRUE(list) << list.error().message;
    std::vector<std::string> digests;
    for (const oci::Referrer& each : list ? *list : std::vector<oci::Referrer>()) {
      EXPECT_EQ(each.type, type);
      digests.push_back(each.descriptor.digest.to_string());
    }
    return digests;
  }
  std::string tag() const { return "sha256-" + subject_.digest.hex(); }

  FakeRegistry registry_;
  TestAccess access_;
  oci::Descriptor subject_;
};

TEST_F(Referrers, UnderATagWhereTheRegistryKnowsNone) {
  EXPECT_TRUE(listed().empty());
  const auto first = attach_to(artifact("one"));
  ASSERT_TRUE(first) << first.error().message;
  const auto second = attach_to(artifact("two"));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(listed(), (std::vector{first->to_string(), second->to_string()}));
  EXPECT_TRUE(listed("application/x").empty());
  EXPECT_EQ(listed("").size(), 2u);
  // Once more: nothing changes.
  const std::string before = registry_.manifests.at(tag()).second;
  ASSERT_TRUE(attach_to(artifact("one")));
  EXPECT_EQ(registry_.manifests.at(tag()).second, before);
  EXPECT_EQ(registry_.manifests.at(tag()).first, oci::media_type::index);

  const Json manifest = Json::parse(registry_.manifests.at(first->to_string()).second);
  EXPECT_EQ(manifest["subject"]["digest"], subject_.digest.to_string());
  EXPECT_EQ(manifest["subject"]["size"], subject_.size);
  EXPECT_EQ(manifest["artifactType"], type);
  EXPECT_EQ(registry_.blobs.at(manifest["layers"][0]["digest"]), "one");
  EXPECT_EQ(registry_.blobs.at(manifest["config"]["digest"]), "{}");
  EXPECT_EQ(Json::parse(before)["manifests"][0]["artifactType"], type);
}

TEST_F(Referrers, OfARegistryThatKnowsThem) {
  std::vector<std::string> all;
  registry_.override = [&](const std::string& method, const std::string& path,
                           const std::string& request) -> std::optional<std::string> {
    if (method == "PUT" && path.find("/manifests/sha256:") != std::string::npos) {
      const std::string text = FakeRegistry::body_of(request);
      all.push_back(Json{
          {"mediaType", oci::media_type::manifest},
          {"digest", digest_of(text).to_string()},
          {"size", text.size()},
          {"artifactType",
           type}}.dump());
      return FakeRegistry::reply(201, "", "OCI-Subject: " + subject_.digest.to_string() + "\r\n");
    }
    const std::string start = "/v2/app/referrers/" + subject_.digest.to_string();
    if (!path.starts_with(start))
      return std::nullopt;
    const size_t page = path == start ? 0 : std::stoul(path.substr(path.find('=') + 1)); // one in each
    const std::string entries = page < all.size() ? all[page] : "";
    return FakeRegistry::reply(200, R"({"schemaVersion":2,"manifests":[)" + entries + "]}",
                               page + 1 < all.size() ? "Link: <" + start + "?n=" + std::to_string(page + 1) +
                                                           ">; rel=\"next\"\r\n"
                                                     : "");
  };
  EXPECT_TRUE(listed().empty());
  const auto first = attach_to(artifact("one")), second = attach_to(artifact("two"));
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(registry_.manifests.contains(tag()));
  EXPECT_EQ(listed(), (std::vector{first->to_string(), second->to_string()}));
}

// Somebody else's list comes between our reading and our writing, once.
TEST_F(Referrers, AnotherWriterCostsNothing) {
  bool done = false;
  registry_.override = [&](const std::string& method, const std::string& path,
                           const std::string&) -> std::optional<std::string> {
    if (method != "PUT" || !path.ends_with(tag()) || std::exchange(done, true))
      return std::nullopt;
    registry_.put_manifest(tag(), oci::media_type::index,
                           R"({"schemaVersion":2,"manifests":[{"mediaType":"m","digest":")" +
                               digest_of("theirs").to_string() + R"(","size":1,"artifactType":")" + type +
                               R"("}]})");
    return FakeRegistry::reply(201, ""); // and ours is lost
  };
  const auto ours = attach_to(artifact("one"));
  ASSERT_TRUE(ours) << ours.error().message;
  EXPECT_EQ(listed(), (std::vector{digest_of("theirs").to_string(), ours->to_string()}));
}

TEST_F(Referrers, AnAnswerThatIsNone) {
  for (const char* body : {"", "no", "[]", "{}", R"({"manifests":{}})"}) {
    registry_.override = [&](const std::string&, const std::string& path,
                             const std::string&) -> std::optional<std::string> {
      if (path.find("/referrers/") == std::string::npos)
        return std::nullopt;
      return FakeRegistry::reply(200, body);
    };
    const auto list = referrers(registry_.reference("app:tag"), subject_.digest, "", access_.access());
    ASSERT_FALSE(list) << body;
    EXPECT_EQ(list.error().kind, ErrorKind::integrity) << list.error().message;
  }
  registry_.override = [&](const std::string&, const std::string& path,
                           const std::string&) -> std::optional<std::string> {
    if (path.find("/referrers/") == std::string::npos)
      return std::nullopt;
    return FakeRegistry::reply(200, R"({"manifests":[]})",
                               "Link: <" + path + ">; rel=\"next\"\r\n"); // no end
  };
  EXPECT_EQ(referrers(registry_.reference("app:tag"), subject_.digest, "", access_.access()).error().kind,
            ErrorKind::integrity);
}

TEST_F(Referrers, InALayout) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const auto reference = [&](const std::string& tag) {
    return *oci::parse_reference("oci:" + directory.path().string() + "/layout" + tag);
  };
  ASSERT_TRUE(oci::write_image(reference(":one"), small_image("x")));
  const auto first = attach(reference(":one"), artifact("one"), {});
  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(attach(reference(":one"), artifact("one"), {})); // once more
  const auto list = referrers(reference(""), subject_.digest, type, {});
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->front().descriptor.digest, *first);
  EXPECT_TRUE(referrers(reference(""), subject_.digest, "application/x", {})->empty());
  EXPECT_TRUE(referrers(reference(""), digest_of("another"), type, {})->empty());
  // The image is still the only one.
  const auto image = oci::open_image(reference(""));
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ((*image)->digest(), subject_.digest);
  // Who writes the tag again leaves the artifact where it is.
  ASSERT_TRUE(oci::write_image(reference(":one"), small_image("y")));
  EXPECT_EQ(referrers(reference(""), subject_.digest, type, {})->size(), 1u);
  // Not a layout, and an archive.
  EXPECT_EQ(
      attach(*oci::parse_reference("oci:" + directory.path().string()), artifact("one"), {}).error().kind,
      ErrorKind::usage);
  EXPECT_EQ(attach(*oci::parse_reference("oci-archive:x.tar"), artifact("one"), {}).error().kind,
            ErrorKind::usage);
}

} // namespace
} // namespace xaas::registry
