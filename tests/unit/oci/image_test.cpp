#include "oci/testing.h"

#include <algorithm>
#include <thread>
#include <unistd.h>

namespace xaas::oci {
namespace {

using testing::image_of;
using testing::layer_of;
using testing::names_below;
using testing::reference_of;

class ImageTest : public ::testing::Test {
protected:
  Reference layout(const std::string& tag = "") const { return at("oci:", "layout", tag); }
  Reference archive(const std::string& tag = "") const { return at("oci-archive:", "image.tar", tag); }
  fs::path path() const { return directory_.path(); }
  fs::path blob(const Digest& digest) const { return path() / "layout/blobs/sha256" / digest.hex(); }
  Json index() const { return *read_json(path() / "layout/index.json"); }
  ErrorKind kind_of(const Reference& reference) const {
    const auto image = open_image(reference);
    EXPECT_FALSE(image) << reference.text;
    return image ? ErrorKind::failed : image.error().kind;
  }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();

private:
  Reference at(const std::string& transport, const std::string& name, const std::string& tag) const {
    return reference_of(transport + (path() / name).string() + (tag.empty() ? "" : ":" + tag));
  }
};

// Reads everything of an image.
Result<void> read_all(const Reference& reference) {
  XAAS_TRY(const std::unique_ptr<Image> image, open_image(reference));
  for (size_t i = 0; i < image->manifest().layers.size(); ++i) {
    const Descriptor& layer = image->manifest().layers[i];
    XAAS_TRY(const BlobPtr bytes, image->open_blob(layer));
    XAAS_CHECK(read_layer(bytes, layer.media_type, &image->config().diff_ids[i],
                          [](LayerEntry) -> Result<void> { return {}; }));
  }
  return {};
}

TEST_F(ImageTest, RoundTripInLayoutAndArchive) {
  const NewImage image = image_of("tool");
  for (const Reference& reference : {layout("v1"), archive("v1")}) {
    const auto digest = write_image(reference, image);
    ASSERT_TRUE(digest) << digest.error().message;
    EXPECT_EQ(*digest, manifest_digest(image));
    const auto opened = open_image(reference);
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ((*opened)->digest(), *digest);
    EXPECT_EQ((*opened)->reference().text, reference.text);
    EXPECT_EQ((*opened)->manifest().annotations, image.annotations);
    const ImageConfig& config = (*opened)->config();
    EXPECT_EQ(config.entrypoint, image.config.entrypoint);
    EXPECT_EQ(config.env, image.config.env);
    EXPECT_EQ(config.labels, image.config.labels);
    EXPECT_EQ(config.created, image.config.created);
    EXPECT_EQ(config.architecture, "amd64");
    EXPECT_EQ(config.diff_ids, (std::vector<Digest>{image.layers[0].diff_id, image.layers[1].diff_id}));
    EXPECT_EQ(config.history, (std::vector<std::string>{"test", "test"}));
    EXPECT_EQ(*(*opened)->blob((*opened)->manifest().layers[1]), testing::bytes_of(image.layers[1]));
    EXPECT_TRUE(read_all(reference));
  }
}

TEST_F(ImageTest, RenderIsCanonical) {
  NewImage image;
  image.config.architecture = "arm64";
  const std::string config = testing::config_of(image);
  EXPECT_EQ(config,
            "{\"architecture\":\"arm64\",\"os\":\"linux\",\"config\":{},\"rootfs\":{\"type\":\"layers\","
            "\"diff_ids\":[]},\"history\":[]}");
  EXPECT_EQ(publication_of(image).root().text,
            "{\"schemaVersion\":2,\"mediaType\":\"application/vnd.oci.image.manifest.v1+json\",\"config\":{"
            "\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\"digest\":\"" +
                digest_of(config).to_string() + "\",\"size\":" + std::to_string(config.size()) +
                "},\"layers\":[]}");
  EXPECT_EQ(manifest_digest(image_of("a")), manifest_digest(image_of("a")));
  EXPECT_NE(manifest_digest(image_of("a")), manifest_digest(image_of("b")));
}

TEST_F(ImageTest, LayoutHasExactlyWhatItNeeds) {
  ASSERT_TRUE(write_image(layout(), image_of("a")));
  EXPECT_EQ(*read_file(path() / "layout/oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}");
  const Json entry = index()["manifests"][0];
  EXPECT_EQ(entry["mediaType"], media_type::manifest);
  EXPECT_EQ(entry["annotations"]["org.opencontainers.image.ref.name"], "latest");
  const std::vector<std::string> names = names_below(path() / "layout");
  EXPECT_EQ(names.size(),
            2U + 4U + 2U); // blobs, sha256, two layers, config, manifest, index.json, oci-layout
}

TEST_F(ImageTest, ArchivesAreEqualByteForByteAndSorted) {
  ASSERT_TRUE(write_image(archive(), image_of("a")));
  const std::string first = *read_file(path() / "image.tar");
  ASSERT_TRUE(write_image(archive(), image_of("a")));
  EXPECT_EQ(first, *read_file(path() / "image.tar"));
  std::vector<std::string> names;
  ASSERT_TRUE(
      read_layer(blob_of(first), media_type::layer_tar, nullptr, [&](LayerEntry entry) -> Result<void> {
        const bool directory = entry.path == "blobs" || entry.path == "blobs/sha256";
        EXPECT_EQ(entry.kind, directory ? LayerEntry::Kind::directory : LayerEntry::Kind::file);
        names.push_back(entry.path);
        return {};
      }));
  EXPECT_EQ(names.size(), 2U + 6U);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(names.back(), "oci-layout");
  EXPECT_EQ(names_below(path()), std::vector<std::string>{"image.tar"});
}

TEST_F(ImageTest, TagsAreReplacedAndOthersKept) {
  ASSERT_TRUE(write_image(layout("a"), image_of("one")));
  ASSERT_TRUE(write_image(layout("b"), image_of("two")));
  // What we do not know must survive.
  Json before = index();
  before["x-unknown"] = {{"k", 1}};
  before["manifests"][1]["annotations"]["x"] = "y";
  before["manifests"].push_back({{"mediaType", "application/x-thing"}, {"digest", "sha512:1"}, {"size", 1}});
  ASSERT_TRUE(write_file(path() / "layout/index.json", before.dump()));
  const Digest third = *write_image(layout("a"), image_of("three"));
  const Json after = index();
  ASSERT_EQ(after["manifests"].size(), 3U);
  EXPECT_EQ(after["manifests"][0]["digest"], third.to_string());
  EXPECT_EQ(after["manifests"][1], before["manifests"][1]);
  EXPECT_EQ(after["manifests"][2], before["manifests"][2]);
  EXPECT_EQ(after["x-unknown"], before["x-unknown"]);
  EXPECT_EQ((*open_image(layout("a")))->digest(), third);
  EXPECT_EQ((*open_image(layout("b")))->digest(), manifest_digest(image_of("two")));
}

TEST_F(ImageTest, WithoutATagTheOnlyImageThenLatest) {
  ASSERT_TRUE(write_image(layout("a"), image_of("one")));
  EXPECT_TRUE(open_image(layout()));
  ASSERT_TRUE(write_image(layout("b"), image_of("two")));
  const auto missing = open_image(layout());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_NE(missing.error().hint.find("a, b"), std::string::npos) << missing.error().hint;
  ASSERT_TRUE(write_image(layout(), image_of("three")));
  EXPECT_EQ((*open_image(layout()))->digest(), manifest_digest(image_of("three")));
  const auto unknown = open_image(layout("c"));
  EXPECT_EQ(unknown.error().kind, ErrorKind::not_found);
  EXPECT_NE(unknown.error().message.find("'c'"), std::string::npos);
}

TEST_F(ImageTest, WhatIsNoImageIsSaid) {
  EXPECT_EQ(kind_of(layout()), ErrorKind::not_found);
  EXPECT_EQ(kind_of(archive()), ErrorKind::not_found);
  fs::create_directory(path() / "layout");
  EXPECT_EQ(kind_of(layout()), ErrorKind::usage);
  for (const std::string& content : {std::string(), std::string("text"), std::string(2000, 'x')}) {
    ASSERT_TRUE(write_file(path() / "image.tar", content));
    EXPECT_EQ(kind_of(archive()), ErrorKind::usage) << content.size();
  }
  EXPECT_EQ(kind_of(reference_of("oci:" + (path() / "image.tar").string())), ErrorKind::usage);
  EXPECT_EQ(kind_of(reference_of("oci-archive:" + (path() / "layout").string())), ErrorKind::usage);
  EXPECT_EQ(kind_of(reference_of("rootfs:" + (path() / "layout").string())), ErrorKind::usage);
  ASSERT_TRUE(write_image(layout(), image_of("a")));
  ASSERT_TRUE(write_file(path() / "layout/oci-layout", "{\"imageLayoutVersion\":\"2.0.0\"}"));
  EXPECT_EQ(kind_of(layout()), ErrorKind::unsatisfied);
}

TEST_F(ImageTest, EveryDamagedFileOfALayoutIsSeen) {
  ASSERT_TRUE(write_image(layout(), image_of("tool")));
  ASSERT_TRUE(read_all(layout()));
  for (const std::string& name : names_below(path() / "layout")) {
    const fs::path file = path() / "layout" / name;
    if (fs::is_directory(file))
      continue;
    const std::string good = *read_file(file);
    std::string flipped = good;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x80);
    for (const std::string& bad : {flipped, good.substr(0, good.size() - 1), std::string(), good + "x"}) {
      ASSERT_TRUE(write_file(file, bad));
      const auto result = read_all(layout());
      ASSERT_FALSE(result) << name;
      EXPECT_EQ(result.error().kind, ErrorKind::integrity) << name << ": " << result.error().message;
    }
    fs::remove(file);
    const auto result = read_all(layout());
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.error().kind, ErrorKind::integrity) << name << ": " << result.error().message;
    ASSERT_TRUE(write_file(file, good));
  }
  EXPECT_TRUE(read_all(layout()));
}

TEST_F(ImageTest, EveryDamagedPlaceOfAnArchiveIsSeen) {
  ASSERT_TRUE(write_image(archive(), image_of("tool")));
  const std::string good = *read_file(path() / "image.tar");
  const std::string zeros(512, '\0');
  for (size_t block = 0; block < good.size(); block += 512) {
    if (good.compare(block, 512, zeros) == 0)
      continue;
    std::string bad = good;
    bad[block] = static_cast<char>(bad[block] ^ 1);
    ASSERT_TRUE(write_file(path() / "image.tar", bad));
    const auto result = read_all(archive());
    ASSERT_FALSE(result) << block;
    EXPECT_EQ(result.error().kind, ErrorKind::integrity) << block << ": " << result.error().message;
    ASSERT_TRUE(write_file(path() / "image.tar", good.substr(0, block + 100)));
    const auto cut = read_all(archive());
    ASSERT_FALSE(cut) << block;
    EXPECT_EQ(cut.error().kind, block == 0 ? ErrorKind::usage : ErrorKind::integrity) << cut.error().message;
  }
}

TEST_F(ImageTest, ADamagedBlobIsRepairedByWritingAgain) {
  const NewImage image = image_of("tool");
  ASSERT_TRUE(write_image(layout(), image));
  const fs::path file = blob(image.layers[0].descriptor.digest);
  ASSERT_TRUE(write_file(file, std::string(image.layers[0].descriptor.size, 'x')));
  ASSERT_TRUE(write_image(layout(), image));
  EXPECT_TRUE(read_all(layout()));
}

TEST_F(ImageTest, BlobsThatAreThereAreNotAskedFor) {
  NewImage image = image_of("tool");
  ASSERT_TRUE(write_image(layout("a"), image));
  for (NewLayer& layer : image.layers)
    layer.open = []() -> Result<BlobPtr> { return make_error(ErrorKind::failed, "asked for"); };
  EXPECT_TRUE(write_image(layout("b"), image));
}

TEST_F(ImageTest, BytesThatDoNotMatchTheirDescriptorAreNotWritten) {
  NewImage image = image_of("tool");
  image.layers[0].open = []() -> Result<BlobPtr> { return blob_of("other"); };
  for (const Reference& reference : {layout(), archive()})
    EXPECT_EQ(write_image(reference, image).error().kind, ErrorKind::integrity);
  EXPECT_FALSE(fs::exists(path() / "layout/index.json"));
  EXPECT_FALSE(fs::exists(path() / "image.tar"));
}

TEST_F(ImageTest, SomebodysDirectoryIsNotMadeALayout) {
  fs::create_directory(path() / "layout");
  ASSERT_TRUE(write_file(path() / "layout/thesis.tex", "x"));
  EXPECT_EQ(check_writable(layout()).error().kind, ErrorKind::usage);
  EXPECT_EQ(write_image(layout(), image_of("a")).error().kind, ErrorKind::usage);
  EXPECT_EQ(names_below(path() / "layout"), std::vector<std::string>{"thesis.tex"});
}

TEST_F(ImageTest, CheckWritable) {
  EXPECT_TRUE(check_writable(layout()));
  EXPECT_TRUE(check_writable(archive()));
  EXPECT_TRUE(check_writable(reference_of("oci:" + (path() / "new/deep").string())));
  EXPECT_TRUE(check_writable(reference_of("x.tar")));
  EXPECT_FALSE(fs::exists(path() / "new"));
  ASSERT_TRUE(write_file(path() / "file", ""));
  EXPECT_EQ(check_writable(reference_of("oci:" + (path() / "file").string())).error().kind, ErrorKind::usage);
  EXPECT_EQ(check_writable(reference_of("oci:" + (path() / "file/x").string())).error().kind,
            ErrorKind::usage);
  EXPECT_EQ(check_writable(reference_of("oci-archive:" + path().string())).error().kind, ErrorKind::usage);
  EXPECT_EQ(check_writable(reference_of("rootfs:" + path().string())).error().kind, ErrorKind::usage);
  if (geteuid() != 0) { // root may write everywhere
    fs::create_directory(path() / "closed");
    fs::permissions(path() / "closed", fs::perms::owner_read | fs::perms::owner_exec);
    const auto closed = check_writable(reference_of("oci:" + (path() / "closed/x").string()));
    EXPECT_EQ(closed.error().kind, ErrorKind::storage);
  }
}

// A layout as other tools write it.
class ForeignImageTest : public ImageTest {
protected:
  void SetUp() override { ASSERT_TRUE(write_image(layout("base"), image_of("tool"))); }
  Json put(const std::string& type, const std::string& text) {
    const Digest digest = digest_of(text);
    EXPECT_TRUE(write_file(blob(digest), text));
    return {{"mediaType", type}, {"digest", digest.to_string()}, {"size", text.size()}};
  }
  void set_index(Json manifests) {
    const Json json = {{"schemaVersion", 2}, {"manifests", std::move(manifests)}};
    ASSERT_TRUE(write_file(path() / "layout/index.json", json.dump()));
  }
  Json manifest() const { return *parse_json(publication_of(image_of("tool")).root().text, "m"); }
  Json config() const { return *parse_json(testing::config_of(image_of("tool")), "c"); }
  // The error of an image with this manifest, which is named a manifest.
  ErrorKind refusal(const Json& manifest) {
    set_index(Json::array({put(media_type::manifest, manifest.dump())}));
    return kind_of(layout());
  }
};

TEST_F(ForeignImageTest, NestedIndexesAreChosenByArchitecture) {
  Json amd = put(media_type::manifest, publication_of(image_of("tool")).root().text);
  NewImage other = image_of("tool");
  other.config.architecture = "arm64";
  const Digest arm_digest = *write_image(layout("arm"), other);
  Json arm = put(media_type::manifest, publication_of(other).root().text);
  amd["platform"] = {{"architecture", "amd64"}, {"os", "linux"}};
  arm["platform"] = {{"architecture", "arm64"}, {"os", "linux"}};
  Json windows = amd;
  windows["platform"]["os"] = "windows";
  const Json nested = {{"schemaVersion", 2}, {"manifests", Json::array({windows, arm, amd})}};
  Json entry = put(media_type::index, nested.dump());
  entry["annotations"]["org.opencontainers.image.ref.name"] = "multi";
  set_index(Json::array({entry}));
  EXPECT_EQ((*open_image(layout("multi"), "arm64"))->digest(), arm_digest);
  EXPECT_EQ((*open_image(layout(), "amd64"))->config().architecture, "amd64");
  const auto none = open_image(layout(), "riscv64");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsatisfied);
  EXPECT_NE(none.error().hint.find("linux/arm64"), std::string::npos);
}

