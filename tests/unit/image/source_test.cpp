// Source images, and images with IR and sources.
#include "image/testing.h"

#include <xaas/image/dpkg.h>
#include <xaas/oci/layer.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::image {
namespace {

using ::testing::ElementsAre;
using testing::Fixture;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::layers_with_role;

SourceBuild source_build() {
  SourceBuild build;
  build.application = *spec::parse_application(R"({"name": "solver", "version": "1",
    "build": {"system": "make", "arguments": ["A=b"]},
    "specializations": [{"name": "level", "values": [{"value": "0"}, {"value": "1"}, {"value": "gpu", "from_source": true}]}],
    "toolchain": {"base": "oci:gcc", "path": "/opt/bin"},
    "fetch": [{"url": "https://example.org/x", "sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "to": "x"}]})",
                                               "spec");
  build.configurations = {spec::Configuration({{"level", "gpu"}})};
  return build;
}

Bundle source_bundle() {
  Bundle bundle = Fixture(0).bundle;
  bundle.llvm.clear();
  bundle.kit.clear();
  bundle.source_build = source_build();
  bundle.points = bundle.source_build->application.points;
  return bundle;
}

oci::NewLayer layer(const std::string& path) {
  oci::LayerBuilder builder;
  EXPECT_TRUE(builder.add_file(path, path));
  return *builder.finish(oci::Compression::gzip, "made for " + path, {{"other", "annotation"}});
}

SourceLayers source_layers() {
  return {{layer("usr/bin/first"), layer("usr/bin/second")},
          layer(".xaas/source/a.c"),
          {{annotation::base_name, "gcc"}}};
}

Result<oci::NewImage> make(const Bundle& bundle, const std::map<Digest, std::string>& contents = {}) {
  return make_application_image(
      bundle, [&](const Digest& digest) -> Result<std::string> { return contents.at(digest); }, 0,
      most_groups, source_layers());
}

std::vector<std::string> roles_of(const oci::NewImage& image) {
  std::vector<std::string> roles;
  for (const oci::NewLayer& each : image.layers)
    roles.push_back(layer_role(each.descriptor));
  return roles;
}

Result<ApplicationImage> write_and_open(const fs::path& directory, const oci::NewImage& image) {
  XAAS_TRY(const oci::Reference reference, oci::parse_reference("oci:" + directory.string() + ":x"));
  XAAS_TRY([[maybe_unused]] const Digest digest, oci::write_image(reference, image));
  XAAS_TRY(auto opened, oci::open_image(reference));
  return ApplicationImage::open(std::move(opened));
}

TEST(SourceBundle, SurvivesJson) {
  for (Bundle bundle : {source_bundle(), Fixture(2).bundle}) {
    bundle.source_build = source_build();
    const std::string text = to_json(bundle).dump();
    const auto parsed = parse_bundle(text, "bundle");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(to_json(*parsed).dump(), text);
    ASSERT_TRUE(parsed->source_build);
    EXPECT_EQ(parsed->source_build->application.toolchain, bundle.source_build->application.toolchain);
    EXPECT_EQ(parsed->source_build->configurations, bundle.source_build->configurations);
  }
  EXPECT_FALSE(parse_bundle(to_json(Fixture(1).bundle).dump(), "bundle")->source_build);
}

// The target runs what the spec says, so the spec is read as strictly as one that a person wrote.
TEST(SourceBundle, AWrongSpecIsTheImagesFault) {
  const Json good = to_json(source_bundle());
  ASSERT_TRUE(parse_bundle(good.dump(), "b"));
  using Change = void (*)(Json&);
  const std::pair<Change, const char*> changes[] = {
      {[](Json& build) { build.erase("application"); }, "application"},
      {[](Json& build) { build["application"] = "x"; }, "application"},
      {[](Json& build) { build["application"]["build"]["system"] = "bazel"; }, "/build/system"},
      {[](Json& build) { build["application"]["build"]["directory"] = "../.."; }, "/build/directory"},
      {[](Json& build) { build["application"]["surprise"] = 1; }, "surprise"},
      {[](Json& build) { build["application"]["image"]["prefix"] = "usr/../.."; }, "/image/prefix"},
      {[](Json& build) { build["application"]["fetch"][0]["to"] = "../x"; }, "/fetch/0/to"},
      {[](Json& build) { build["application"]["runtime"] = {"relative"}; }, "/runtime/0"},
      {[](Json& build) {
         build["application"]["build"]["install"] = {{{"from", "../../etc/passwd"}, {"to", "x"}}};
       },
       "/build/install/0/from"},
      {[](Json& build) {
         build["application"]["build"]["install"] = {{{"from", "x"}, {"to", "../../../bin/sh"}}};
       },
       "/build/install/0/to"},
      {[](Json& build) { build.erase("configurations"); }, "configurations"},
      {[](Json& build) { build["configurations"] = {{{"level", 1}}}; }, "configurations/0"},
  };
  for (const auto& [change, place] : changes) {
    Json json = good;
    change(json["source_build"]);
    const auto parsed = parse_bundle(json.dump(), "b");
    ASSERT_FALSE(parsed) << place;
    EXPECT_EQ(parsed.error().kind, ErrorKind::integrity) << place;
    EXPECT_THAT(parsed.error().message, HasSubstr(place));
    EXPECT_EQ(parsed.error().hint, "") << place;
  }
}

TEST(SourceBundle, AllConfigurations) {
  Bundle bundle = Fixture(2).bundle;
  bundle.source_build = source_build();
  bundle.source_build->configurations.push_back(spec::Configuration({{"level", "1"}})); // has IR, too
  std::vector<std::string> ids;
  for (const spec::Configuration& each : all_configurations(bundle))
    ids.push_back(each.id());
  EXPECT_THAT(ids, ElementsAre("level=0", "level=1", "level=gpu"));
  EXPECT_EQ(find_ir(bundle, spec::Configuration({{"level", "1"}})), &bundle.configurations[1]);
  EXPECT_EQ(find_ir(bundle, spec::Configuration({{"level", "gpu"}})), nullptr);
}

TEST(SourceImage, LayersRolesAndKind) {
  const auto image = make(source_bundle());
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_THAT(roles_of(*image), ElementsAre("base", "base", "metadata", "source"));
  EXPECT_EQ(image->annotations.at(annotation::kind), "source");
  EXPECT_FALSE(image->annotations.contains(annotation::llvm));
  EXPECT_EQ(image->annotations.at(annotation::base_name), "gcc");
  EXPECT_EQ(image->config.labels, image->annotations);
  EXPECT_THAT(image->config.env, ElementsAre("PATH=/opt/bin"));
  for (const oci::NewLayer& each : image->layers) {
    EXPECT_THAT(layer_configurations(each.descriptor), ElementsAre("level=gpu")) << each.created_by;
    EXPECT_FALSE(each.descriptor.annotations.contains("other")) << each.created_by;
  }
  // The toolchain's bytes are unchanged.
  EXPECT_EQ(image->layers[0].descriptor.digest, layer("usr/bin/first").descriptor.digest);
  EXPECT_EQ(image->layers[0].created_by, "made for usr/bin/first");
  EXPECT_EQ(image->layers[1].descriptor.digest, layer("usr/bin/second").descriptor.digest);
}

TEST(SourceImage, OpensAsWhatItIs) {
  const auto directory = *TemporaryDirectory::create();
  const auto image = write_and_open(directory.path() / "image", *make(source_bundle()));
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(kind_of(image->image()), "source");
  EXPECT_THAT(image->layers_with_role("base"), ElementsAre(0, 1));
  EXPECT_THAT(image->layers_with_role("source"), ElementsAre(3));
  EXPECT_THAT(image->layers_with_role("ir"), IsEmpty());
  EXPECT_THAT(image->runtime_layers("level=gpu"), IsEmpty());
  EXPECT_EQ(to_json(image->bundle()).dump(), to_json(source_bundle()).dump());
}

TEST(SourceImage, WithIrBesideIt) {
  const auto directory = *TemporaryDirectory::create();
  Fixture fixture(2);
  fixture.bundle.source_build = source_build();
  const auto made = make(fixture.bundle, fixture.contents);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(roles_of(*made), ElementsAre("base", "base", "metadata", "kit", "ir", "ir", "source"));
  EXPECT_EQ(made->annotations.at(annotation::kind), "ir");
  EXPECT_EQ(made->annotations.at(annotation::llvm), llvm_version());
  for (const oci::NewLayer& each : made->layers) {
    const std::string role = layer_role(each.descriptor);
    const std::vector<std::string> users = layer_configurations(each.descriptor);
    if (role == "base" || role == "source")
      EXPECT_THAT(users, ElementsAre("level=gpu")) << role;
    else if (role == "metadata")
      EXPECT_THAT(users, ElementsAre("level=0", "level=1", "level=gpu"));
    else
      EXPECT_THAT(users, ::testing::Not(::testing::Contains("level=gpu"))) << role;
  }
  // A configuration with IR reads neither sources nor toolchain, and neither counts as its contents.
  const auto image = write_and_open(directory.path() / "image", *made);
  ASSERT_TRUE(image) << image.error().message;
  const Usage usage = *usage_of(image->bundle(), image->bundle().configurations[1]);
  size_t modules = 0;
  EXPECT_TRUE(image->fetch(usage.modules, "level=1", [&](const Digest&, const std::string&) -> Result<void> {
    ++modules;
    return {};
  }));
  EXPECT_EQ(modules, 2u);
  for (const char* const content : {"usr/bin/first", ".xaas/source/a.c"}) {
    std::set<Digest> wanted = {digest_of(std::string(content))}, read;
    EXPECT_TRUE(
        image->fetch_all(wanted, read, [](const Digest&, const std::string&) { return Result<void>(); }));
    EXPECT_EQ(wanted.size(), 1u) << content;
  }
}

TEST(SourceImage, IsAFunctionOfItsParts) {
  EXPECT_EQ(oci::manifest_digest(*make(source_bundle())), oci::manifest_digest(*make(source_bundle())));
}

TEST(SourceImage, NeitherIrNorSourcesIsDamage) {
  const auto directory = *TemporaryDirectory::create();
  Bundle bundle = source_bundle();
  bundle.source_build.reset();
  const auto image = write_and_open(directory.path() / "image", *make(bundle));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::integrity);
}

} // namespace
} // namespace xaas::image
