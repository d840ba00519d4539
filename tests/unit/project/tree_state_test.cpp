// Which writes into a tree are detected, and which belong to other programs.
#include <xaas/project/tree_state.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

namespace xaas::project {
namespace {

class TreeStateTest : public testing::Test {
protected:
  void SetUp() override {
    for (const char* name : {"a.c", "src/b.c", "src/deep/c.c"})
      write(name, "one\n");
    before_ = TreeState::read(root());
  }
  fs::path root() const { return directory_.path(); }
  void write(const fs::path& name, const std::string& text) {
    ASSERT_TRUE(make_directories((root() / name).parent_path()));
    ASSERT_TRUE(write_file(root() / name, text, 0644, false));
  }
  std::string changes() const { return to_string(before_.changes(TreeState::read(root()))); }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  TreeState before_;
};

TEST_F(TreeStateTest, NamesWhatWasAddedChangedAndRemoved) {
  EXPECT_EQ(changes(), "");
  write("src/new/x.h", "x");
  write("src/b.c", "two\n");
  fs::remove(root() / "a.c");
  EXPECT_EQ(changes(), "a.c (removed), src/b.c (changed), src/new (added), src/new/x.h (added)");
}

TEST_F(TreeStateTest, SeesWritesInPlaceThatKeepSizeAndTime) {
  const fs::path file = root() / "src/b.c";
  const fs::file_time_type time = fs::last_write_time(file);
  usleep(20'000); // the change time has the resolution of the kernel's clock tick
  const int fd = open(file.c_str(), O_WRONLY);
  ASSERT_EQ(::write(fd, "two\n", 4), 4);
  close(fd);
  fs::last_write_time(file, time);
  EXPECT_EQ(changes(), "src/b.c (changed)");
}

TEST_F(TreeStateTest, SeesModesAndLinks) {
  fs::permissions(root() / "a.c", fs::perms::owner_all);
  fs::create_symlink("a.c", root() / "link");
  fs::remove(root() / "src/b.c");
  fs::create_symlink("deep/c.c", root() / "src/b.c");
  EXPECT_EQ(changes(), "a.c (changed), link (added), src/b.c (changed)");
}

TEST_F(TreeStateTest, AHardLinkElsewhereChangesNothing) {
  const auto other = *TemporaryDirectory::create();
  fs::create_hard_link(root() / "a.c", other.path() / "a.c");
  EXPECT_EQ(changes(), "");
}

TEST_F(TreeStateTest, LeavesOutWhatOthersWriteBesideABuild) {
  for (const char* name :
       {"build.log", "slurm-12.out", "job.o345", "nohup.out", "src/b.c~", "src/.b.c.swp", "src/.#b.c",
        ".git/index", ".cache/clangd/index", "tools/__pycache__/x.pyc", "app/oci-layout", "app/blobs/x"})
    write(name, "x");
  fs::remove_all(root() / "tools");
  EXPECT_EQ(changes(), "");
  write(".config", "x");
  write("a.output", "x");
  EXPECT_EQ(changes(), ".config (added), a.output (added)");
}

TEST_F(TreeStateTest, AFileThatSomebodyHasOpenForWritingIsTheirs) {
  const int log = open((root() / "typescript").c_str(), O_WRONLY | O_CREAT, 0644);
  ASSERT_EQ(::write(log, "x", 1), 1);
  const int reader = open((root() / "a.c").c_str(), O_RDONLY);
  write("a.c", "two\n");
  write("src/b.c", "two\n");
  const int source = open((root() / "src/b.c").c_str(), O_RDONLY);
  EXPECT_EQ(changes(), "a.c (changed), src/b.c (changed)");
  for (const int fd : {log, reader, source})
    close(fd);
  EXPECT_EQ(changes(), "a.c (changed), src/b.c (changed), typescript (added)");
}

TEST_F(TreeStateTest, LooksAsDeepAsAsked) {
  EXPECT_EQ(to_string(TreeState().changes(TreeState::read(root(), {root() / "a.c"}, 2))),
            "src (added), src/b.c (added), src/deep (added)");
  EXPECT_TRUE(before_.changes(TreeState::read(root())).empty());
  EXPECT_TRUE(TreeState().changes(TreeState::read(root() / "nowhere")).empty());
}

TEST_F(TreeStateTest, ALongListIsCounted) {
  for (int i = 0; i < 8; ++i)
    write("new" + std::to_string(i), "x");
  EXPECT_TRUE(changes().ends_with("new4 (added) and 3 more")) << changes();
}

} // namespace
} // namespace xaas::project
