// Copies of whatever there is, and indexes.
#include "oci/testing.h"

#include <xaas/base/file.h>

namespace xaas::oci {
namespace {

using testing::image_of;

class PublicationTest : public ::testing::Test {
protected:
  Reference layout(const std::string& name, const std::string& tag = "v1") {
    return *parse_reference("oci:" + (directory_.path() / name).string() + ":" + tag);
  }
  Reference archive(const std::string& name) {
    return *parse_reference("oci-archive:" + (directory_.path() / name).string() + ":v1");
  }
  Result<Publication> read(const Reference& from, const ReadOptions& options = {}) {
    XAAS_TRY(OpenedSource opened, open_stored(from, options.architecture));
    return read_publication(std::shared_ptr<const BlobSource>(std::move(opened.source)), opened.root, from,
                            options);
  }
  // Stores a document in a layout, and points the tag v1 at it.
  void put_root(const std::string& name, const std::string& type, const std::string& text) {
    const fs::path path = directory_.path() / name;
    ASSERT_TRUE(write_file(path / "blobs/sha256" / digest_of(text).hex(), text));
    const Json index = {
        {"schemaVersion", 2},
        {"manifests", Json::array({{{"mediaType", type},
                                    {"digest", digest_of(text).to_string()},
                                    {"size", text.size()},
                                    {"annotations", {{"org.opencontainers.image.ref.name", "v1"}}}}})}};
    ASSERT_TRUE(write_file(path / "index.json", index.dump()));
  }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

NewImage for_architecture(const std::string& architecture) {
  NewImage image = image_of("tool-" + architecture);
  image.config.architecture = architecture;
  return image;
}

TEST_F(PublicationTest, AnIndexListsItsImagesInTheirOrder) {
  const Publication index = publication_of({for_architecture("arm64"), for_architecture("amd64")});
  ASSERT_TRUE(write_publication(layout("a"), index));
  for (const char* architecture : {"amd64", "arm64"}) {
    const auto opened = open_image(layout("a"), architecture);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ((*opened)->config().architecture, architecture);
    EXPECT_EQ((*opened)->digest(), manifest_digest(for_architecture(architecture)));
    EXPECT_EQ((*opened)->index_digest(), index.root().digest);
  }
  const Json json = Json::parse(index.root().text);
  EXPECT_EQ(json["manifests"][0]["platform"]["architecture"], "arm64");
  EXPECT_EQ(json["annotations"]["dev.xaas.kind"], "ir");
  EXPECT_EQ(open_image(layout("a"), "riscv64").error().kind, ErrorKind::unsatisfied);
}

// Several images for one architecture: the first, or that of the chooser, which sees their annotations.
TEST_F(PublicationTest, AnIndexListsSeveralImagesForAnArchitecture) {
  std::vector<ListedImage> images;
  for (const char* name : {"old", "new"}) {
    NewImage image = for_architecture("amd64");
    image.config.labels["name"] = name;
    images.push_back({publication_of(image), "amd64", images.empty() ? "" : "v3", {{"name", name}}});
  }
  const Digest first = images[0].image.root().digest, second = images[1].image.root().digest;
  const Publication index = index_of(images);
  ASSERT_TRUE(write_publication(layout("a"), index));
  const Json json = Json::parse(index.root().text);
  EXPECT_FALSE(json["manifests"][0]["platform"].contains("variant"));
  EXPECT_EQ(json["manifests"][1]["platform"]["variant"], "v3");
  EXPECT_EQ(json["manifests"][1]["annotations"]["name"], "new");
  EXPECT_EQ((*open_image(layout("a"), "amd64"))->digest(), first);
  const Chooser newest = [](const auto& annotations) -> Result<size_t> {
    EXPECT_EQ(annotations.size(), 2u);
    return annotations[1].at("name") == "new" ? 1 : 0;
  };
  EXPECT_EQ((*open_image(layout("a"), "amd64", newest))->digest(), second);
  const Chooser none = [](const auto&) -> Result<size_t> {
    return make_error(ErrorKind::unsatisfied, "none is good enough");
  };
  EXPECT_EQ(open_image(layout("a"), "amd64", none).error().kind, ErrorKind::unsatisfied);
}

// The chooser sees the images of all levels at once, each once; and no index makes readers open thousands.
TEST_F(PublicationTest, AChooserSeesNestedIndexes) {
  const auto image = [](int number) {
    NewImage image = for_architecture("amd64");
    image.config.labels["number"] = std::to_string(number);
    return ListedImage{publication_of(image), "amd64", {}, {{"number", std::to_string(number)}}};
  };
  const auto nested = [&](int from, int to) {
    std::vector<ListedImage> images;
    for (int i = from; i < to; ++i)
      images.push_back(image(i));
    return ListedImage{index_of(std::move(images)), "amd64", {}, {}};
  };
  ASSERT_TRUE(write_publication(layout("a"), index_of({nested(0, 9), nested(5, 14)})));
  const Chooser last = [](const auto& annotations) -> Result<size_t> {
    EXPECT_EQ(annotations.size(), 14u);
    return annotations.size() - 1;
  };
  EXPECT_EQ((*open_image(layout("a"), "amd64", last))->config().labels.at("number"), "13");
  EXPECT_EQ((*open_image(layout("a"), "amd64"))->config().labels.at("number"), "0");
  ASSERT_TRUE(write_publication(layout("b"), index_of({nested(0, 300)})));
  EXPECT_EQ(open_image(layout("b"), "amd64", last).error().kind, ErrorKind::integrity);
  EXPECT_TRUE(open_image(layout("b"), "amd64"));
}

TEST_F(PublicationTest, ACopyHasTheDigestsOfItsOriginal) {
  const Publication index = publication_of({for_architecture("arm64"), for_architecture("amd64")});
  ASSERT_TRUE(write_publication(layout("a"), index, 4));
  const auto whole = read(layout("a"));
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->source, index.root().digest);
  EXPECT_EQ(whole->blobs.size(), index.blobs.size());
  EXPECT_EQ(*write_publication(archive("a.tar"), *whole), index.root().digest);
  const auto again = read(archive("a.tar"), {.as_oci = true});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*write_publication(layout("b"), *again), index.root().digest);
  EXPECT_TRUE((*open_image(layout("b"), "arm64"))->open_blob(for_architecture("arm64").layers[0].descriptor));

