#include "oci_testing.h"

namespace xaas::oci {
namespace {

TEST(Reference, TransportPathAndTag) {
  const struct {
    const char* text;
    Transport transport;
    const char *path, *tag;
  } cases[] = {
      {"oci:dir", Transport::layout, "dir", ""},
      {"oci:/a/b:ir", Transport::layout, "/a/b", "ir"},
      {"oci:/a:b/c", Transport::layout, "/a:b/c", ""},
      {"oci:/a:b/c:1.0-x_y", Transport::layout, "/a:b/c", "1.0-x_y"},
      {"oci-archive:x.tar:v1", Transport::archive, "x.tar", "v1"},
      {"oci-archive:x", Transport::archive, "x", ""},
      {"rootfs:/a:b", Transport::rootfs, "/a:b", ""},
      {"./gmx:ir", Transport::layout, "./gmx", "ir"},
      {"gmx", Transport::layout, "gmx", ""},
      {"x.tar", Transport::archive, "x.tar", ""},
      {"./x.tar:v1", Transport::archive, "./x.tar", "v1"},
      {"docker.io/library/x:1", Transport::layout, "docker.io/library/x", "1"},
  };
  for (const auto& test : cases) {
    const auto reference = parse_reference(test.text);
    ASSERT_TRUE(reference) << test.text << ": " << reference.error().message;
    EXPECT_EQ(reference->transport, test.transport) << test.text;
    EXPECT_EQ(reference->path, test.path) << test.text;
    EXPECT_EQ(reference->tag, test.tag) << test.text;
    EXPECT_EQ(reference->text, test.text);
  }
}

TEST(Reference, ADirectoryThatEndsInTarIsALayout) {
  const auto directory = *TemporaryDirectory::create();
  const fs::path path = directory.path() / "x.tar";
  fs::create_directory(path);
  EXPECT_EQ(parse_reference(path.string())->transport, Transport::layout);
}

TEST(Reference, MalformedIsAUsageError) {
  for (const std::string text :
       {"", "oci:", "oci::tag", "oci:dir:", "oci:dir:.x", "oci:dir:a b", "rootfs:", "oci-archive:", "./a:b c",
        "docker://registry/name:tag", "squashfs:x", "gmx:ir", "oci-archiv:x"}) {
    const auto reference = parse_reference(text);
    ASSERT_FALSE(reference) << text;
    EXPECT_EQ(reference.error().kind, ErrorKind::usage) << text;
  }
  EXPECT_FALSE(parse_reference("oci:d:" + std::string(129, 'a')));
  EXPECT_TRUE(parse_reference("oci:d:" + std::string(128, 'a')));
}

TEST(Reference, ErrorsSayWhatIsKnown) {
  const auto unknown = parse_reference("squashfs:x");
  EXPECT_NE(unknown.error().message.find("unknown transport 'squashfs'"), std::string::npos);
  EXPECT_NE(unknown.error().hint.find("oci-archive:"), std::string::npos);
  EXPECT_NE(parse_reference("docker://a/b").error().message.find("no registry client"), std::string::npos);
}

} // namespace
} // namespace xaas::oci
