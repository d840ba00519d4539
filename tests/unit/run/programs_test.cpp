// The programs of a tree, for people who must choose one.
#include "programs.h"

#include <xaas/base/file.h>

#include <gmock/gmock.h>

using namespace xaas;
using namespace xaas::run;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

class Programs : public testing::Test {
protected:
  Programs() : directory(*TemporaryDirectory::create()), tree(directory.path()) {
    for (const char* path : {"usr/local/bin/solver", "usr/local/bin/mesh", "usr/bin/env", "opt/tool/worker",
                             "opt/tool/libtool.so.1"})
      add(path, 0755);
    add("usr/local/bin/notes", 0644);
    fs::create_symlink("usr/bin", tree / "bin");
    fs::create_symlink("/usr/local/bin/solver", tree / "usr/local/bin/again"); // of the tree
    fs::create_symlink("../../../../../../../../../bin/sh", tree / "usr/local/bin/outside");
  }
  void add(const std::string& path, unsigned mode) {
    ASSERT_TRUE(make_directories((tree / path).parent_path()));
    ASSERT_TRUE(write_file(tree / path, "x", mode, false));
  }
  TemporaryDirectory directory;
  fs::path tree;
};

TEST_F(Programs, ExecutableFilesOfThePathInItsOrder) {
  EXPECT_THAT(programs_in(tree, "/usr/local/bin:/usr/bin:/bin:relative:/none", {}),
              ElementsAre("again", "mesh", "solver", "env"));
  EXPECT_THAT(programs_in(tree, "", {}), IsEmpty());
}

TEST_F(Programs, LinkedProgramsOutsideOfItHavePaths) {
  const std::map<std::string, std::string> annotations = {
      {"dev.xaas.code", R"({"/opt/tool/worker": {}, "/opt/tool/libtool.so.1": {}, "/usr/local/bin/mesh": {},)"
                        R"( "/opt/none": {}})"}};
  EXPECT_THAT(programs_in(tree, "/usr/local/bin", annotations),
              ElementsAre("again", "mesh", "solver", "/opt/tool/worker"));
  EXPECT_THAT(programs_in(tree, "/usr/bin", {{"dev.xaas.code", "damaged"}}), ElementsAre("env"));
}

TEST(ProgramsText, IsBounded) {
  EXPECT_EQ(programs_text({}), "");
  EXPECT_EQ(programs_text({"a", "b"}), "; its programs: a, b");
  EXPECT_EQ(programs_text(std::vector<std::string>(20, "p")).substr(0, 23), "; its programs: p, p, p");
  EXPECT_TRUE(programs_text(std::vector<std::string>(20, "p")).ends_with("p and 8 more"));
}

} // namespace
