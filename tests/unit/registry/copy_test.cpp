// Blobs larger than the pieces in which they come, over connections that break, and copies between
// transports.
#include "registry/fake.h"

#include <xaas/base/file.h>
#include <xaas/registry/referrers.h>

#include <map>
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
  const auto copied = copy(fake.reference("app:v1"), layout("a"), {.own_architecture = "amd64"}, access);
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
  const auto copied =
      copy(fake.reference("app:v1"), layout("a"), {.own_architecture = "amd64"}, test.access());
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(times, 3);
}

TEST_F(Copy, BetweenRegistriesAndLayoutsNothingChanges) {
  FakeRegistry other;
  const oci::NewImage image = large_image();
  oci::NewImage arm = small_image("arm");
  arm.config.architecture = "arm64";
  ASSERT_TRUE(write_index(layout("a"), {image, arm}, test.access()));
  const auto up = copy(layout("a"), fake.reference("app:v1"), {.own_architecture = "amd64"}, test.access());
  ASSERT_TRUE(up) << up.error().message;
  EXPECT_FALSE(up->converted);
  const auto across =
      copy(fake.reference("app:v1"), other.reference("app:v1"), {.own_architecture = "amd64"}, test.access());
  ASSERT_TRUE(across) << across.error().message;
  EXPECT_EQ(across->digest, up->digest);
  EXPECT_EQ(other.blobs, fake.blobs);
  const auto one = copy(other.reference("app:v1"), layout("b"),
                        {.architecture = "arm64", .own_architecture = "amd64"}, test.access());
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->digest, oci::manifest_digest(arm));
  EXPECT_EQ(
      copy(other.reference("app:v1"), layout("c"), {.architecture = "riscv64"}, test.access()).error().kind,
      ErrorKind::unsatisfied);
}

TEST_F(Copy, ATreeIsUnpackedWithPlacesForMounts) {
  fake.put(small_image("x"), "v1");
  const auto to = *oci::parse_reference("rootfs:" + (directory_.path() / "tree").string());
  const auto copied = copy(fake.reference("app:v1"), to, {.own_architecture = "amd64"}, test.access());
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(*read_file(directory_.path() / "tree/bin/a"), "xbin/a");
  for (const char* place : {"dev", "proc", "sys", "tmp", "home", "etc/passwd"})
    EXPECT_TRUE(fs::exists(directory_.path() / "tree" / place)) << place;
  EXPECT_EQ(copy(fake.reference("app:v1"), to, {.own_architecture = "amd64"}, test.access()).error().kind,
            ErrorKind::usage);
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
  const auto copied = copy(fake.reference("app:v1"), layout("a"), {.own_architecture = "amd64"}, access);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().kind, ErrorKind::network);
  EXPECT_THAT(copied.error().message, ::testing::HasSubstr("1024 bytes/sec"));
}

// An image with an artifact that names it, an artifact that names that one, and signatures under a tag.
class CopyReferrers : public Copy {
protected:
  static constexpr const char* payload_type = "application/vnd.dev.cosign.simplesigning.v1+json";

  CopyReferrers() {
    fake.put(small_image("x"), "v1");
    const oci::Publication image = oci::publication_of(small_image("x"));
    image_ = {oci::media_type::manifest, image.root().digest, image.root().text.size(), {}};
    sbom_ = attach_here("sbom", image_);
    about_sbom_ = attach_here("about the sbom", sbom_);
    sign(fake, {"a"});
  }
  oci::Descriptor attach_here(const std::string& content, const oci::Descriptor& subject) {
    const oci::Artifact artifact{"application/x", content, subject, {}};
    EXPECT_TRUE(attach(fake.reference("app:v1"), artifact, test.access()));
    return oci::render(artifact).descriptor;
  }
  std::string tag(const std::string& suffix = "") const { return oci::digest_tag(image_.digest, suffix); }
  // As cosign does: one layer for each signature.
  void sign(FakeRegistry& registry, const std::vector<std::string>& signatures) {
    Json layers = Json::array(), ids = Json::array();
    for (const std::string& each : signatures) {
      registry.blobs[digest_of(each).to_string()] = each;
      layers.push_back({{"mediaType", payload_type},
                        {"digest", digest_of(each).to_string()},
                        {"size", each.size()},
                        {"annotations", {{"dev.cosignproject.cosign/signature", "of " + each}}}});
      ids.push_back(digest_of(each).to_string());
    }
    const std::string config = Json{{"rootfs", {{"type", "layers"}, {"diff_ids", ids}}}}.dump();
    registry.blobs[digest_of(config).to_string()] = config;
    registry.put_manifest(tag(".sig"), oci::media_type::manifest,
                          Json{{"schemaVersion", 2},
                               {"mediaType", oci::media_type::manifest},
                               {"config",
                                {{"mediaType", oci::media_type::config},
                                 {"digest", digest_of(config).to_string()},
                                 {"size", config.size()}}},
                               {"layers", layers}}
                              .dump());
  }
  std::vector<std::string> signatures(const FakeRegistry& registry) const {
    const Json manifest = Json::parse(registry.manifests.at(tag(".sig")).second);
    const Json config = Json::parse(registry.blobs.at(manifest["config"]["digest"]));
    std::vector<std::string> found;
    for (const Json& layer : manifest["layers"])
      found.push_back(registry.blobs.at(layer["digest"]));
    EXPECT_EQ(config["rootfs"]["diff_ids"].size(), found.size());
    return found;
  }
  Copied copied(const oci::Reference& from, const oci::Reference& to, const CopyOptions& options = {}) {
    auto result = copy(from, to, options, test.access());
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : Copied{};
  }