  const auto one = read(archive("a.tar"), {.architecture = "arm64"});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->documents.size(), 1U);
  EXPECT_EQ(*write_publication(layout("one"), *one), manifest_digest(for_architecture("arm64")));
}

// Docker's format of an image, in a layout.
TEST_F(PublicationTest, DockersDocumentsBecomeThoseOfOci) {
  const NewImage image = image_of("x");
  ASSERT_TRUE(write_image(layout("a"), image));
  Json docker = Json::parse(publication_of(image).root().text);
  docker["mediaType"] = media_type::docker_manifest;
  docker["config"]["mediaType"] = media_type::docker_config;
  for (Json& layer : docker["layers"])
    layer["mediaType"] = media_type::docker_layer_gzip;
  put_root("a", media_type::docker_manifest, docker.dump());
  EXPECT_EQ(read(layout("a"))->root().text, docker.dump());
  const auto converted = read(layout("a"), {.as_oci = true});
  ASSERT_TRUE(converted) << converted.error().message;
  EXPECT_EQ(converted->root().digest, manifest_digest(image));
  EXPECT_EQ(converted->source, digest_of(docker.dump()));

  Json list = {{"schemaVersion", 2}, {"mediaType", media_type::docker_index}};
  list["manifests"] = Json::array({{{"mediaType", media_type::docker_manifest},
                                    {"digest", digest_of(docker.dump()).to_string()},
                                    {"size", docker.dump().size()},
                                    {"platform", {{"architecture", "amd64"}, {"os", "linux"}}}}});
  put_root("a", media_type::docker_index, list.dump());
  const auto index = read(layout("a"), {.as_oci = true});
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_EQ(index->root().media_type, media_type::index);
  EXPECT_EQ(Json::parse(index->root().text)["manifests"][0]["digest"], manifest_digest(image).to_string());
  EXPECT_EQ(*write_publication(layout("b"), *index), index->root().digest);
  EXPECT_EQ((*open_image(layout("b")))->digest(), manifest_digest(image));
}

TEST_F(PublicationTest, ArtifactsAreCopiedAsTheyAre) {
  ASSERT_TRUE(write_image(layout("a"), image_of("x")));
  ASSERT_TRUE(write_file(directory_.path() / "a/blobs/sha256" / digest_of("{}").hex(), "{}"));
  ASSERT_TRUE(write_file(directory_.path() / "a/blobs/sha256" / digest_of("text").hex(), "text"));
  const Json artifact = {
      {"schemaVersion", 2},
      {"mediaType", media_type::manifest},
      {"artifactType", "application/x-example"},
      {"config",
       {{"mediaType", "application/vnd.oci.empty.v1+json"},
        {"digest", digest_of("{}").to_string()},
        {"size", 2}}},
      {"layers",
       Json::array({{{"mediaType", "text/plain"}, {"digest", digest_of("text").to_string()}, {"size", 4}}})}};
  put_root("a", media_type::manifest, artifact.dump());
  const auto found = read(layout("a"), {.as_oci = true});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*write_publication(layout("b"), *found), digest_of(artifact.dump()));
  EXPECT_EQ(*read_file(directory_.path() / "b/blobs/sha256" / digest_of("text").hex()), "text");
}

