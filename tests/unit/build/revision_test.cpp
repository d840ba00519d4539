#include "revision.h"

#include <xaas/base/file.h>
#include <xaas/base/process.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::build {
namespace {

using ::testing::EndsWith;
using ::testing::Not;

class Revision : public ::testing::Test {
protected:
  void SetUp() override {
    if (!find_program("git"))
      GTEST_SKIP() << "git is not installed";
    git({"init", "-q"}, root());
    write("src/a.c", "int a;\n");
    write("docs/text", "text\n");
    commit();
  }

  fs::path root() const { return directory_.path() / "checkout"; }
  void write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(make_directories((root() / path).parent_path()));
    ASSERT_TRUE(write_file(root() / path, text));
  }
  std::string git(std::vector<std::string> arguments, const fs::path& where) {
    EXPECT_TRUE(make_directories(where));
    Command command;
    command.arguments = {"git", "-c", "user.name=t", "-c", "user.email=t@example.org"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.directory = where;
    command.environment = {{"GIT_CONFIG_GLOBAL", "/dev/null"}, {"GIT_CONFIG_NOSYSTEM", "1"}};
    const auto result = run_process(command);
    EXPECT_TRUE(result && result->exit_code == 0) << arguments[0] << (result ? result->output : "");
    return result ? result->output : "";
  }
  void commit() {
    git({"add", "-A"}, root());
    git({"commit", "-q", "-m", "c"}, root());
    head_ = git({"rev-parse", "HEAD"}, root()).substr(0, 40);
  }
  std::string revision(const fs::path& source) {
    const auto found = read_revision(source);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : "error";
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  std::string head_;
};

TEST_F(Revision, OfACheckoutAndOfADirectoryInIt) {
  ASSERT_EQ(head_.size(), 40u);
  EXPECT_EQ(revision(root()), head_);
  EXPECT_EQ(revision(root() / "src"), head_);
}

TEST_F(Revision, DirtyIsWhatGitKnowsAndWasChanged) {
  write("src/new.c", "int n;\n"); // git does not track it
  EXPECT_EQ(revision(root()), head_);
  write("src/a.c", "int b;\n");
  EXPECT_EQ(revision(root()), head_ + "-dirty");
  EXPECT_EQ(revision(root() / "src"), head_ + "-dirty");
  EXPECT_EQ(revision(root() / "docs"), head_); // nothing in it changed
  write("src/a.c", "int a;\n");                // the old content, with a new time
  EXPECT_EQ(revision(root()), head_);
  git({"rm", "-q", "docs/text"}, root());
  EXPECT_EQ(revision(root()), head_ + "-dirty");
}

TEST_F(Revision, NoneWhereThereIsNoCheckout) {
  const TemporaryDirectory other = *TemporaryDirectory::create();
  EXPECT_EQ(revision(other.path()), "");
  git({"init", "-q"}, other.path()); // no commit
  EXPECT_EQ(revision(other.path()), "");
  // Unpacked inside another repository.
  ASSERT_TRUE(make_directories(root() / "unpacked"));
  ASSERT_TRUE(write_file(root() / "unpacked" / "b.c", "int b;\n"));
  EXPECT_EQ(revision(root() / "unpacked"), "");
  // In a repository that is not here.
  fs::remove_all(root() / ".git");
  write(".git", "gitdir: /nonexistent/elsewhere\n");
  EXPECT_EQ(revision(root()), "");
}

TEST_F(Revision, SubmodulesCount) {
  const fs::path library = directory_.path() / "library";
  git({"init", "-q"}, library);
  ASSERT_TRUE(write_file(library / "l.c", "int l;\n"));
  git({"add", "-A"}, library);
  git({"commit", "-q", "-m", "l"}, library);
  git({"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.string(), "external"},
      root());
  commit();
  EXPECT_EQ(revision(root()), head_);
  write("external/l.c", "int m;\n");
  EXPECT_EQ(revision(root()), head_ + "-dirty");
  EXPECT_EQ(revision(root() / "src"), head_);
}

// Nothing that a repository names is run: each of these would leave a file behind.
TEST_F(Revision, RunsNothingOfTheRepository) {
  const fs::path mark = directory_.path() / "mark", script = directory_.path() / "run";
  ASSERT_TRUE(write_file(script, "#!/bin/sh\ntouch " + mark.string() + "\ncat\n", 0755));
  write(".gitattributes", "*.c filter=evil\n");
  commit();
  git({"config", "core.fsmonitor", script.string()}, root());
  git({"config", "filter.evil.clean", script.string()}, root());
  git({"config", "filter.evil.process", script.string()}, root());
  git({"config", "filter.evil.required", "true"}, root());
  git({"config", "core.hooksPath", directory_.path().string()}, root());
  fs::copy_file(script, directory_.path() / "post-index-change");
  write("src/a.c", "int a;\n"); // git must read it again
  EXPECT_EQ(revision(root()), head_);
  EXPECT_FALSE(fs::exists(mark));
  // The same settings do run programs without our precautions, so this test can fail.
  Command careless;
  careless.arguments = {"git", "status"};
  careless.directory = root();
  ASSERT_TRUE(run_process(careless)); // it fails, because the filter does not exist
  EXPECT_TRUE(fs::exists(mark));
}

TEST_F(Revision, AFilterThatCannotBeSwitchedOffIsAnError) {
  git({"config", "filter.a=b.clean", "true"}, root());
  const auto refused = read_revision(root());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().hint, ::testing::HasSubstr("revision"));
}

} // namespace
} // namespace xaas::build