  oci::Descriptor image_, sbom_, about_sbom_;
};

TEST_F(CopyReferrers, GoThroughEveryTransport) {
  const oci::Reference archive =
      *oci::parse_reference("oci-archive:" + (directory_.path() / "a.tar").string());
  FakeRegistry other;
  std::vector<oci::Reference> places = {fake.reference("app:v1"), layout("a"), archive, layout("b"),
                                        other.reference("app:v1")};
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    const Copied result = copied(places[i], places[i + 1]);
    std::map<Digest, std::string> tags;
    for (const oci::Referrer& each : result.referrers)
      tags[each.descriptor.digest] = each.tag;
    const Digest signed_by = digest_of(fake.manifests.at(tag(".sig")).second);
    EXPECT_EQ(tags, (std::map<Digest, std::string>{
                        {sbom_.digest, ""}, {about_sbom_.digest, ""}, {signed_by, tag(".sig")}}))
        << places[i + 1].text;
    EXPECT_EQ(result.blobs, 3u); // of the image
  }
  for (const std::string& name : {tag(), oci::digest_tag(sbom_.digest), tag(".sig"), std::string("v1")})
    EXPECT_EQ(Json::parse(other.manifests.at(name).second)["manifests"],
              Json::parse(fake.manifests.at(name).second)["manifests"]);
  EXPECT_EQ(signatures(other), (std::vector<std::string>{"a"}));
  // The image is still the one without a tag.
  const auto opened =
      oci::open_image(*oci::parse_reference("oci:" + (directory_.path() / "b").string()), "amd64");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->digest(), image_.digest);
}

TEST_F(CopyReferrers, StayWhereTheyAreIfNotWanted) {
  const Copied result = copied(fake.reference("app:v1"), layout("a"), {.referrers = false});
  EXPECT_TRUE(result.referrers.empty());
  const auto list = referrers(layout("a"), image_.digest, "", test.access());
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->empty());
  EXPECT_EQ(fake.count("GET /v2/app/referrers/" + image_.digest.to_string()), 0);
}

TEST_F(CopyReferrers, TheDestinationKeepsItsOwnSignatures) {
  FakeRegistry other;
  sign(other, {"site"});
  copied(fake.reference("app:v1"), other.reference("app:v1"));
  EXPECT_EQ(signatures(other), (std::vector<std::string>{"site", "a"}));
  copied(fake.reference("app:v1"), other.reference("app:v1")); // once more
  EXPECT_EQ(signatures(other), (std::vector<std::string>{"site", "a"}));
  // It has less than the source, then the same.
  sign(fake, {"site", "a", "b"});
  copied(fake.reference("app:v1"), other.reference("app:v1"));
  EXPECT_EQ(other.manifests.at(tag(".sig")), fake.manifests.at(tag(".sig")));
  // A layout with signatures of its own.
  copied(other.reference("app:v1"), layout("a"));
  sign(fake, {"c"});
  copied(fake.reference("app:v1"), layout("a"));
  FakeRegistry third;
  copied(layout("a"), third.reference("app:v1"));
  EXPECT_EQ(signatures(third), (std::vector<std::string>{"site", "a", "b", "c"}));
}

