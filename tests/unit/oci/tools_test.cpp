// Other tools must take what we write, and we what they write.
#include "oci/testing.h"

#include <xaas/base/process.h>

namespace xaas::oci {
namespace {

using testing::image_of;
using testing::layer_of;
using testing::reference_of;

class ToolsTest : public ::testing::Test {
protected:
  ProcessResult run_tool(std::vector<std::string> arguments) {
    const auto result = run_process({.arguments = std::move(arguments)});
    EXPECT_TRUE(result);
    return result ? *result : ProcessResult();
  }
  std::string at(const std::string& name) const { return (directory_.path() / name).string(); }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

#define NEEDS(tool)                                                                                          \
  if (!find_program(tool))                                                                                   \
  GTEST_SKIP() << "SKIPPED: there is no " << tool << " here"

TEST_F(ToolsTest, SkopeoInspectsAndCopies) {
  NEEDS("skopeo");
  NewImage image = image_of("tool");
  image.layers.push_back(layer_of("zstd", "x", Compression::zstd));
  ASSERT_TRUE(write_image(reference_of("oci:" + at("layout") + ":v1"), image));
  const ProcessResult inspected = run_tool({"skopeo", "inspect", "oci:" + at("layout") + ":v1"});
  ASSERT_EQ(inspected.exit_code, 0) << inspected.output;
  EXPECT_NE(inspected.output.find(manifest_digest(image).to_string()), std::string::npos);

  // To an archive of theirs and back into a layout: the same image.
  for (const std::string& from : {"oci:" + at("layout") + ":v1", "oci-archive:" + at("ours.tar")}) {
    if (from.find("ours") != std::string::npos)
      ASSERT_TRUE(write_image(reference_of(from), image));
    const std::string copy = at("copy" + std::to_string(from.size()) + ".tar");
    const ProcessResult copied =
        run_tool({"skopeo", "copy", "--insecure-policy", from, "oci-archive:" + copy + ":v1"});
    ASSERT_EQ(copied.exit_code, 0) << copied.output;
    const auto opened = open_image(reference_of("oci-archive:" + copy + ":v1"));
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ((*opened)->digest(), manifest_digest(image));
    EXPECT_TRUE((*opened)->blob((*opened)->manifest().layers[0]));
  }
}

TEST_F(ToolsTest, UmociUnpacks) {
  NEEDS("umoci");
  LayerBuilder builder;
  const std::string long_name = "long/" + std::string(120, 'a') + "/" + std::string(120, 'b');
  ASSERT_TRUE(builder.add_file("bin/tool", "tool", 0755));
  ASSERT_TRUE(builder.add_file(long_name, "long"));
  ASSERT_TRUE(builder.add_symlink("link", "bin/tool"));
  NewImage image = image_of("x");
  image.layers = {*builder.finish(Compression::gzip, "test"), layer_of("bin/other", "other")};
  ASSERT_TRUE(write_image(reference_of("oci:" + at("layout") + ":v1"), image));
  const ProcessResult unpacked =
      run_tool({"umoci", "unpack", "--rootless", "--image", at("layout") + ":v1", at("bundle")});
  ASSERT_EQ(unpacked.exit_code, 0) << unpacked.output;
  EXPECT_EQ(*read_file(at("bundle/rootfs/link")), "tool");
  EXPECT_EQ(*read_file(at("bundle/rootfs/" + long_name)), "long");
  EXPECT_EQ(*read_file(at("bundle/rootfs/bin/other")), "other");
}

TEST_F(ToolsTest, TarListsTheArchive) {
  NEEDS("tar");
  ASSERT_TRUE(write_image(reference_of("oci-archive:" + at("a.tar")), image_of("x")));
  const ProcessResult listed = run_tool({"tar", "-tvf", at("a.tar"), "--utc", "--numeric-owner"});
  ASSERT_EQ(listed.exit_code, 0) << listed.output;
  EXPECT_EQ(listed.output.find("./"), std::string::npos);
  EXPECT_NE(listed.output.find("-rw-r--r-- 0/0"), std::string::npos) << listed.output;
  EXPECT_NE(listed.output.find("1970-01-01 00:00 oci-layout"), std::string::npos) << listed.output;
}

} // namespace
} // namespace xaas::oci
