// What a build reports about the compilers in a toolchain's layers.
#include "toolchain.h"

#include <xaas/oci/layer.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::build {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Notes : public Progress {
public:
  void start(const std::string&, uint64_t) override {}
  void advance(uint64_t) override {}
  void finish() override {}
  void note(const std::string& text) override { said.push_back(text); }
  std::vector<std::string> said;
};

// Programs by path; a path with an arrow is a link.
oci::NewLayer layer(const std::vector<std::string>& files, unsigned mode = 0755) {
  oci::LayerBuilder builder;
  for (const std::string& file : files) {
    if (const size_t arrow = file.find(" -> "); arrow != std::string::npos)
      EXPECT_TRUE(builder.add_symlink(file.substr(0, arrow), file.substr(arrow + 4)));
    else
      EXPECT_TRUE(builder.add_file(file, "x", mode));
  }
  return *builder.finish(oci::Compression::gzip, "test");
}

// A whiteout, which our builders never make.
oci::NewLayer without(const std::string& directory, const std::string& name) {
  std::string tar(1536, '\0');
  const std::string path = directory + "/.wh." + name;
  path.copy(tar.data(), 100);
  std::string("0000644").copy(tar.data() + 100, 8);
  std::string("00000000000").copy(tar.data() + 124, 12);
  tar[156] = '0';
  std::fill_n(tar.begin() + 148, 8, ' ');
  unsigned sum = 0;
  for (const char c : tar.substr(0, 512))
    sum += static_cast<unsigned char>(c);
  std::snprintf(tar.data() + 148, 8, "%06o", sum);
  oci::NewLayer made;
  made.descriptor = {oci::media_type::layer_tar, digest_of(tar), tar.size(), {}};
  made.open = [tar]() -> Result<oci::BlobPtr> { return oci::blob_of(tar); };
  return made;
}

class ToolchainCompilers : public ::testing::Test {
protected:
  Result<void> check(std::vector<oci::NewLayer> layers, const spec::Toolchain& toolchain = {},
                     const std::string& output = "oci:x") {
    notes_.said.clear();
    ToolchainLayers all;
    all.layers = std::move(layers);
    all.path = path_;
    return check_compilers(all, toolchain, *oci::parse_reference(output), notes_);
  }
  // There is a compiler, and nothing to report.
  void expect_found(std::vector<oci::NewLayer> layers, const spec::Toolchain& toolchain = {}) {
    const auto checked = check(std::move(layers), toolchain);
    EXPECT_TRUE(checked) << checked.error().message;
    EXPECT_THAT(notes_.said, IsEmpty());
  }
  void expect_none(std::vector<oci::NewLayer> layers) {
    const auto checked = check(std::move(layers));
    EXPECT_TRUE(checked) << checked.error().message;
    EXPECT_THAT(notes_.said, ElementsAre(HasSubstr("neither gcc nor clang")));
  }
  std::string path_;
  Notes notes_;
};

TEST_F(ToolchainCompilers, OneOfTheUsualOnesIsEnough) {
  for (const char* const name : {"gcc", "clang", "cc", "g++", "clang++", "c++"})
    expect_found({layer({std::string("usr/bin/") + name})});
  expect_none({layer({"usr/bin/gfortran", "usr/bin/gcc-12", "usr/lib/gcc", "opt/bin/gcc"})});
  expect_none({layer({"usr/bin/gcc"}, 0644)});
  expect_none({});
}

TEST_F(ToolchainCompilers, LinksAreFollowedInside) {
  expect_found({layer({"usr/bin/gcc -> gcc-12", "usr/bin/gcc-12 -> x86_64-linux-gnu-gcc-12",
                       "usr/bin/x86_64-linux-gnu-gcc-12"})});
  expect_found({layer({"bin -> usr/bin", "etc/alternatives/cc -> /usr/bin/tcc",
                       "usr/bin/cc -> /etc/alternatives/cc", "usr/bin/tcc"})});
  expect_none({layer({"usr/bin/gcc -> gcc-12", "usr/bin/cc -> /bin/true"})}); // even if this machine has one
}

TEST_F(ToolchainCompilers, LaterLayersCount) {
  expect_found({layer({"usr/bin/gcc -> gcc-12"}), layer({"usr/bin/gcc-12"})});
  expect_none({layer({"usr/bin/gcc-12"}), without("usr/bin", "gcc-12"), layer({"usr/bin/gcc -> gcc-12"})});
}

TEST_F(ToolchainCompilers, WhereToLookIsSaid) {
  const oci::NewLayer vendor = layer({"opt/vendor/bin/gcc"});
  expect_none({vendor});
  path_ = "/usr/bin:/opt/vendor/bin";
  expect_found({vendor});
  expect_found({vendor}, {.c = "gcc"});
  path_.clear();
  expect_found({vendor}, {.c = "/opt/vendor/bin/gcc"});
  expect_found({vendor}, {.c = "gcc", .path = "/opt/vendor/bin"});
}

TEST_F(ToolchainCompilers, OneThatIsNamedAndNotThereIsSaid) {
  const oci::NewLayer usual = layer({"usr/bin/gcc", "usr/bin/g++"});
  for (const spec::Toolchain& toolchain :
       {spec::Toolchain{.c = "icx"}, spec::Toolchain{.cxx = "icx"}, spec::Toolchain{.fortran = "icx"},
        spec::Toolchain{.c = "/opt/icx"}}) {
    EXPECT_TRUE(check({usual}, toolchain)); // the host's can be used
    EXPECT_THAT(notes_.said, ElementsAre(HasSubstr("icx, which the spec names as its compiler for")));
  }
  expect_found({usual}, {.c = "gcc", .cxx = "g++"});
}

TEST_F(ToolchainCompilers, NoMoreIsReadThanIsNeeded) {
  std::vector<std::string> programs = {"bin/cc"};
  for (int i = 0; i < 1000; ++i)
    programs.push_back("data/" + std::to_string(i));
  oci::NewLayer unread;
  unread.open = []() -> Result<oci::BlobPtr> { return make_error(ErrorKind::network, "was opened"); };
  EXPECT_TRUE(check({layer(programs), unread}));
  EXPECT_EQ(check({layer({"data/x"}), unread}).error().kind, ErrorKind::network);
  // From one registry to another, the layers may never pass through this machine.
  unread.origin = *oci::parse_reference("docker://example.org/gcc:12");
  EXPECT_TRUE(check({unread}, {.c = "icx"}, "docker://example.org/app:src"));
  EXPECT_EQ(check({unread}).error().kind, ErrorKind::network);
}

} // namespace
} // namespace xaas::build