TEST_F(CopyReferrers, WhatIsListedFalselyIsLeftOut) {
  const Json list = Json::parse(fake.manifests.at(oci::digest_tag(sbom_.digest)).second);
  fake.put_manifest(tag(), oci::media_type::index, list.dump()); // these name another subject
  const Copied result = copied(fake.reference("app:v1"), layout("a"));
  ASSERT_EQ(result.referrers.size(), 1u);
  EXPECT_EQ(result.referrers[0].tag, tag(".sig"));
  // What is listed and missing is an error, because a copy without it would be an incomplete one.
  Json missing = list;
  missing["manifests"][0]["digest"] = digest_of("nothing").to_string();
  fake.put_manifest(tag(), oci::media_type::index, missing.dump());
  const auto failed = copy(fake.reference("app:v1"), layout("b"), {}, test.access());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::integrity);
  EXPECT_THAT(failed.error().message, ::testing::HasSubstr(digest_of("nothing").to_string()));
}

// A list that names an artifact for the wrong subject does not hide it from the right one.
TEST_F(CopyReferrers, AFalseListHidesNothing) {
  Json list = Json::parse(fake.manifests.at(tag()).second);
  const Json about_sbom = Json::parse(fake.manifests.at(oci::digest_tag(sbom_.digest)).second);
  list["manifests"].push_back(about_sbom["manifests"][0]);
  fake.put_manifest(tag(), oci::media_type::index, list.dump());
  EXPECT_EQ(copied(fake.reference("app:v1"), layout("a")).referrers.size(), 3u);
}

TEST_F(CopyReferrers, ADamagedEntryOfALayoutIsNamed) {
  copied(fake.reference("app:v1"), layout("a"));
  const fs::path blobs = directory_.path() / "a" / "blobs" / "sha256";
  ASSERT_TRUE(write_file(blobs / about_sbom_.digest.hex(), "damaged"));
  std::vector<std::string> skipped;
  const auto find =
      oci::stored_referrers(layout("a"), [&](const std::string& line) { skipped.push_back(line); });
  ASSERT_TRUE(find);
  ASSERT_EQ(skipped.size(), 1u);
  EXPECT_THAT(skipped[0], ::testing::HasSubstr(about_sbom_.digest.to_string()));
  EXPECT_EQ((*find)(image_.digest, true)->size(), 2u);
  EXPECT_EQ((*find)(image_.digest, false)->size(), 1u);
}

// Two tags of one document, and what the destination has under each.
TEST_F(CopyReferrers, OneDocumentUnderTwoTags) {
  FakeRegistry other;
  sign(other, {"site"});
  fake.manifests[tag(".att")] = fake.manifests.at(tag(".sig"));
  other.manifests[tag(".att")] = other.manifests.at(tag(".sig"));
  copied(fake.reference("app:v1"), other.reference("app:v1"));
  EXPECT_EQ(signatures(other), (std::vector<std::string>{"site", "a"}));
  EXPECT_EQ(other.manifests.at(tag(".att")), other.manifests.at(tag(".sig")));
  copied(fake.reference("app:v1"), layout("a"));
}

// An index is no signature, and in nobody's way.
TEST_F(CopyReferrers, AnIndexUnderATagOfSignatures) {
  fake.put_manifest(tag(".att"), oci::media_type::index, R"({"schemaVersion":2,"manifests":[]})");
  FakeRegistry other;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(copied(fake.reference("app:v1"), other.reference("app:v1")).referrers.size(), 3u);
  EXPECT_FALSE(other.manifests.contains(tag(".att")));
}

// Signatures of another tool, without the configuration that cosign writes.
TEST_F(CopyReferrers, SignaturesWithAnEmptyConfiguration) {
  FakeRegistry other;
  sign(other, {"site"});
  Json manifest = Json::parse(other.manifests.at(tag(".sig")).second);
  manifest["config"] = {{"mediaType", "application/vnd.oci.empty.v1+json"},
                        {"digest", digest_of("{}").to_string()},
                        {"size", 2}};
  other.blobs[digest_of("{}").to_string()] = "{}";
  other.put_manifest(tag(".sig"), oci::media_type::manifest, manifest.dump());
  copied(fake.reference("app:v1"), other.reference("app:v1"));
  EXPECT_EQ(Json::parse(other.manifests.at(tag(".sig")).second)["layers"].size(), 2u);
}

