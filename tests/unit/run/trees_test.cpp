// Trees: paths in hostile trees, and unpacking exactly once.
#include <xaas/runtimes/tree_paths.h>

#include <xaas/oci/layer.h>
#include <xaas/run/tree_store.h>

#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace xaas;
using namespace xaas::run;

namespace {

class Trees : public testing::Test {
protected:
  Trees() : directory(*TemporaryDirectory::create()), root(directory.path() / "tree") {
    EXPECT_TRUE(make_directories(root / "usr/lib"));
    fs::create_symlink("usr/lib", root / "lib");
    fs::create_symlink("/usr", root / "absolute");
    fs::create_symlink("../../../..", root / "usr/up");
    fs::create_symlink("loop", root / "loop");
    EXPECT_TRUE(write_file(root / "usr/lib/libc.so.6", "x"));
  }

  std::unique_ptr<oci::Image> image(const std::string& content) {
    oci::LayerBuilder builder;
    EXPECT_TRUE(builder.add_file("bin/solver", content, 0755));
    oci::NewImage made;
    made.layers.push_back(*builder.finish(oci::Compression::gzip, "test"));
    const oci::Reference reference = *oci::parse_reference("oci:" + (directory.path() / "layout").string());
    EXPECT_TRUE(oci::write_image(reference, made));
    return *oci::open_image(reference);
  }

  TreeStore store() { return *TreeStore::open(directory.path() / "trees"); }

  TemporaryDirectory directory;
  fs::path root;
};

TEST_F(Trees, LinksStayInside) {
  EXPECT_EQ(find_in_tree(root, "/lib/libc.so.6").inside, "/usr/lib/libc.so.6");
  EXPECT_EQ(find_in_tree(root, "/absolute/lib/libc.so.6").outside, root / "usr/lib/libc.so.6");
  EXPECT_EQ(find_in_tree(root, "/usr/up/usr/lib").inside, "/usr/lib");
  EXPECT_EQ(find_in_tree(root, "/../../usr").inside, "/usr");
  EXPECT_EQ(find_in_tree(root, "/usr/up/etc/passwd").type, fs::file_type::not_found);
  EXPECT_EQ(find_in_tree(root, "/loop/x").type, fs::file_type::unknown);
  EXPECT_EQ(find_in_tree(root, "/nothing/../usr").type, fs::file_type::not_found);
  EXPECT_EQ(find_in_tree(root, "/usr/lib/libc.so.6/../libc.so.6").type, fs::file_type::not_found);
  EXPECT_EQ(find_in_tree(root, "/").outside, root);
}

TEST_F(Trees, MountPointsAreMadeInsideOnly) {
  fs::create_symlink(directory.path(), root / "out"); // an absolute link on the host
  EXPECT_EQ(*runtimes::make_mount_point(root, "/lib/a/b", true), "/usr/lib/a/b");
  EXPECT_TRUE(fs::is_directory(root / "usr/lib/a/b"));
  EXPECT_EQ(*runtimes::make_mount_point(root, "/lib/a/b", true), "/usr/lib/a/b");
  EXPECT_EQ(*runtimes::make_mount_point(root, "/etc/passwd", false), "/etc/passwd");
  EXPECT_TRUE(fs::is_regular_file(root / "etc/passwd"));
  ASSERT_TRUE(runtimes::make_mount_point(root, "/out/made", true));
  EXPECT_FALSE(fs::exists(directory.path() / "made"));
  EXPECT_EQ(runtimes::make_mount_point(root, "/etc/passwd", true).error().kind, ErrorKind::storage);
  EXPECT_FALSE(runtimes::make_mount_point(root, "/loop", true));
}

TEST_F(Trees, OnlyFilesCount) {
  ASSERT_TRUE(make_directories(root / "scratch/user/run"));
  EXPECT_FALSE(runtimes::has_files(find_in_tree(root, "/scratch")));
  EXPECT_FALSE(runtimes::has_files(find_in_tree(root, "/nothing")));
  EXPECT_TRUE(runtimes::has_files(find_in_tree(root, "/usr")));
}

TEST_F(Trees, UnpackedOnce) {
  const std::unique_ptr<oci::Image> solver = image("one");
  const TreeUse first = *store().get(*solver);
  EXPECT_TRUE(first.fresh());
  EXPECT_EQ(*read_file(first.tree() / "bin/solver"), "one");
  const TreeUse second = *store().get(*solver);
  EXPECT_FALSE(second.fresh());
  EXPECT_EQ(second.tree(), first.tree());
  ASSERT_EQ(store().entries().size(), 1u);
  EXPECT_GT(store().entries()[0].bytes, 0u);
}

TEST_F(Trees, ManyAtOnce) {
  const std::unique_ptr<oci::Image> solver = image(std::string(1 << 20, 'x'));
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      const Result<TreeUse> use = store().get(*solver);
      _exit(!use ? 9 : fs::file_size(use->tree() / "bin/solver") != 1 << 20 ? 8 : use->fresh() ? 1 : 0);
    }
    children.push_back(child);
  }
  int fresh = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_LT(WEXITSTATUS(status), 2);
    fresh += WEXITSTATUS(status);
  }
  EXPECT_EQ(fresh, 1);
}

TEST_F(Trees, KilledAtAnyTime) {
  const std::unique_ptr<oci::Image> solver = image(std::string(16 << 20, 'x'));
  for (useconds_t pause = 100; pause < 100'000; pause *= 2) {
    const pid_t child = fork();
    if (child == 0) {
      static_cast<void>(store().get(*solver));
      _exit(0);
    }
    usleep(pause);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const TreeUse use = *store().get(*solver);
  EXPECT_EQ(fs::file_size(use.tree() / "bin/solver"), 16u << 20);
  ASSERT_TRUE(store().prune(~uint64_t(0))); // removes the leftovers of killed runs
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(store().root()))
    ++files;
  EXPECT_EQ(files, 2u); // the tree and its lock
}

TEST_F(Trees, PrunedByAgeAndNotInUse) {
  const std::unique_ptr<oci::Image> old = image("old");
  const std::string name = old->digest().hex();
  {
    const TreeUse gone = *store().get(*old);
  }
  ASSERT_EQ(0, utimensat(AT_FDCWD, (store().root() / (name + ".use")).c_str(),
                         std::array<timespec, 2>{{{1000, 0}, {1000, 0}}}.data(), 0));
  const std::unique_ptr<oci::Image> young = image("young");
  {
    const TreeUse gone = *store().get(*young);
  }
  const uint64_t each = store().entries()[0].bytes;
  EXPECT_EQ(*store().prune(each), each);
  EXPECT_FALSE(fs::exists(store().root() / name));
  const TreeUse used = *store().get(*young);
  EXPECT_EQ(*store().prune(0), each);
  EXPECT_TRUE(fs::exists(used.tree() / "bin/solver"));
}

TEST_F(Trees, ADirectoryOfOthersIsNotTrusted) {
  const fs::path place = directory.path() / "shared";
  ASSERT_TRUE(make_directories(place));
  ASSERT_EQ(chmod(place.c_str(), 0777), 0);
  EXPECT_EQ(TreeStore::open(place).error().kind, ErrorKind::storage);
}

} // namespace
