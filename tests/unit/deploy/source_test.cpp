// The packaged files of a build from source, and what they need from the toolchain at run time.
#include "package.h"
#include "source_closure.h"

#include <xaas/image/deployed.h>
#include <xaas/image/packages.h>
#include <xaas/oci/layer.h>
#include <xaas/target/cpu.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::deploy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using FileKind = link::InstalledFile::Kind;

link::InstalledFile installed(const std::string& path, FileKind kind = FileKind::file, unsigned mode = 0755) {
  link::InstalledFile file;
  file.kind = kind;
  file.path = path;
  file.mode = mode;
  return file;
}

class Packaging : public ::testing::Test {
protected:
  fs::path file(const std::string& name, const std::string& content) const {
    EXPECT_TRUE(write_file(directory_.path() / name, content));
    return directory_.path() / name;
  }

  // A source image with nothing else.
  image::ApplicationImage source() const {
    image::Bundle bundle;
    bundle.name = "solver";
    bundle.version = "2";
    bundle.arch = "x86_64";
    bundle.tool = image::tool_version();
    bundle.image.entrypoint = {"/usr/local/bin/solver"};
    bundle.source_build = image::SourceBuild{{}, {spec::Configuration()}};
    bundle.source_build->application.name = "solver";
    oci::LayerBuilder builder;
    EXPECT_TRUE(builder.add_file("x", "x"));
    const oci::NewLayer layer = *builder.finish(oci::Compression::gzip, "x");
    const oci::NewImage made = *image::make_application_image(
        bundle, [](const Digest&) { return Result<std::string>(""); }, 0, image::most_groups,
        image::SourceLayers{{layer}, layer, {{image::annotation::base_digest, "sha256:x"}}});
    const oci::Reference reference =
        *oci::parse_reference("oci:" + (directory_.path() / "image").string() + ":x");
    EXPECT_TRUE(oci::write_image(reference, made));
    return *image::ApplicationImage::open(*oci::open_image(reference));
  }

  SourceBuilt built() const {
    SourceBuilt built;
    built.configuration.installed = {installed("usr/local/bin/solver"),
                                     installed("usr/local/share", FileKind::directory, 0700),
                                     installed("usr/local/share/link", FileKind::symlink)};
    built.configuration.installed[2].destination = "../bin/solver";
    built.assembly.contents["usr/local/bin/solver"] = "program";
    for (const std::string path : {"lib64/ld.so", "usr/lib/libm.so.6"}) {
      built.closure.files.push_back(installed(path));
      built.closure.files.back().digest = digest_of(path);
      built.closure.places[path] = file(fs::path(path).filename(), path);
    }
    built.configuration.runtime = built.closure.files;
    built.closure.packages = {
        {"deb", "libc6", "2.36", "amd64", "glibc", "debian-12", {digest_of(std::string("lib64/ld.so"))}},
        {"deb", "libother", "1", "amd64", "", "debian-12", {digest_of(std::string("none"))}}};
    built.compilers.version = "gcc 12";
    built.compilers.flags = {"-march=haswell", "-mno-rtm"};
    return built;
  }