// What a layout says of its signatures beyond the digest stays.
TEST_F(CopyReferrers, AnEntryThatDoesNotChangeStays) {
  copied(fake.reference("app:v1"), layout("a"));
  const fs::path file = directory_.path() / "a" / "index.json";
  Json index = Json::parse(*read_file(file, 1 << 20));
  for (Json& entry : index["manifests"])
    if (entry.contains("annotations"))
      entry["annotations"]["more"] = "text";
  ASSERT_TRUE(write_file(file, index.dump()));
  copied(fake.reference("app:v1"), layout("a"));
  const Json after = Json::parse(*read_file(file, 1 << 20));
  for (const Json& entry : after["manifests"])
    if (entry.contains("annotations") && entry["annotations"].dump().find(".sig") != std::string::npos)
      EXPECT_EQ(entry["annotations"]["more"], "text");
}

// The image itself under the tag of its signatures.
TEST_F(CopyReferrers, TheImageIsNoSignature) {
  fake.manifests[tag(".sig")] = fake.manifests.at("v1");
  FakeRegistry other;
  sign(other, {"site"});
  const Copied result = copied(fake.reference("app:v1"), other.reference("app:v1"));
  EXPECT_EQ(result.digest, image_.digest);
  EXPECT_EQ(signatures(other), (std::vector<std::string>{"site"}));
  EXPECT_EQ(other.manifests.at("v1"), fake.manifests.at("v1"));
}

TEST_F(CopyReferrers, AnSbomOfTheDestinationStays) {
  FakeRegistry other;
  sign(other, {"theirs"});
  other.manifests[tag(".sbom")] = other.manifests.at(tag(".sig"));
  fake.manifests[tag(".sbom")] = fake.manifests.at(tag(".sig"));
  const auto before = other.manifests.at(tag(".sbom"));
  copied(fake.reference("app:v1"), other.reference("app:v1"));
  EXPECT_EQ(other.manifests.at(tag(".sbom")), before);
}

// Somebody signs at the destination while we copy.
TEST_F(CopyReferrers, ASignatureThatComesInBetweenStays) {
  FakeRegistry other;
  bool done = false;
  other.override = [&](const std::string& method, const std::string& path,
                       const std::string&) -> std::optional<std::string> {
    if (method != "PUT" || !path.ends_with(tag(".sig")) || std::exchange(done, true))
      return std::nullopt;
    sign(other, {"theirs"});
    return FakeRegistry::reply(201, ""); // and ours is lost
  };
  copied(fake.reference("app:v1"), other.reference("app:v1"));
  EXPECT_EQ(signatures(other), (std::vector<std::string>{"theirs", "a"}));
}

TEST_F(CopyReferrers, TheSameSignatureInAnotherOrderOfKeys) {
  FakeRegistry other;
  copied(fake.reference("app:v1"), other.reference("app:v1"));
  nlohmann::json sorted = nlohmann::json::parse(other.manifests.at(tag(".sig")).second);
  other.put_manifest(tag(".sig"), oci::media_type::manifest, sorted.dump());
  copied(fake.reference("app:v1"), other.reference("app:v1"));
  EXPECT_EQ(signatures(other), (std::vector<std::string>{"a"}));
}

// Registries and proxies that answer something else than the specification says.
TEST_F(CopyReferrers, RegistriesWithoutTheApi) {
  for (const std::string& answer :
       {FakeRegistry::reply(400, ""), FakeRegistry::reply(405, ""), FakeRegistry::reply(501, ""),
        FakeRegistry::reply(200, "<html>", "Content-Type: text/html\r\n")}) {
    fake.override = [&](const std::string&, const std::string& path,
                        const std::string&) -> std::optional<std::string> {
      return path.find("/referrers/") == std::string::npos ? std::nullopt : std::optional(answer);
    };
    const TemporaryDirectory directory = *TemporaryDirectory::create();
    EXPECT_EQ(
        copied(fake.reference("app:v1"), *oci::parse_reference("oci:" + directory.path().string() + "/x:v1"))
            .referrers.size(),
        3u)
        << answer;
  }
  const auto failed = [&] {
    fake.override = [&](const std::string&, const std::string& path,
                        const std::string&) -> std::optional<std::string> {
      return path.find("/referrers/") == std::string::npos ? std::nullopt
                                                           : std::optional(FakeRegistry::reply(418, ""));
    };
    return copy(fake.reference("app:v1"), layout("c"), {}, test.access());
  }();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().hint, ::testing::HasSubstr("--no-referrers"));
}

