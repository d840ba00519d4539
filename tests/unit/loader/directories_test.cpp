// Where the loader in a tree looks.
#include <xaas/loader/directories.h>

#include <gmock/gmock.h>

using namespace xaas;
using namespace xaas::loader;
using ::testing::ElementsAre;

namespace {

class LoaderDirectories : public ::testing::Test {
protected:
  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(make_directories((tree() / path).parent_path()));
    ASSERT_TRUE(write_file(tree() / path, text));
  }
  fs::path tree() const { return directory.path() / "tree"; }
  std::vector<std::string> configured() const { return directories_of(tree(), "x86_64").configured; }
  TemporaryDirectory directory = *TemporaryDirectory::create();
};

TEST_F(LoaderDirectories, WithoutConfiguration) {
  ASSERT_TRUE(make_directories(tree()));
  EXPECT_THAT(configured(), ElementsAre());
}

TEST_F(LoaderDirectories, OfTheConfigurationAndWhatItIncludes) {
  write("etc/ld.so.conf",
        "# ours\n/opt/first\ninclude ld.so.conf.d/*.conf\n  /opt/last  # behind\nhwcap 0 x\n"
        "relative\n\ninclude /etc/more/one\n");
  write("etc/ld.so.conf.d/b.conf", "/opt/b\n");
  write("etc/ld.so.conf.d/a.conf", "/opt/a1\n/opt/a2\n");
  write("etc/ld.so.conf.d/a.conf.bak", "/opt/no\n");
  write("etc/more/one", "include two\n");
  write("etc/more/two", "/opt/two");
  EXPECT_THAT(configured(),
              ElementsAre("/opt/first", "/opt/a1", "/opt/a2", "/opt/b", "/opt/last", "/opt/two"));
}

TEST_F(LoaderDirectories, LinksStayInTheTree) {
  ASSERT_TRUE(write_file(directory.path() / "outside.conf", "/outside\n"));
  ASSERT_TRUE(make_directories(directory.path() / "outside.d"));
  ASSERT_TRUE(write_file(directory.path() / "outside.d/x", "/outside\n"));
  write("etc/ld.so.conf", "include ../../outside.conf\ninclude up/*\ninclude abs/*\ninclude " +
                              (directory.path() / "outside.d").string() + "/*\n/opt/in\n");
  fs::create_symlink("../../outside.d", tree() / "etc/up");
  fs::create_symlink(directory.path() / "outside.d", tree() / "etc/abs");
  EXPECT_THAT(configured(), ElementsAre("/opt/in"));
  // An absolute link means what it means in the tree.
  write("data/real.conf", "/opt/real\n");
  fs::create_symlink("/data/real.conf", tree() / "etc/link.conf");
  write("etc/ld.so.conf", "include link.conf\n");
  EXPECT_THAT(configured(), ElementsAre("/opt/real"));
}

TEST_F(LoaderDirectories, CirclesEnd) {
  write("etc/ld.so.conf", "/opt/a\ninclude ld.so.conf\n");
  EXPECT_THAT(configured(), ElementsAre("/opt/a"));
}

} // namespace