  static std::vector<std::string> paths_in(const oci::NewLayer& layer) {
    std::vector<std::string> paths;
    EXPECT_TRUE(oci::read_layer(*layer.open(), layer.descriptor.media_type, &layer.diff_id,
                                [&](const oci::LayerEntry& entry) -> Result<void> {
                                  if (entry.kind != oci::LayerEntry::Kind::directory || entry.mode != 0755)
                                    paths.push_back(entry.path);
                                  return {};
                                }));
    return paths;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(Packaging, TheClosureThenTheApplicationAndNothingElse) {
  const auto image = package(source(), built(), {{image::annotation::kind, "deployed"}}, 1, nullptr, nullptr);
  ASSERT_TRUE(image) << image.error().message;
  ASSERT_EQ(image->layers.size(), 2u);
  EXPECT_EQ(image::layer_role(image->layers[0].descriptor), "runtime");
  EXPECT_THAT(paths_in(image->layers[0]), ElementsAre("lib64/ld.so", "usr/lib/libm.so.6"));
  EXPECT_EQ(image::layer_role(image->layers[1].descriptor), "application");
  EXPECT_THAT(paths_in(image->layers[1]),
              ElementsAre("usr/local/bin/solver", "usr/local/share", "usr/local/share/link"));
  EXPECT_THAT(image->config.entrypoint, ElementsAre("/usr/local/bin/solver"));
  EXPECT_EQ(image->config.created, "1970-01-01T00:00:01Z");
}

TEST_F(Packaging, WhatMadeItIsSaid) {
  const auto image = package(source(), built(), {{image::annotation::kind, "deployed"}}, 1, nullptr, nullptr);
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->annotations.at(image::annotation::kind), "deployed");
  EXPECT_EQ(image->annotations.at(image::annotation::compiler), "gcc 12");
  EXPECT_EQ(image->annotations.at(image::annotation::compiler_flags), "-march=haswell -mno-rtm");
  EXPECT_FALSE(image->annotations.contains(image::annotation::made_from_llvm));
  EXPECT_EQ(image->config.labels, image->annotations);
  // Packages of files in the image; the toolchain has many more.
  const std::string packages = image->annotations.at(image::annotation::packages);
  EXPECT_THAT(packages, HasSubstr("libc6"));
  EXPECT_THAT(packages, Not(HasSubstr("libother")));
}

// The toolchain is not the base of builds from source, nor of configurations with IR in the same image.
TEST_F(Packaging, TheToolchainIsNoBase) {
  const image::ApplicationImage source = this->source();
  ASSERT_TRUE(source.image().manifest().annotations.contains(image::annotation::base_digest));
  const auto from_source =
      package(source, built(), {{image::annotation::from_source, "true"}}, 1, nullptr, nullptr);
  ASSERT_TRUE(from_source) << from_source.error().message;
  EXPECT_FALSE(from_source->annotations.contains(image::annotation::base_digest));
  const auto from_ir = package(source, image::BundleConfiguration(), Assembly(), {}, 1, nullptr, nullptr);
  ASSERT_TRUE(from_ir) << from_ir.error().message;
  EXPECT_FALSE(from_ir->annotations.contains(image::annotation::base_digest));
}

TEST_F(Packaging, WithoutAClosureThereIsOneLayer) {
  SourceBuilt built = this->built();
  built.closure = {};
  built.configuration.runtime.clear();
  const auto image = package(source(), std::move(built), {}, 1, nullptr, nullptr);
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_EQ(image->layers.size(), 1u);
}

TEST_F(Packaging, LibrariesElsewhereAreFound) {
  SourceBuilt built = this->built();
  built.closure.library_directories = {"/opt/intel/lib", "/opt/a"};
  const auto image = package(source(), std::move(built), {}, 1, nullptr, nullptr);
  ASSERT_TRUE(image) << image.error().message;
  EXPECT_THAT(image->config.env, Contains("LD_LIBRARY_PATH=/opt/a:/opt/intel/lib"));
  EXPECT_THAT(package(source(), this->built(), {}, 1, nullptr, nullptr)->config.env,
              Not(Contains(::testing::StartsWith("LD_LIBRARY_PATH"))));
}

// Closures of this machine's programs, whose needs can be checked wherever these tests run.
class Closure : public ::testing::Test {
protected:
  void SetUp() override {
    const auto own = read_file("/proc/self/exe");
    ASSERT_TRUE(own);
    program_.contents["usr/bin/test"] = *own;
  }
  static std::vector<std::string> names(const SourceClosure& closure) {
    std::vector<std::string> names;
    for (const link::InstalledFile& file : closure.files)
      names.push_back(fs::path(file.path).filename());
    return names;
  }
  Assembly program_;
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(Closure, LoaderLibrariesAndThoseForThreads) {
  const auto closure =
      close_over("/", target::host_arch(), {}, {installed("usr/bin/test")}, program_, {}, nullptr);
  ASSERT_TRUE(closure) << closure.error().message;
  EXPECT_THAT(names(*closure), IsSupersetOf({"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"}));
  EXPECT_THAT(names(*closure), Contains(::testing::StartsWith("ld-linux")));
  std::string before;
  for (const link::InstalledFile& file : closure->files) {
    EXPECT_LT(before, file.path);
    before = file.path;
    EXPECT_EQ(file.digest, digest_of(*read_file(closure->places.at(file.path)))) << file.path;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(closure->places.at(file.path)))) << file.path;
  }
  EXPECT_TRUE(std::is_sorted(closure->packages.begin(), closure->packages.end()));
}

