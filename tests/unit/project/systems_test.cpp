// Build systems that build out of tree, and those that begin below the sources' own directory.
#include "project/testing.h"

#include <chrono>

namespace xaas::project {
namespace {

using testing::HasSubstr;

TEST_F(ProjectTest, AConfigureScriptBuildsOutOfTree) {
  application_.build.system = spec::BuildSystem::autotools;
  source("configure", "srcdir=$(dirname \"$0\")\nfor a; do case $a in --prefix=*) p=${a#*=};; --with-word=*) "
                      "w=${a#*=};; esac; done\n"
                      "printf 'tiny:\\n\\t%s -DWORD=\\\\\"%s\\\\\" -o tiny %s/main.c\\ninstall:\\n\\tinstall "
                      "-D tiny $(DESTDIR)%s/bin/tiny\\n' "
                      "\"$CC\" \"$w\" \"$srcdir\" \"$p\" > Makefile\n");
  source("main.c", main_c);
  build_.arguments = {"--with-word=script"};
  const auto before = snapshot();
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "script\n");
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(compiled_source(build_), build_.source);
}

TEST_F(ProjectTest, AutotoolsWithoutConfigureRunsAutoreconfInACopy) {
  for (const char* tool : {"autoreconf", "automake"})
    if (!find_program(tool))
      GTEST_SKIP() << "NOT TESTED: " << tool << " is not installed";
  application_.build.system = spec::BuildSystem::autotools;
  source("configure.ac", "AC_INIT([tiny],[1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\n"
                         "AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n");
  source("Makefile.am", "bin_PROGRAMS = tiny\ntiny_SOURCES = main.c\n");
  source("main.c", main_c);
  const auto before = snapshot();
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "plain\n");
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(compiled_source(build_), build_.build);
}

TEST_F(ProjectTest, StaleGeneratedFilesAreRegeneratedInACopyOnly) {
  application_.build.system = spec::BuildSystem::autotools;
  source("configure", "exit 0\n");
  source("configure.ac", "AC_INIT\n");
  fs::last_write_time(build_.source / "configure", fs::last_write_time(build_.source / "configure.ac"));
  EXPECT_EQ(compiled_source(build_), build_.source);
  fs::last_write_time(build_.source / "configure",
                      fs::last_write_time(build_.source / "configure.ac") - std::chrono::hours(1));
  EXPECT_EQ(compiled_source(build_), build_.build);
}

TEST_F(ProjectTest, AStaleGeneratedFileAnywhereInTheTreeIsSeen) {
  application_.build.system = spec::BuildSystem::autotools;
  for (const auto& [input, made] : {std::pair("doc/Makefile.am", "doc/Makefile.in"),
                                    {"m4/own.m4", "aclocal.m4"},
                                    {"part/configure.ac", "part/configure"}}) {
    source("aclocal.m4", "");
    source("configure", "exit 0\n");
    source(input, "");
    source(made, "");
    const auto time = fs::last_write_time(build_.source / "configure");
    fs::last_write_time(build_.source / "aclocal.m4", time);
    fs::last_write_time(build_.source / input, time);
    fs::last_write_time(build_.source / made, time);
    EXPECT_EQ(compiled_source(build_), build_.source) << made;
    fs::last_write_time(build_.source / made, time - std::chrono::hours(1));
    EXPECT_EQ(compiled_source(build_), build_.build) << made;
    fs::remove(build_.source / input);
  }
}

TEST_F(ProjectTest, MesonBuildsAndInstalls) {
  if (!find_program("meson"))
    GTEST_SKIP() << "NOT TESTED: meson is not installed";
  application_.build.system = spec::BuildSystem::meson;
  source("meson.build", "project('tiny', 'c')\nexecutable('tiny', 'main.c', install: true,\n"
                        "  c_args: '-DWORD=\"' + get_option('word') + '\"')\n");
  source("meson_options.txt", "option('word', type: 'string', value: 'plain')\n");
  source("main.c", main_c);
  build_.arguments = {"-Dword=meson"};
  const auto before = snapshot();
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "meson\n");
  EXPECT_EQ(snapshot(), before);
}

// --- build.directory

TEST_F(ProjectTest, CmakeBeginsInADirectoryOfTheSources) {
  std::string lists = cmake_lists;
  lists.replace(lists.find("main.c"), 6, "../../src/main.c");
  source("build/cmake/CMakeLists.txt", lists);
  source("src/main.c", main_c);
  application_.build.directory = "build/cmake";
  build_.arguments = {"-DWORD=below"};
  const auto before = snapshot();
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "below\n");
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(compiled_source(build_), build_.source); // all of them
}

TEST_F(ProjectTest, MakeAndItsInstallRunInADirectoryOfTheCopy) {
  application_.build.system = spec::BuildSystem::make;
  application_.build.directory = "code";
  application_.build.install = {{"code/tiny", "bin/other"}}; // relative to the build directory
  source("code/Makefile", makefile);
  source("code/main.c", main_c);
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/other"), "plain\n");
  again();
  application_.build.install.clear();
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "plain\n");
}

TEST_F(ProjectTest, ConfigureInADirectoryOfTheSources) {
  application_.build.system = spec::BuildSystem::autotools;
  application_.build.directory = "code";
  source("code/configure",
         "srcdir=$(dirname \"$0\")\nprintf 'all:\\n\\t%s -o tiny %s/main.c\\ninstall:\\n"
         "\\tinstall -D tiny $(DESTDIR)/usr/local/bin/tiny\\n' \"$CC\" \"$srcdir\" > Makefile\n");
  source("code/main.c", main_c);
  for (const bool copy : {false, true}) {
    application_.build.copy = copy;
    again();
    expect_built();
    EXPECT_EQ(output_of("usr/local/bin/tiny"), "plain\n");
    EXPECT_EQ(fs::exists(build_.build / "code/Makefile"), copy);
  }
}

TEST_F(ProjectTest, ADirectoryThatIsNotThereIsNamed) {
  source("CMakeLists.txt", cmake_lists);
  application_.build.directory = "cmake";
  const Error error = expect_error(ErrorKind::not_found);
  EXPECT_THAT(error.message, HasSubstr("build.directory: " + (build_.source / "cmake").string()));
  source("cmake/main.c", main_c);
  EXPECT_THAT(expect_error(ErrorKind::not_found).message, HasSubstr("src/cmake has no CMakeLists.txt"));
}

} // namespace
} // namespace xaas::project
