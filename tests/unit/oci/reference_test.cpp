#include "oci/testing.h"

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
      {"squashfs:/a:b", Transport::squashfs, "/a:b", ""},
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
  for (const std::string text : {"", "oci:", "oci::tag", "oci:dir:", "oci:dir:.x", "oci:dir:a b",
                                 "rootfs:", "oci-archive:", "./a:b c", "dir:x", "gmx:ir", "oci-archiv:x"}) {
    const auto reference = parse_reference(text);
    ASSERT_FALSE(reference) << text;
    EXPECT_EQ(reference.error().kind, ErrorKind::usage) << text;
  }
  EXPECT_FALSE(parse_reference("oci:d:" + std::string(129, 'a')));
  EXPECT_TRUE(parse_reference("oci:d:" + std::string(128, 'a')));
}

const char* const digest_text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

TEST(Reference, RegistryHostNameTagAndDigest) {
  const std::string at_digest = std::string("@") + digest_text;
  const struct {
    std::string text;
    const char *host, *repository, *tag;
    bool digest = false;
  } cases[] = {
      {"docker://busybox", "docker.io", "library/busybox", ""},
      {"docker://busybox:1.36", "docker.io", "library/busybox", "1.36"},
      {"docker://me/app", "docker.io", "me/app", ""},
      {"docker://docker.io/app", "docker.io", "library/app", ""},
      {"docker://index.docker.io/app", "docker.io", "library/app", ""},
      {"docker://localhost/app", "localhost", "app", ""},
      {"docker://localhost:5000/app:v1", "localhost:5000", "app", "v1"},
      {"docker://registry.example.org/a/b-c/d__e.f:1.0-x_Y", "registry.example.org", "a/b-c/d__e.f",
       "1.0-x_Y"},
      {"docker://h.org/a---b", "h.org", "a---b", ""},
      {"docker://[::1]:5000/app", "[::1]:5000", "app", ""},
      {"docker://127.0.0.1:5000/a/b" + at_digest, "127.0.0.1:5000", "a/b", "", true},
      {"docker://h.org:443/a:v2" + at_digest, "h.org:443", "a", "v2", true},
  };
  for (const auto& test : cases) {
    const auto reference = parse_reference(test.text);
    ASSERT_TRUE(reference) << test.text << ": " << reference.error().message;
    EXPECT_EQ(reference->transport, Transport::registry);
    EXPECT_EQ(reference->host, test.host) << test.text;
    EXPECT_EQ(reference->repository, test.repository) << test.text;
    EXPECT_EQ(reference->tag, test.tag) << test.text;
    EXPECT_EQ(reference->digest.has_value(), test.digest) << test.text;
    EXPECT_EQ(reference->text, test.text);
  }
  EXPECT_EQ(parse_reference("docker://h.org/a" + at_digest)->digest->to_string(), digest_text);
}

TEST(Reference, MalformedRegistryReferencesAreUsageErrors) {
  const std::string digest = digest_text;
  for (const std::string text : {"docker:",
                                 "docker://",
                                 "docker:h.org/a",
                                 "docker:///a",
                                 "docker://h.org/",
                                 "docker://h.org/a/",
                                 "docker://h.org//a",
                                 "docker://h.org/a..b",
                                 "docker://h.org/a___b",
                                 "docker://h.org/-a",
                                 "docker://h.org/a-",
                                 "docker://h.org/a_-b",
                                 "docker://h.org/A",
                                 "docker://h.org/a:",
                                 "docker://h.org/a:.x",
                                 "docker://h.org/a b",
                                 "docker://h.org/a?x=1",
                                 "docker://h.org/a%2e",
                                 "docker://h.org/../a",
                                 "docker://user:pw@h.org/a",
                                 "docker://h_.org/a",
                                 "docker://h..org/a",
                                 "docker://.h.org/a",
                                 "docker://h.org:/a",
                                 "docker://h.org:x/a",
                                 "docker://h.org:123456/a",
                                 "docker://[::1/a",
                                 "docker://[]:1/a",
                                 "docker://h.org/a@",
                                 "docker://h.org/a@sha512:00",
                                 "docker://h.org/a@sha256:00"}) {
    const auto reference = parse_reference(text);
    ASSERT_FALSE(reference) << text;
    EXPECT_EQ(reference.error().kind, ErrorKind::usage) << text;
  }
  EXPECT_FALSE(parse_reference("docker://h.org/a@" + digest + "0"));
  EXPECT_FALSE(parse_reference("docker://h.org/" + std::string(250, 'a')));
  EXPECT_TRUE(parse_reference("docker://h.org/" + std::string(249, 'a')));
}

TEST(Reference, ErrorsSayWhatIsKnown) {
  const auto unknown = parse_reference("dir:x");
  EXPECT_NE(unknown.error().message.find("unknown transport 'dir'"), std::string::npos);
  EXPECT_NE(unknown.error().hint.find("oci-archive:"), std::string::npos);
  EXPECT_NE(unknown.error().hint.find("docker://"), std::string::npos);
  EXPECT_NE(parse_reference("docker://localhost/Upper").error().message.find("upper-case"),
            std::string::npos);
}

} // namespace
} // namespace xaas::oci
