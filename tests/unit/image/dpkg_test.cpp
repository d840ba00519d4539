#include <xaas/image/dpkg.h>

#include <xaas/base/file.h>

#include <gtest/gtest.h>

namespace xaas::image {
namespace {

// A machine with a package database; the files themselves need not exist.
class Packages : public ::testing::Test {
protected:
  void SetUp() override {
    write("etc/os-release", "PRETTY_NAME=\"Debian\"\nVERSION_ID=\"12\"\nID=debian\n");
    write("var/lib/dpkg/status",
          "Package: bash\nStatus: install ok installed\nArchitecture: amd64\n"
          "Version: 5.2.15-2+b7\nSource: bash (5.2.15-2)\nDescription: shell\n Package: no\n"
          "\n"
          "Package: libc6\nArchitecture: amd64\nMulti-Arch: same\nSource: glibc\n"
          "Version: 2.36-9\n"
          "\n"
          "Package: libc6\nArchitecture: i386\nSource: glibc\nVersion: 2.36-8\n");
    write("var/lib/dpkg/info/bash.list", "/.\n/bin\n/bin/bash\n");
    write("var/lib/dpkg/info/libc6:amd64.list", "/lib/x86_64-linux-gnu/libc.so.6\n/usr/share/doc\n");
    write("var/lib/dpkg/info/libc6:i386.list", "/lib/i386-linux-gnu/libc.so.6\n");
    write("var/lib/dpkg/info/gone:amd64.list", "/usr/lib/gone.so\n"); // without a stanza
  }
  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(make_directories((root() / path).parent_path()));
    ASSERT_TRUE(write_file(root() / path, text));
  }
  fs::path root() const { return directory_.path(); }
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

TEST_F(Packages, OfFilesByTheirPaths) {
  const Digest bash = digest_of("bash"), libc = digest_of("libc"), other = digest_of("other");
  const auto packages = packages_of({{bash, "/usr/bin/bash"}, // merged /usr
                                     {libc, "/usr/lib/x86_64-linux-gnu/../x86_64-linux-gnu/libc.so.6"},
                                     {other, "/opt/lib/libother.so"},
                                     {digest_of("gone"), "/usr/lib/gone.so"}},
                                    root());
  ASSERT_EQ(packages.size(), 2u);
  EXPECT_EQ(packages[0],
            (image::Package{"deb", "bash", "5.2.15-2+b7", "amd64", "bash", "debian-12", {bash}}));
  EXPECT_EQ(packages[1], (image::Package{"deb", "libc6", "2.36-9", "amd64", "glibc", "debian-12", {libc}}));
}

TEST_F(Packages, OfAnotherArchitecture) {
  const Digest libc = digest_of("libc");
  const auto packages = packages_of({{libc, "/lib/i386-linux-gnu/libc.so.6"}}, root());
  ASSERT_EQ(packages.size(), 1u);
  EXPECT_EQ(packages[0].arch, "i386");
  EXPECT_EQ(packages[0].version, "2.36-8");
}

TEST_F(Packages, ThroughLinks) {
  write("lib/x86_64-linux-gnu/libc.so.6", "the library");
  // The link of a development package, which is found first.
  write("var/lib/dpkg/info/a-dev.list", "/opt/lib/libc.so.6\n");
  ASSERT_TRUE(make_directories(root() / "opt"));
  fs::create_symlink("../lib/x86_64-linux-gnu", root() / "opt" / "lib");
  const auto packages = packages_of({{digest_of("libc"), "/opt/lib/libc.so.6"}}, root());
  ASSERT_EQ(packages.size(), 1u);
  EXPECT_EQ(packages[0].name, "libc6");
}

TEST_F(Packages, WithoutADatabaseThereAreNone) {
  fs::remove_all(root() / "var");
  EXPECT_TRUE(packages_of({{digest_of("bash"), "/bin/bash"}}, root()).empty());
  EXPECT_TRUE(packages_of({}, root()).empty());
}

} // namespace
} // namespace xaas::image