TEST_F(PublicationTest, HostileDocumentsAreRefused) {
  ASSERT_TRUE(write_image(layout("a"), image_of("x")));
  const Json manifest = Json::parse(publication_of(image_of("x")).root().text);
  const auto kind = [&](const char* type, const Json& json) {
    put_root("a", type, json.dump());
    const auto result = read(layout("a"), {.as_oci = true});
    return result ? ErrorKind::usage : result.error().kind;
  };
  Json both = manifest;
  both["manifests"] = Json::array();
  EXPECT_EQ(kind(media_type::manifest, both), ErrorKind::integrity);
  EXPECT_EQ(kind(media_type::index, manifest), ErrorKind::integrity);
  EXPECT_EQ(kind(media_type::manifest, Json::array()), ErrorKind::integrity);
  for (const char* key : {"config", "layers"}) {
    Json without = manifest;
    without.erase(key);
    EXPECT_EQ(kind(media_type::manifest, without), ErrorKind::integrity) << key;
    without[key] = "text";
    EXPECT_EQ(kind(media_type::manifest, without), ErrorKind::integrity) << key;
  }
  // A layer that is not what its descriptor says is found when it is copied.
  Json other = manifest;
  other["layers"][0]["size"] = 3;
  put_root("a", media_type::manifest, other.dump());
  const auto small = read(layout("a"));
  ASSERT_TRUE(small);
  EXPECT_EQ(write_publication(layout("b"), *small, 4).error().kind, ErrorKind::integrity);
  EXPECT_EQ(write_publication(archive("b.tar"), *small).error().kind, ErrorKind::integrity);
  EXPECT_FALSE(fs::exists(directory_.path() / "b.tar"));
  EXPECT_FALSE(fs::exists(directory_.path() / "b/index.json"));
  // An index of itself, as far as digests allow: many that are the same are one.
  const std::string text = publication_of(image_of("x")).root().text;
  Json index = {{"schemaVersion", 2}, {"mediaType", media_type::index}, {"manifests", Json::array()}};
  for (int i = 0; i < 2000; ++i)
    index["manifests"].push_back({{"mediaType", media_type::manifest},
                                  {"digest", digest_of(text).to_string()},
                                  {"size", text.size()}});
  put_root("a", media_type::index, index.dump());
  const auto many = read(layout("a"));
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_EQ(many->documents.size(), 2U);
  // And many that are not.
  index["manifests"] = Json::array();
  for (int i = 0; i < 1001; ++i) {
    Json each = manifest;
    each["annotations"]["number"] = std::to_string(i);
    const std::string bytes = each.dump();
    ASSERT_TRUE(
        write_file(directory_.path() / "a/blobs/sha256" / digest_of(bytes).hex(), bytes, 0644, false));
    index["manifests"].push_back({{"mediaType", media_type::manifest},
                                  {"digest", digest_of(bytes).to_string()},
                                  {"size", bytes.size()}});
  }
  EXPECT_EQ(kind(media_type::index, index), ErrorKind::integrity);
}

TEST(BlobTest, BytesAreCheckedWhileTheyAreRead) {
  const std::string bytes(600'000, 'x');
  const BlobPtr blob = blob_of(bytes);
  const Descriptor good{"", digest_of(bytes), bytes.size(), {}};
  std::string seen;
  ASSERT_TRUE(read_checked(*blob, good, [&](std::string_view piece) -> Result<void> {
    seen += piece;
    return {};
  }));
  EXPECT_EQ(seen, bytes);
  Descriptor wrong = good;
  wrong.digest = digest_of("other");
  EXPECT_EQ(read_checked(*blob, wrong).error().kind, ErrorKind::integrity);
  wrong = good;
  wrong.size -= 1;
  EXPECT_EQ(read_checked(*blob, wrong).error().kind, ErrorKind::integrity);
  EXPECT_EQ(read_whole(*blob, 10).error().kind, ErrorKind::integrity);
  EXPECT_EQ(blob_in_file("/dev/null").error().kind, ErrorKind::integrity);
  EXPECT_EQ(blob_in_file("/nonexistent/file").error().kind, ErrorKind::not_found);
}

} // namespace
} // namespace xaas::oci