TEST_F(ForeignImageTest, DockerMediaTypesAreRead) {
  Json docker_config = config();
  docker_config["config"]["Cmd"] = nullptr;
  docker_config["config"]["Labels"] = nullptr;
  docker_config["history"].insert(docker_config["history"].begin(), Json{{"empty_layer", true}});
  Json docker = manifest();
  docker["mediaType"] = "application/vnd.docker.distribution.manifest.v2+json";
  docker["config"] = put("application/vnd.docker.container.image.v1+json", docker_config.dump());
  for (Json& layer : docker["layers"])
    layer["mediaType"] = "application/vnd.docker.image.rootfs.diff.tar.gzip";
  set_index(Json::array({put("application/vnd.docker.distribution.manifest.v2+json", docker.dump())}));
  EXPECT_TRUE(read_all(layout()));
  EXPECT_EQ((*open_image(layout()))->config().history.size(), 2U);
}

TEST_F(ForeignImageTest, MalformedManifestsAreRefused) {
  const auto with = [&](const auto& change) {
    Json json = manifest();
    change(json);
    return json;
  };
  const auto refused = [&](const auto& change) { return refusal(with(change)); };
  EXPECT_EQ(refused([](Json& j) { j.erase("layers"); }), ErrorKind::integrity);
  EXPECT_EQ(refused([](Json& j) { j["layers"][0]["size"] = -1; }), ErrorKind::integrity);
  EXPECT_EQ(refused([](Json& j) { j["layers"][0]["digest"] = "sha256:x"; }), ErrorKind::integrity);
  EXPECT_EQ(refused([](Json& j) { j["layers"].erase(1); }), ErrorKind::integrity); // diff_ids do not match
  EXPECT_EQ(refused([](Json& j) { j["manifests"] = Json::array(); }), ErrorKind::integrity);
  EXPECT_EQ(refused([](Json& j) { j["mediaType"] = media_type::index; }), ErrorKind::integrity);
  EXPECT_EQ(refused([](Json& j) { j["annotations"]["a"] = 1; }), ErrorKind::integrity);
  EXPECT_EQ(refused([](Json& j) { j["config"]["size"] = 1; }), ErrorKind::integrity);
  EXPECT_EQ(refused([](Json& j) { j["schemaVersion"] = 3; }), ErrorKind::unsatisfied);
  EXPECT_EQ(refused([](Json& j) { j["config"]["mediaType"] = "application/vnd.cncf.helm"; }),
            ErrorKind::usage);
  EXPECT_EQ(refused([](Json& j) { j["annotations"]["a"] = std::string(5 << 20, 'x'); }),
            ErrorKind::integrity);
  EXPECT_EQ(refused([](Json& j) { j = Json::array(); }), ErrorKind::integrity);
}

TEST_F(ForeignImageTest, ALayerWhoseSizeLiesIsFoundWhenItIsRead) {
  for (const uint64_t size : {uint64_t(1), uint64_t(1) << 62}) {
    Json lying = manifest();
    lying["layers"][0]["size"] = size;
    set_index(Json::array({put(media_type::manifest, lying.dump())}));
    EXPECT_EQ(read_all(layout()).error().kind, ErrorKind::integrity) << size;
  }
}

TEST_F(ForeignImageTest, APipeInPlaceOfABlobDoesNotKeepUsWaiting) {
  const Digest digest = image_of("tool").layers[0].descriptor.digest;
  fs::remove(blob(digest));
  ASSERT_EQ(mkfifo(blob(digest).c_str(), 0600), 0);
  EXPECT_EQ(read_all(layout()).error().kind, ErrorKind::integrity);
}

} // namespace
} // namespace xaas::oci