TEST_F(Closure, WhatIsInstalledIsNotTakenFromTheToolchain) {
  const auto closure =
      close_over("/", target::host_arch(), {},
                 {installed("usr/bin/test"), installed("usr/lib/libstdc++.so.6")}, program_, {}, nullptr);
  ASSERT_TRUE(closure) << closure.error().message;
  EXPECT_THAT(names(*closure), Not(Contains("libstdc++.so.6")));
  EXPECT_THAT(names(*closure), Contains("libc.so.6"));
}

TEST_F(Closure, ALibraryThatIsNotThereIsNamedWithWhoNeedsIt) {
  // A tree with nothing but the loader.
  const fs::path tree = directory_.path() / "tree";
  const std::string arch = target::host_arch();
  const std::string loader = arch == "x86_64" ? "lib64/ld-linux-x86-64.so.2" : "lib/ld-linux-aarch64.so.1";
  ASSERT_TRUE(make_directories((tree / loader).parent_path()));
  ASSERT_TRUE(write_file(tree / loader, *read_file("/" + loader)));
  auto closure = close_over(tree, arch, {}, {installed("usr/bin/test")}, program_, {}, nullptr);
  ASSERT_FALSE(closure);
  EXPECT_EQ(closure.error().kind, ErrorKind::failed);
  EXPECT_THAT(closure.error().message, HasSubstr("/usr/bin/test needs "));
  EXPECT_THAT(closure.error().output, HasSubstr("libc.so.6"));
  fs::remove(tree / loader);
  closure = close_over(tree, arch, {}, {installed("usr/bin/test")}, program_, {}, nullptr);
  ASSERT_FALSE(closure);
  EXPECT_THAT(closure.error().message, HasSubstr("/" + loader));
}

TEST_F(Closure, WhatTheSpecNames) {
  const fs::path tree = directory_.path() / "tree";
  ASSERT_TRUE(make_directories(tree / "opt/data/deep"));
  ASSERT_TRUE(write_file(tree / "opt/data/a", "a"));
  ASSERT_TRUE(write_file(tree / "opt/data/deep/b", "b"));
  fs::create_symlink("/opt/data/a", tree / "opt/link");
  fs::create_symlink("/etc/hostname", tree / "opt/out");
  const auto paths = [&](const std::string& named) {
    const auto closure = close_over(tree, target::host_arch(), {}, {}, {}, {named}, nullptr);
    std::vector<std::string> all;
    if (!closure)
      return std::vector{closure.error().message};
    for (const link::InstalledFile& file : closure->files)
      all.push_back(file.path + "=" + *read_file(closure->places.at(file.path)));
    return all;
  };
  EXPECT_THAT(paths("/opt/data"), ElementsAre("opt/data/a=a", "opt/data/deep/b=b"));
  EXPECT_THAT(paths("/opt/link"), ElementsAre("opt/link=a"));
  // A link never leads to this machine's files.
  EXPECT_THAT(paths("/opt/out"), ElementsAre(HasSubstr("/opt/out, which the spec names in `runtime`")));
  EXPECT_THAT(paths("/none"), ElementsAre(HasSubstr("is not in the toolchain")));
  EXPECT_THAT(paths("/etc/passwd"), ElementsAre(HasSubstr("is not in the toolchain")));
}

TEST_F(Closure, WithoutProgramsNothingIsNeeded) {
  Assembly script;
  script.contents["usr/bin/script"] = "#!/bin/sh\n";
  const auto closure =
      close_over("/", target::host_arch(), {}, {installed("usr/bin/script")}, script, {}, nullptr);
  ASSERT_TRUE(closure) << closure.error().message;
  EXPECT_THAT(closure->files, IsEmpty());
}

} // namespace
} // namespace xaas::deploy