// Another digest algorithm, an old media type, an entry of something else: none of them is in the way.
TEST_F(CopyReferrers, WhatIsUnknownIsSkipped) {
  Json list = Json::parse(fake.manifests.at(tag()).second);
  const size_t known = list["manifests"].size();
  list["manifests"].push_back(
      {{"mediaType", oci::media_type::manifest}, {"digest", "sha512:" + std::string(128, 'a')}, {"size", 3}});
  list["manifests"].push_back({{"mediaType", "application/vnd.oci.artifact.manifest.v1+json"},
                               {"digest", digest_of("old").to_string()},
                               {"size", 3}});
  fake.put_manifest(tag(), oci::media_type::index, list.dump());
  EXPECT_EQ(copied(fake.reference("app:v1"), layout("a")).referrers.size(), known + 2);
  const fs::path file = directory_.path() / "a" / "index.json";
  Json index = Json::parse(*read_file(file, 1 << 20));
  index["manifests"].push_back(list["manifests"][known]);
  index["manifests"].push_back(list["manifests"][known + 1]);
  ASSERT_TRUE(write_file(file, index.dump()));
  EXPECT_EQ(copied(layout("a"), layout("b")).referrers.size(), known + 2);
}

TEST_F(CopyReferrers, DeepJsonIsRefused) {
  const std::string deep = R"({"mediaType":"application/vnd.oci.image.index.v1+json","manifests":)" +
                           std::string(100'000, '[') + std::string(100'000, ']') + "}";
  fake.put_manifest("deep", oci::media_type::index, deep);
  fake.put_manifest(tag(), oci::media_type::index,
                    R"({"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":")" +
                        digest_of(deep).to_string() + R"(","size":)" + std::to_string(deep.size()) + "}]}");
  const auto failed = copy(fake.reference("app:v1"), layout("a"), {}, test.access());
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, ::testing::HasSubstr("levels deep"));
}

// Lists of others keep what we do not know.
TEST_F(CopyReferrers, AListKeepsWhatOthersWrote) {
  FakeRegistry other;
  const std::string theirs =
      R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{"mediaType":"m","digest":")" +
      digest_of("theirs").to_string() +
      R"(","size":1,"data":"eA==","platform":{"architecture":"amd64","os":"linux"}}],"annotations":{"a":"b"}})";
  other.put_manifest(tag(), oci::media_type::index, theirs);
  copied(fake.reference("app:v1"), other.reference("app:v1"));
  const Json now = Json::parse(other.manifests.at(tag()).second);
  EXPECT_EQ(now["manifests"][0], Json::parse(theirs)["manifests"][0]);
  EXPECT_EQ(now["annotations"]["a"], "b");
  EXPECT_EQ(now["manifests"].size(), 2u);
}

// An endless chain of artifacts, each about the one before.
TEST_F(CopyReferrers, AreLimited) {
  std::string last;
  fake.override = [&](const std::string&, const std::string& path,
                      const std::string&) -> std::optional<std::string> {
    const size_t at = path.find("/referrers/");
    if (at == std::string::npos)
      return std::nullopt;
    const Digest subject = *Digest::parse(path.substr(at + 11));
    const oci::RenderedArtifact next =
        oci::render({"application/x", "x", {oci::media_type::manifest, subject, 1, {}}, {}});
    fake.blobs[digest_of("x").to_string()] = "x";
    fake.blobs[digest_of(oci::empty_config).to_string()] = oci::empty_config;
    fake.put_manifest(next.descriptor.digest.to_string(), oci::media_type::manifest, next.manifest);
    Json list = Json::array();
    list.push_back(oci::to_json({"application/x", next.descriptor, subject, ""}));
    return FakeRegistry::reply(200, Json{{"manifests", list}}.dump());
  };
  const auto failed = copy(fake.reference("app:v1"), layout("a"), {}, test.access());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::integrity);
  EXPECT_THAT(failed.error().message, ::testing::HasSubstr("more than 1000"));
}

TEST_F(CopyReferrers, TagsOfDigests) {
  const std::string hex = image_.digest.hex();
  for (const std::string& tag : {"sha256-" + hex, "sha256-" + hex + ".sig", "sha256-" + hex + ".sbom"})
    EXPECT_EQ(oci::digest_in_tag(tag), image_.digest) << tag;
  for (const std::string& tag :
       {std::string(), std::string("v1"), "sha256-" + hex.substr(1), "sha256-" + hex + "0", "sha512-" + hex,
        "sha256-" + hex + ".x", "sha256-" + hex + ".sig/../../../x/manifests/y?.sig",
        "sha256-" + std::string(64, 'g')})
    EXPECT_FALSE(oci::digest_in_tag(tag)) << tag;
}

} // namespace
} // namespace xaas::registry
