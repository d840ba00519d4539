#include "source_files.h"

#include <xaas/base/process.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>

namespace xaas::build {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Sources : public ::testing::Test {
protected:
  void SetUp() override {
    if (!find_program("git"))
      GTEST_SKIP() << "git is not installed";
  }

  fs::path root() const { return directory_.path() / "src"; }
  void write(const std::string& path, const std::string& text = "x\n") {
    ASSERT_TRUE(make_directories((root() / path).parent_path()));
    ASSERT_TRUE(write_file(root() / path, text));
  }
  void git(std::vector<std::string> arguments, const fs::path& where) {
    Command command;
    command.arguments = {
        "git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.directory = where;
    command.environment = {{"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_CONFIG_NOSYSTEM", "1"}};
    const auto result = run_process(command);
    ASSERT_TRUE(result && result->exit_code == 0) << arguments[0] << (result ? result->output : "");
  }
  void init(const fs::path& where) {
    ASSERT_TRUE(make_directories(where));
    git({"init", "-q"}, where);
  }
  void commit(const fs::path& where) {
    git({"add", "-A"}, where);
    git({"commit", "-q", "-m", "c"}, where);
  }

  SourceFiles list(const std::vector<std::string>& include = {}, const std::vector<fs::path>& skip = {}) {
    const auto listed = list_sources(root(), include, skip);
    EXPECT_TRUE(listed) << listed.error().message;
    return listed ? *listed : SourceFiles();
  }
  Error refused(const std::vector<std::string>& include = {}) {
    const auto listed = list_sources(root(), include, {});
    EXPECT_FALSE(listed);
    return listed ? Error() : listed.error();
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

// A checkout and an archive made from it give the same files.
void write_project(const fs::path& root) {
  for (const auto& [path, text] :
       {std::pair(".gitignore", "*.o\n/build/\n!keep.o\n*.log\n"), std::pair("a.c", "x"),
        std::pair("a.o", "x"), std::pair("keep.o", "x"), std::pair("build/out", "x"),
        std::pair("sub/.gitignore", "local\n!note.log\n"), std::pair("sub/local", "x"),
        std::pair("sub/b.c", "x"), std::pair("sub/build/kept", "x"), std::pair("sub/note.log", "x"),
        std::pair("note.log", "x"), std::pair("a b\nc", "x")}) {
    ASSERT_TRUE(make_directories((root / path).parent_path()));
    ASSERT_TRUE(write_file(root / path, text));
  }
}
const auto kept = ElementsAre(".gitignore", "a b\nc", "a.c", "keep.o", "sub/.gitignore", "sub/b.c",
                              "sub/build/kept", "sub/note.log");
const auto left_out = ElementsAre("a.o", "build/out", "note.log", "sub/local");

TEST_F(Sources, OfACheckout) {
  write_project(root());
  init(root());
  commit(root());
  write("new.c"); // not added yet
  SourceFiles files = list();
  EXPECT_EQ(std::erase(files.files, "new.c"), 1u);
  EXPECT_THAT(files.files, kept);
  EXPECT_THAT(files.ignored, left_out);
}

TEST_F(Sources, OfAnArchive) {
  write_project(root());
  const SourceFiles files = list();
  EXPECT_THAT(files.files, kept);
  EXPECT_THAT(files.ignored, left_out);
  EXPECT_FALSE(fs::exists(root() / ".git"));
}

TEST_F(Sources, OfAnArchiveInSomebodyElsesCheckout) {
  init(directory_.path());
  ASSERT_TRUE(write_file(directory_.path() / ".gitignore", "src\n*.c\n"));
  git({"add", ".gitignore"}, directory_.path());
  git({"commit", "-q", "-m", "c"}, directory_.path());
  write_project(root());
  const SourceFiles files = list();
  EXPECT_THAT(files.files, kept);
  EXPECT_THAT(files.ignored, left_out);
}

TEST_F(Sources, OfAPartOfACheckout) {
  init(directory_.path());
  ASSERT_TRUE(write_file(directory_.path() / ".gitignore", "*.log\n/src/out\n"));
  write("a.c");
  commit(directory_.path());
  write("a.log");
  write("out");
  const SourceFiles files = list();
  EXPECT_THAT(files.files, ElementsAre("a.c"));
  EXPECT_THAT(files.ignored, ElementsAre("a.log", "out"));
}

TEST_F(Sources, WithoutRulesEverything) {
  write("a.o");
  write(".hidden/file");
  EXPECT_THAT(list().files, ElementsAre(".hidden/file", "a.o"));
  EXPECT_THAT(list().ignored, IsEmpty());
}

TEST_F(Sources, WhatIsKnownStaysThoughItIsIgnored) {
  write(".gitignore", "*.bin\n");
  write("data.bin");
  write("more.bin");
  init(root());
  git({"add", "-f", "data.bin"}, root());
  git({"add", ".gitignore"}, root());
  git({"commit", "-q", "-m", "c"}, root());
  EXPECT_THAT(list().files, ElementsAre(".gitignore", "data.bin"));
  EXPECT_THAT(list().ignored, ElementsAre("more.bin"));
}

// A file that only this user's git configuration ignores belongs to the project.
TEST_F(Sources, OtherRulesThanTheProjectsDoNotCount) {
  write("a.c");
  write("b.tmp");
  init(root());
  commit(root());
  write("c.tmp");
  ASSERT_TRUE(write_file(root() / ".git/info/exclude", "*.tmp\n"));
  EXPECT_THAT(list().files, ElementsAre("a.c", "b.tmp", "c.tmp"));
}

TEST_F(Sources, ADeletedFileIsNoneOfThem) {
  write("a.c");
  write("b.c");
  init(root());
  commit(root());
  fs::remove(root() / "b.c");
  EXPECT_THAT(list().files, ElementsAre("a.c"));
}

TEST_F(Sources, NestedRepositoriesHaveTheirOwnRules) {
  write("a.c");
  init(root() / "third_party/lib");
  write("third_party/lib/.gitignore", "*.o\n");
  write("third_party/lib/lib.c");
  commit(root() / "third_party/lib");
  write("third_party/lib/lib.o");
  write("third_party/lib/new.c");
  write("a.o"); // no rule of this repository
  init(root());
  git({"add", "a.c"}, root());
  git({"commit", "-q", "-m", "c"}, root());
  const SourceFiles files = list();
  EXPECT_THAT(files.files, ElementsAre("a.c", "a.o", "third_party/lib/.gitignore", "third_party/lib/lib.c",
                                       "third_party/lib/new.c"));
  EXPECT_THAT(files.ignored, ElementsAre("third_party/lib/lib.o"));
}

TEST_F(Sources, Submodules) {
  const fs::path other = directory_.path() / "other";
  init(other);
  ASSERT_TRUE(write_file(other / "lib.c", "x"));
  ASSERT_TRUE(write_file(other / ".gitignore", "*.o"));
  commit(other);
  write("a.c");
  init(root());
  git({"submodule", "--quiet", "add", other.string(), "lib"}, root());
  commit(root());
  write("lib/lib.o");
  ASSERT_TRUE(fs::is_regular_file(root() / "lib/.git")); // as in submodules
  const SourceFiles files = list();
  EXPECT_THAT(files.files, ElementsAre(".gitmodules", "a.c", "lib/.gitignore", "lib/lib.c"));
  EXPECT_THAT(files.ignored, ElementsAre("lib/lib.o"));
}

TEST_F(Sources, IncludeBringsFilesBack) {
  write(".gitignore", "*.bin\ngenerated/\n");
  write("a.bin");
  write("b.bin");
  write("deep/c.bin");
  write("generated/x/y.c");
  write("generated/z.c");
  EXPECT_THAT(list({"a.bin"}).files, ElementsAre(".gitignore", "a.bin"));
  EXPECT_THAT(list({"*.bin"}).files, ElementsAre(".gitignore", "a.bin", "b.bin", "deep/c.bin"));
  EXPECT_THAT(list({"generated"}).files, ElementsAre(".gitignore", "generated/x/y.c", "generated/z.c"));
  EXPECT_THAT(list({"generated/x/*"}).files, ElementsAre(".gitignore", "generated/x/y.c"));
  EXPECT_THAT(list({"bin", ".bin", "a"}).files, ElementsAre(".gitignore"));
  EXPECT_THAT(list({"a.bin"}).ignored,
              ElementsAre("b.bin", "deep/c.bin", "generated/x/y.c", "generated/z.c"));
}

TEST_F(Sources, OurOwnOutputsAreNone) {
  write("a.c");
  write("app/index.json");
  write("app/blobs/x");
  write("apple");
  EXPECT_THAT(list({}, {root() / "app"}).files, ElementsAre("a.c", "apple"));
  EXPECT_THAT(list({}, {root() / "app/", directory_.path()}).files, ElementsAre("a.c", "apple"));
  EXPECT_THAT(list({"app"}, {root() / "app"}).files, ElementsAre("a.c", "apple"));
}

TEST_F(Sources, VersionControlIsLeftOut) {
  write("a.c");
  init(root());
  commit(root());
  for (const char* const path : {".hg/x", ".svn/x", ".bzr/x", "CVS/Entries", "_darcs/x", "sub/.svn/y"})
    write(path);
  EXPECT_THAT(list().files, ElementsAre("a.c"));
  EXPECT_THAT(list().ignored, IsEmpty());
  EXPECT_THAT(list({"*"}).files, ElementsAre("a.c")); // not even on request
}

TEST_F(Sources, SpecialFilesAndLinksElsewhereAreRefused) {
  write("a.c");
  ASSERT_EQ(mkfifo((root() / "pipe").c_str(), 0600), 0);
  Error error = refused();
  EXPECT_EQ(error.kind, ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("src/pipe: is a special file"));
  write(".gitignore", "pipe\n");
  EXPECT_THAT(list().files, ElementsAre(".gitignore", "a.c"));

  fs::create_symlink("/etc/hostname", root() / "host");
  error = refused();
  EXPECT_EQ(error.kind, ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("src/host: is a link to /etc/hostname"));
  write(".gitignore", "pipe\nhost\n");
  EXPECT_THAT(list().ignored, ElementsAre("host", "pipe"));
  EXPECT_EQ(refused({"host"}).kind, ErrorKind::failed);
}

TEST_F(Sources, LinksAreFilesOfTheirOwn) {
  write("include/a.h");
  fs::create_symlink("include", root() / "inc");
  fs::create_symlink("a.h", root() / "include/b.h");
  fs::create_symlink("nothing", root() / "broken");
  EXPECT_THAT(list().files, ElementsAre("broken", "inc", "include/a.h", "include/b.h"));
  init(root());
  commit(root());
  EXPECT_THAT(list().files, ElementsAre("broken", "inc", "include/a.h", "include/b.h"));
}

// The repository is untrusted: nothing that it names is run.
TEST_F(Sources, NothingOfTheRepositoryRuns) {
  write("a.c");
  init(root());
  commit(root());
  const fs::path ran = directory_.path() / "ran";
  const std::string program = "touch " + ran.string();
  for (const char* const key :
       {"core.fsmonitor", "core.sshCommand", "diff.external", "core.pager", "alias.ls-files"})
    git({"config", key, (key == std::string("alias.ls-files") ? "!" : "") + program}, root());
  EXPECT_THAT(list().files, ElementsAre("a.c"));
  EXPECT_FALSE(fs::exists(ran));
}

class WithoutGit : public Sources {
protected:
  void SetUp() override {
    const char* const path = std::getenv("PATH");
    path_ = path ? path : "";
    setenv("PATH", directory_.path().c_str(), 1);
  }
  void TearDown() override { setenv("PATH", path_.c_str(), 1); }
  std::string path_;
};

TEST_F(WithoutGit, RulesCannotBeRead) {
  write("a.c");
  EXPECT_THAT(list().files, ElementsAre("a.c"));
  write("sub/.gitignore", "*.o\n");
  const Error error = refused();
  EXPECT_EQ(error.kind, ErrorKind::missing_tool);
  EXPECT_EQ(error.hint, "install git");
}

TEST_F(WithoutGit, ACheckoutCannotBeRead) {
  write("a.c");
  ASSERT_TRUE(make_directories(root() / ".git"));
  EXPECT_EQ(refused().kind, ErrorKind::missing_tool);
}

TEST_F(Sources, ADirectoryThatIsNotThere) {
  EXPECT_EQ(refused().kind, ErrorKind::not_found);
}

} // namespace
} // namespace xaas::build
