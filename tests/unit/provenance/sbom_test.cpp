#include "provenance/testing.h"

#include <xaas/provenance/sbom.h>
#include <xaas/spec/validate.h>

#include <algorithm>
#include <set>

namespace xaas::provenance {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::HasSubstr;

image::PackageUse use(const std::string& name, const std::string& version, std::vector<std::string> files,
                      std::vector<std::string> linked, bool shared) {
  image::PackageUse use;
  use.package = {"deb", name, version, "amd64", "src", "debian-12", {}};
  use.files = std::move(files);
  use.linked = std::move(linked);
  use.shared = shared;
  return use;
}

Inventory small_inventory() {
  Inventory inventory{.kind = "deployed", .image = digest_of("image")};
  inventory.annotations = {{"org.opencontainers.image.title", "solver"},
                           {"org.opencontainers.image.version", "1.2"},
                           {"org.opencontainers.image.created", "2001-02-03T04:05:06Z"},
                           {"org.opencontainers.image.licenses", "MIT OR (Apache-2.0 AND BSD-3-Clause)"},
                           {"org.opencontainers.image.revision", "abc"},
                           {"dev.xaas.made-from", digest_of("ir").to_string()}};
  inventory.files = {hash_file("/usr/bin/solver", "solver"), hash_file("/usr/lib/libm.so.6", "m"),
                     hash_file("/usr/lib/libown.so.1", "own"), hash_file("/usr/lib/libx.so.1", "x")};
  inventory.packages = {use("libm6", "1:2.0+b1", {"/usr/lib/libm.so.6"}, {}, true),
                        use("libz-dev", "1.3", {}, {"/usr/bin/solver"}, false)};
  image::PackageUse single;
  single.package.name = "libx.so.1";
  single.file = digest_of("x");
  single.files = {"/usr/lib/libx.so.1"};
  single.shared = true;
  inventory.packages.push_back(single);
  return inventory;
}

// "KIND of WHAT", by names.
std::vector<std::string> relationships(const Json& spdx, const std::string& of) {
  std::map<std::string, std::string> names = {{"SPDXRef-DOCUMENT", "document"}};
  for (const Json& package : spdx["packages"])
    names[package["SPDXID"]] = package["primaryPackagePurpose"] == "CONTAINER" && package["name"] == "solver"
                                   ? "image"
                                   : package["name"];
  for (const Json& file : spdx["files"])
    names[file["SPDXID"]] = file["fileName"];
  std::vector<std::string> found;
  for (const Json& each : spdx["relationships"]) {
    EXPECT_TRUE(names.contains(each["spdxElementId"])) << each;
    EXPECT_TRUE(names.contains(each["relatedSpdxElement"])) << each;
    if (names[each["spdxElementId"]] == of)
      found.push_back(each["relationshipType"].get<std::string>() + " " + names[each["relatedSpdxElement"]]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

const Json& package_named(const Json& spdx, const std::string& name) {
  for (const Json& package : spdx["packages"])
    if (package["name"] == name && package["primaryPackagePurpose"] != "CONTAINER")
      return package;
  ADD_FAILURE() << "no package " << name;
  return spdx;
}

// Against a schema: what SPDX wants of a document, and no key that it does not know.
void expect_valid(const Json& spdx) {
  const auto schema = read_file(XAAS_TEST_DATA "/schema/spdx.schema.json");
  ASSERT_TRUE(schema);
  const auto valid = spec::validate(spdx, *schema, "SBOM");
  EXPECT_TRUE(valid) << valid.error().message;
}

TEST(Sbom, IsAsItsSchemaSays) {
  Inventory inventory = small_inventory();
  expect_valid(to_spdx(inventory));
  inventory.kind = "ir";
  inventory.files.clear();
  expect_valid(to_spdx(inventory));
  expect_valid(to_spdx({.kind = "deployed", .image = digest_of("image")}));
  Json wrong = to_spdx(inventory);
  wrong["packages"][0].erase("downloadLocation");
  EXPECT_FALSE(spec::validate(wrong, *read_file(XAAS_TEST_DATA "/schema/spdx.schema.json"), "SBOM"));
}

TEST(Sbom, WhatBelongsToWhat) {
  const Json spdx = to_spdx(small_inventory());
  EXPECT_EQ(relationships(spdx, "document"), (std::vector<std::string>{"DESCRIBES image"}));
  EXPECT_EQ(relationships(spdx, "image"),
            (std::vector<std::string>{"CONTAINS ./usr/bin/solver", "CONTAINS ./usr/lib/libm.so.6",
                                      "CONTAINS ./usr/lib/libown.so.1", "CONTAINS ./usr/lib/libx.so.1",
                                      "CONTAINS libm6", "CONTAINS libx.so.1", "CONTAINS solver",
                                      "GENERATED_FROM solver-ir"}));
  EXPECT_EQ(relationships(spdx, "solver"),
            (std::vector<std::string>{"CONTAINS ./usr/bin/solver", "CONTAINS ./usr/lib/libown.so.1",
                                      "DYNAMIC_LINK libm6", "DYNAMIC_LINK libx.so.1",
                                      "GENERATED_FROM solver-source", "STATIC_LINK libz-dev"}));
  EXPECT_EQ(relationships(spdx, "libm6"), (std::vector<std::string>{"CONTAINS ./usr/lib/libm.so.6"}));
  EXPECT_EQ(relationships(spdx, "./usr/bin/solver"), (std::vector<std::string>{"STATIC_LINK libz-dev"}));
  EXPECT_EQ(spdx["creationInfo"]["created"], "2001-02-03T04:05:06Z");
  EXPECT_THAT(spdx["documentNamespace"].get<std::string>(), HasSubstr(digest_of("image").hex()));
}

TEST(Sbom, Packages) {
  const Json spdx = to_spdx(small_inventory());
  const Json& libm = package_named(spdx, "libm6");
  EXPECT_EQ(libm["versionInfo"], "1:2.0+b1");
  EXPECT_EQ(libm["externalRefs"][0]["referenceLocator"],
            "pkg:deb/debian/libm6@1:2.0%2Bb1?arch=amd64&distro=debian-12&upstream=src");
  EXPECT_EQ(libm["filesAnalyzed"], true);
  // SPDX 2.3, 7.9: SHA-1 of the SHA-1 of the one file "m".
  EXPECT_EQ(libm["packageVerificationCode"]["packageVerificationCodeValue"],
            hash_file("", "6b0d31c0d563223024da45691584643ac78c96e8").sha1);
  EXPECT_EQ(package_named(spdx, "libz-dev")["filesAnalyzed"], false);
  EXPECT_EQ(package_named(spdx, "libx.so.1")["checksums"][0]["checksumValue"], digest_of("x").hex());
  EXPECT_EQ(package_named(spdx, "solver")["licenseDeclared"], "MIT OR (Apache-2.0 AND BSD-3-Clause)");
  EXPECT_EQ(package_named(spdx, "solver-source")["versionInfo"], "abc");
}

TEST(Sbom, ALicenseThatIsNoExpression) {
  for (const char* text :
       {"see LICENSE", "MIT,BSD", "MIT OR", "(MIT", "MIT)", "AND", "MIT BSD", "GPL/LGPL"}) {
    Inventory inventory = small_inventory();
    inventory.annotations["org.opencontainers.image.licenses"] = text;
    const Json package = package_named(to_spdx(inventory), "solver");
    EXPECT_EQ(package["licenseDeclared"], "NOASSERTION") << text;
    EXPECT_THAT(package["licenseComments"].get<std::string>(), HasSubstr(text));
  }
  for (const char* text : {"MIT", "GPL-2.0-or-later WITH GCC-exception-3.1", "LicenseRef-own", "GPL-2.0+"}) {
    Inventory inventory = small_inventory();
    inventory.annotations["org.opencontainers.image.licenses"] = text;
    EXPECT_EQ(package_named(to_spdx(inventory), "solver")["licenseDeclared"], text);
  }
}

TEST(Sbom, IdentifiersAreUniqueAndOfTheirForm) {
  Inventory inventory = small_inventory();
  inventory.files.push_back(hash_file("/usr/lib/a_b", "1"));
  inventory.files.push_back(hash_file("/usr/lib/a-b", "2"));
  inventory.packages.push_back(use("a+b", "1", {}, {"/usr/bin/solver"}, false));
  inventory.packages.push_back(use("a_b", "1", {}, {"/usr/bin/solver"}, false));
  inventory.packages.push_back(use("a_b", "2", {}, {"/usr/bin/solver"}, false));
  const Json spdx = to_spdx(inventory);
  std::set<std::string> ids;
  for (const char* table : {"packages", "files"})
    for (const Json& each : spdx[table]) {
      const std::string id = each["SPDXID"];
      EXPECT_TRUE(ids.insert(id).second) << id;
      EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"),
                std::string::npos)
          << id;
    }
  EXPECT_EQ(to_text(to_spdx(inventory)), to_text(spdx));
}

TEST(Sbom, FilesOfPackagesThatAreTooManyToName) {
  Inventory inventory = small_inventory();
  for (image::PackageUse& each : inventory.packages) {
    each.files_known = each.files.empty();
    each.files.clear();
  }
  const Json spdx = to_spdx(inventory);
  EXPECT_EQ(package_named(spdx, "solver")["filesAnalyzed"], false);
  EXPECT_THAT(relationships(spdx, "image"), Contains("CONTAINS libm6"));
  EXPECT_THAT(relationships(spdx, "image"), Contains("CONTAINS ./usr/lib/libm.so.6"));
}

oci::LayerEntry entry(oci::LayerEntry::Kind kind, const std::string& path, const std::string& content = {}) {
  oci::LayerEntry entry;
  entry.kind = kind;
  entry.path = path;
  entry.content = content;
  return entry;
}

// Comes in pieces of two bytes.
class Content : public oci::LayerContent {
public:
  explicit Content(std::string_view bytes) : rest_(bytes), size_(bytes.size()) {}
  Result<std::string_view> next() override {
    const std::string_view piece = rest_.substr(0, 2);
    rest_.remove_prefix(piece.size());
    return piece;
  }
  uint64_t claimed_size() const override { return size_; }

private:
  std::string_view rest_;
  uint64_t size_;
};

TEST(FileLists, OneLayerOverTheOther) {
  using Kind = oci::LayerEntry::Kind;
  FileList files;
  const auto take = [&](const oci::LayerEntry& entry) {
    Content content(entry.content);
    EXPECT_TRUE(files.take(entry, content));
  };
  for (const char* path : {"a", "d/b", "d/c", "e/f", "g"})
    take(entry(Kind::file, path, path));
  take(entry(Kind::file, "a", "new"));
  take(entry(Kind::file, "d/.wh.b"));
  take(entry(Kind::file, "e/.wh..wh..opq"));
  take(entry(Kind::symlink, "g"));
  oci::LayerEntry link = entry(Kind::hard_link, "h");
  link.link = "a";
  take(link);
  files.take_file("i", "i");
  std::map<std::string, Digest> found;
  for (const FileHash& file : files.finish())
    found[file.path] = file.sha256;
  EXPECT_EQ(found, (std::map<std::string, Digest>{{"/a", digest_of("new")},
                                                  {"/d/c", digest_of("d/c")},
                                                  {"/h", digest_of("new")},
                                                  {"/i", digest_of("i")}}));
  EXPECT_EQ(hash_file("/x", "abc").sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"); // FIPS 180-2, A.1
}

TEST(Inventories, OfADeployedImage) {
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  const auto reference = *oci::parse_reference("oci:" + directory.path().string() + "/layout:x");
  oci::NewImage image = image_with("usr/bin/solver", "solver");
  const auto taken = [&]() -> Result<Inventory> {
    image.config.labels = image.annotations;
    XAAS_TRY([[maybe_unused]] const Digest digest, oci::write_image(reference, image));
    XAAS_TRY(const auto opened, oci::open_image(reference));
    return take_inventory(*opened);
  };
  EXPECT_EQ(taken().error().kind, ErrorKind::usage);
  image.annotations = {{"dev.xaas.kind", "deployed"}};
  EXPECT_THAT(taken().error().message, HasSubstr("does not list its packages"));
  image.annotations["dev.xaas.packages"] = "{}";
  EXPECT_EQ(taken().error().kind, ErrorKind::integrity);
  const image::PackageUse libm = use("libm6", "2", {"/usr/lib/libm.so.6"}, {"/usr/bin/solver"}, true);
  image.annotations["dev.xaas.packages"] = image::to_annotation({libm});
  const auto inventory = taken();
  ASSERT_TRUE(inventory) << inventory.error().message;
  ASSERT_EQ(inventory->files.size(), 1u);
  EXPECT_EQ(inventory->files[0].path, "/usr/bin/solver");
  EXPECT_EQ(inventory->files[0].sha256, digest_of("solver"));
  ASSERT_EQ(inventory->packages.size(), 1u);
  EXPECT_EQ(inventory->packages[0].package, libm.package);
  EXPECT_EQ(inventory->packages[0].files, libm.files);
  EXPECT_EQ(inventory->packages[0].linked, libm.linked);
  EXPECT_TRUE(inventory->packages[0].shared);
}

} // namespace
} // namespace xaas::provenance
