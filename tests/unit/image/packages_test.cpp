#include <xaas/image/packages.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::image {
namespace {

using ::testing::ElementsAre;
using ItemKind = link::LinkItem::Kind;
using RefKind = link::FileRef::Kind;

link::LinkItem input(RefKind kind, const Digest& digest, const std::string& name) {
  return {ItemKind::input, "", "", {kind, digest, name}};
}

// A program that links an object of `ld -r` with libz.a, a native object of the build, libm.so and crt1.o;
// and a closure of libm.so.6 and a file without a package.
struct PackagedBundle {
  Bundle bundle;
  Digest libz = digest_of("libz"), own = digest_of("own"), libm = digest_of("libm"), crt = digest_of("crt"),
         lone = digest_of("lone");

  PackagedBundle() {
    bundle.arch = "x86_64";
    bundle.llvm = llvm_version();
    bundle.kit = {{libz, {"libz.a", 1, false, ""}},
                  {own, {"own.o", 1, true, "assembly"}},
                  {libm, {"libm.so", 1, false, ""}},
                  {crt, {"crt1.o", 1, false, ""}}};
    link::LinkRecord part;
    part.kind = link::OutputKind::relocatable;
    part.name = "part.o";
    part.items = {input(RefKind::kit, libz, "libz.a")};
    link::LinkRecord program;
    program.name = "solver";
    program.items = {input(RefKind::link, part.digest(), "part.o"), input(RefKind::kit, own, "own.o"),
                     input(RefKind::kit, libm, "libm.so"), input(RefKind::kit, crt, "crt1.o")};
    bundle.links = {{part.digest(), part}, {program.digest(), program}};
    BundleConfiguration configuration;
    link::InstalledFile file;
    file.kind = link::InstalledFile::Kind::link;
    file.path = "usr/bin/solver";
    file.digest = program.digest();
    configuration.installed = {file};
    for (const auto& [path, digest] :
         {std::pair("usr/lib/libm.so.6", libm), std::pair("usr/share/lone.txt", lone)}) {
      link::InstalledFile runtime;
      runtime.path = path;
      runtime.digest = digest;
      configuration.runtime.push_back(runtime);
    }
    bundle.configurations = {configuration};
    bundle.packages = {{"deb", "libc6", "2.36", "amd64", "glibc", "debian-12", {libm}},
                       {"deb", "libc6-dev", "2.36", "amd64", "glibc", "debian-12", {crt}},
                       {"deb", "zlib1g-dev", "1.2", "amd64", "zlib", "debian-12", {libz}}};
  }
};

TEST(PackageUses, OfAConfiguration) {
  const PackagedBundle fixture;
  const auto uses = package_uses(fixture.bundle, fixture.bundle.configurations[0]);
  ASSERT_TRUE(uses) << uses.error().message;
  ASSERT_EQ(uses->size(), 4u);
  std::map<std::string, PackageUse> by_name;
  for (const PackageUse& use : *uses)
    by_name[use.package.name] = use;
  EXPECT_THAT(by_name["zlib1g-dev"].linked, ElementsAre("/usr/bin/solver"));
  EXPECT_FALSE(by_name["zlib1g-dev"].shared);
  EXPECT_THAT(by_name["libc6-dev"].linked, ElementsAre("/usr/bin/solver"));
  EXPECT_THAT(by_name["libc6"].files, ElementsAre("/usr/lib/libm.so.6"));
  EXPECT_TRUE(by_name["libc6"].shared);
  // Links read libm.so, but it is not part of the program.
  EXPECT_THAT(by_name["libc6"].linked, ElementsAre());
  EXPECT_EQ(by_name["lone.txt"].file, fixture.lone);
  EXPECT_EQ(by_name["lone.txt"].package.manager, "");
  EXPECT_FALSE(by_name["lone.txt"].shared);
}

TEST(PackageUses, WithoutPackagesFilesStandForThemselves) {
  PackagedBundle fixture;
  fixture.bundle.packages.clear();
  std::vector<std::string> names;
  const auto uses = package_uses(fixture.bundle);
  ASSERT_TRUE(uses) << uses.error().message;
  for (const PackageUse& use : *uses) {
    EXPECT_TRUE(use.file);
    names.push_back(use.package.name);
  }
  EXPECT_THAT(names, ElementsAre("crt1.o", "libm.so.6", "libz.a", "lone.txt"));
}

TEST(PackageUses, SurviveTheAnnotation) {
  const PackagedBundle fixture;
  const auto uses = package_uses(fixture.bundle);
  ASSERT_TRUE(uses);
  oci::Manifest manifest;
  EXPECT_FALSE(*package_uses(manifest));
  manifest.annotations[annotation::packages] = to_annotation(*uses);
  const auto read = package_uses(manifest);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(to_annotation(**read), manifest.annotations[annotation::packages]);
  for (const char* damaged :
       {"", "{}", "[1]", R"([{"name":1}])", R"([{"name":"a"}])", R"([{"name":"a","files":[],"linked":1}])",
        R"([{"name":"a","digest":"x","files":[],"linked":[]}])"}) {
    manifest.annotations[annotation::packages] = damaged;
    const auto refused = package_uses(manifest);
    ASSERT_FALSE(refused) << damaged;
    EXPECT_EQ(refused.error().kind, ErrorKind::integrity);
  }
}

TEST(PackageUses, TooManyFilesAreNotNamed) {
  PackageUse use;
  use.package.name = "data";
  for (size_t i = 0; i < package_limit / 16; ++i)
    use.files.push_back("/usr/share/data/" + std::to_string(i));
  oci::Manifest manifest;
  manifest.annotations[annotation::packages] = to_annotation({use});
  EXPECT_LT(manifest.annotations[annotation::packages].size(), 1000u);
  const auto read = package_uses(manifest);
  ASSERT_TRUE(read && *read);
  EXPECT_FALSE((*read)->front().files_known);
}

TEST(PackageUses, PackagesSurviveTheBundle) {
  const PackagedBundle fixture;
  const auto parsed = parse_bundle(to_json(fixture.bundle).dump(), "bundle");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->packages, fixture.bundle.packages);
  Json json = to_json(fixture.bundle);
  json["packages"][0]["files"][0] = "sha256:x";
  EXPECT_EQ(parse_bundle(json.dump(), "bundle").error().kind, ErrorKind::integrity);
  json["packages"] = 1;
  EXPECT_EQ(parse_bundle(json.dump(), "bundle").error().kind, ErrorKind::integrity);
}

} // namespace
} // namespace xaas::image
