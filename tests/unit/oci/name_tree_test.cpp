#include <xaas/oci/name_tree.h>

#include <gmock/gmock.h>

namespace xaas::oci {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = LayerEntry::Kind;

class NameTreeTest : public ::testing::Test {
protected:
  std::string add(Kind kind, const std::string& path, const std::string& link = {}, unsigned mode = 0644) {
    LayerEntry entry;
    entry.kind = kind;
    entry.path = path;
    entry.link = link;
    entry.mode = mode;
    gone_.clear();
    return tree_.add(entry, [&](const std::string& gone) { gone_.push_back(gone); });
  }
  NameTree tree_;
  std::vector<std::string> gone_; // by the last call
};

TEST_F(NameTreeTest, FilesLinksAndDirectories) {
  EXPECT_EQ(add(Kind::file, "usr/bin/tool", {}, 0755), "/usr/bin/tool");
  EXPECT_EQ(add(Kind::hard_link, "usr/bin/again", "usr/bin/tool"), "/usr/bin/again");
  EXPECT_EQ(add(Kind::symlink, "usr/bin/link", "../../usr/bin/./tool"), "/usr/bin/link");
  EXPECT_EQ(add(Kind::symlink, "bin", "/usr/bin"), "/bin");
  EXPECT_EQ(add(Kind::other, "dev/null"), "");
  EXPECT_EQ(tree_.resolve("/bin/link"), "/usr/bin/tool");
  EXPECT_EQ(tree_.resolve("/bin/../bin"), "/usr/bin"); // `..` of where the link leads
  EXPECT_EQ(tree_.resolve("/bin/none"), "");
  EXPECT_TRUE(tree_.find("/usr/bin/tool")->runs);
  EXPECT_TRUE(tree_.find("/usr/bin/again")->runs);
  EXPECT_EQ(tree_.find("/usr/bin")->kind, NameTree::Kind::directory);
  EXPECT_EQ(tree_.find("/bin/tool"), nullptr); // through a link
  EXPECT_EQ(add(Kind::file, "bin/other"), "/usr/bin/other");
  EXPECT_FALSE(tree_.find("/usr/bin/other")->runs);
}

TEST_F(NameTreeTest, DirectoriesKeepTheModeAndOwnerOfTheUppermostEntry) {
  LayerEntry entry{.kind = Kind::directory, .path = "usr/local", .mode = 02775, .user = 1, .group = 50};
  tree_.add(entry);
  EXPECT_EQ(tree_.find("/usr/local")->directory, (Directory{02775, 1, 50}));
  EXPECT_EQ(tree_.find("/usr")->directory, Directory());
  tree_.start_layer();
  entry.mode = 0755, entry.user = entry.group = 0;
  tree_.add(entry);
  EXPECT_EQ(tree_.find("/usr/local")->directory, Directory());
}

TEST_F(NameTreeTest, WhereAnEntryWouldAppear) {
  add(Kind::directory, "usr/lib");
  add(Kind::symlink, "lib", "usr/lib");
  add(Kind::symlink, "gone", "nowhere");
  EXPECT_EQ(tree_.place("/lib/x"), "/usr/lib/x");
  EXPECT_EQ(tree_.place("/lib/new/x"), "/usr/lib/new/x");
  EXPECT_EQ(tree_.place("/lib"), "/lib"); // the last name is not resolved
  EXPECT_EQ(tree_.place("/gone/x"), "/gone/x");
  EXPECT_EQ(tree_.find("/usr/lib/new"), nullptr); // nothing is made
}

TEST_F(NameTreeTest, LinksThatLeadNowhere) {
  add(Kind::symlink, "loop", "loop");
  add(Kind::symlink, "up", "../../..");
  add(Kind::symlink, "dangling", "none");
  EXPECT_EQ(tree_.resolve("/loop"), "");
  EXPECT_EQ(tree_.resolve("/up"), "/");
  EXPECT_EQ(tree_.resolve("/dangling"), "");
}

TEST_F(NameTreeTest, WhatLaterLayersReplaceAndRemove) {
  tree_.start_layer();
  for (const char* const path : {"a/old", "a/sub/old", "ab", "b", "c"})
    add(Kind::file, path);
  tree_.start_layer();
  EXPECT_EQ(add(Kind::file, "b"), "/b");
  EXPECT_THAT(gone_, ElementsAre("/b"));
  add(Kind::directory, "c");
  EXPECT_THAT(gone_, ElementsAre("/c"));
  add(Kind::directory, "c");
  EXPECT_THAT(gone_, IsEmpty());
  add(Kind::file, "a/new");
  EXPECT_EQ(add(Kind::file, "a/.wh..wh..opq"), "");
  EXPECT_THAT(gone_, ElementsAre("/a/old", "/a/sub", "/a/sub/old"));
  add(Kind::file, ".wh.b"); // it is of this layer
  EXPECT_THAT(gone_, IsEmpty());
  tree_.start_layer();
  add(Kind::file, ".wh.a");
  EXPECT_THAT(gone_, ElementsAre("/a", "/a/new"));
  for (const char* const path : {"/ab", "/b", "/c"})
    EXPECT_EQ(tree_.resolve(path), path);
  EXPECT_EQ(tree_.resolve("/a"), "");
}

} // namespace
} // namespace xaas::oci
