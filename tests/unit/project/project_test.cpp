// Tiny projects of every kind, built with a plain compiler.
#include "project/testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

namespace xaas::project {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Scoped { // an environment variable for one test
public:
  Scoped(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name))
      old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Scoped() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

private:
  const char* name_;
  std::optional<std::string> old_;
};

// --- CMake

TEST_F(ProjectTest, CmakeBuildsAndInstallsBelowThePrefix) {
  source("CMakeLists.txt", cmake_lists);
  source("main.c", main_c);
  build_.arguments = {"-DWORD=chosen"};
  const auto before = snapshot();
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "chosen\n");
  EXPECT_THAT(log(), HasSubstr("type=Release prefix=/usr/local"));
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(compiled_source(build_), build_.source);
}

TEST_F(ProjectTest, CmakeKeepsTheBuildTypeThatTheArgumentsName) {
  source("CMakeLists.txt", cmake_lists);
  source("main.c", main_c);
  application_.image.prefix = "/opt/tiny";
  build_.arguments = {"-DCMAKE_BUILD_TYPE:STRING=Debug"};
  expect_built();
  EXPECT_THAT(log(), HasSubstr("type=Debug prefix=/opt/tiny"));
  EXPECT_EQ(output_of("opt/tiny/bin/tiny"), "plain\n");
}

TEST_F(ProjectTest, CmakeUsesTheGivenCompilerAndBinaryTools) {
  source("CMakeLists.txt", cmake_lists);
  source("main.c", main_c);
  build_.tools.directory = root() / "tools";
  ASSERT_TRUE(make_directories(build_.tools.directory));
  const fs::path compiler = build_.tools.directory / "cc";
  ASSERT_TRUE(write_file(compiler,
                         "#!/bin/sh\necho x >> '" + (root() / "calls").string() + "'\nexec " +
                             build_.tools.c_compiler.string() + " \"$@\"\n",
                         0755));
  ASSERT_TRUE(write_file(build_.tools.directory / "ar", "#!/bin/sh\nexit 0\n", 0755));
  build_.tools.c_compiler = compiler;
  expect_built();
  EXPECT_TRUE(fs::exists(root() / "calls"));
  EXPECT_THAT(content(build_.build / "CMakeCache.txt"), HasSubstr((build_.tools.directory / "ar").string()));
}

TEST_F(ProjectTest, InstallListReplacesTheBuildSystemsInstall) {
  source("CMakeLists.txt", cmake_lists);
  source("main.c", main_c);
  application_.build.install = {{"tiny", "bin/other-name"}, {"tiny", "libexec/"}};
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/other-name"), "plain\n");
  EXPECT_EQ(output_of("usr/local/libexec/tiny"), "plain\n");
  EXPECT_FALSE(fs::exists(build_.destination / "usr/local/bin/tiny"));
}

TEST_F(ProjectTest, InstallListWithTargetAddsToTheBuildSystemsInstall) {
  source("CMakeLists.txt", cmake_lists);
  source("main.c", main_c);
  application_.build.install = {{"tiny", "libexec/"}};
  application_.build.install_target = true;
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "plain\n");
  EXPECT_EQ(output_of("usr/local/libexec/tiny"), "plain\n");
}

TEST_F(ProjectTest, AFailingCompileSpeaksWithTheCompilersWords) {
  source("CMakeLists.txt", cmake_lists);
  source("main.c", "int main(void) { return undeclared_thing; }\n");
  const Error error = expect_error(ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("build step failed with exit code"));
  EXPECT_THAT(error.output.substr(0, error.output.find('\n')),
              HasSubstr("error: use of undeclared identifier"));
  EXPECT_THAT(log(), HasSubstr("undeclared_thing"));
}

TEST_F(ProjectTest, AFailingConfigureStepNamesItself) {
  source("CMakeLists.txt",
         "cmake_minimum_required(VERSION 3.13)\nproject(tiny C)\nmessage(FATAL_ERROR \"no luck\")\n");
  const Error error = expect_error(ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("configure step failed"));
  EXPECT_THAT(error.output, HasSubstr("no luck"));
}

// As HIP's package does it, whose own message names neither the library nor its package.
TEST_F(ProjectTest, TheLibraryThatHipMissesIsNamed) {
  source("CMakeLists.txt", "cmake_minimum_required(VERSION 3.13)\nproject(tiny NONE)\n"
                           "find_library(CLANGRT_BUILTINS NAMES no_such_library NO_DEFAULT_PATH)\n"
                           "message(FATAL_ERROR \"clangrt builtins lib not found\")\n");
  const Error error = expect_error(ErrorKind::missing_tool);
  EXPECT_THAT(error.message, HasSubstr("clang_rt.builtins"));
  EXPECT_THAT(error.hint, HasSubstr("libclang-rt-22-dev"));
  EXPECT_THAT(error.output, HasSubstr("clangrt builtins lib not found"));
  build_.arguments = {"-DCLANGRT_BUILTINS=/given.a"};
  EXPECT_THAT(expect_error(ErrorKind::failed).message, HasSubstr("configure step failed"));
}

TEST_F(ProjectTest, SourcesOfAnotherKindAreNamed) {
  source("main.c", main_c);
  EXPECT_THAT(expect_error(ErrorKind::not_found).message, HasSubstr("has no CMakeLists.txt"));
  application_.build.system = spec::BuildSystem::meson;
  EXPECT_THAT(expect_error(ErrorKind::not_found).message, HasSubstr("meson.build"));
  build_.source = root() / "nowhere";
  EXPECT_THAT(expect_error(ErrorKind::not_found).message, HasSubstr("nowhere"));
}

TEST_F(ProjectTest, AToolThatIsNotThereIsMissing) {
  source("CMakeLists.txt", cmake_lists);
  source("configure", "exit 0\n");
  const Scoped path("PATH", root().string());
  EXPECT_THAT(expect_error(ErrorKind::missing_tool).message, HasSubstr("cmake"));
  application_.build.system = spec::BuildSystem::make;
  EXPECT_THAT(expect_error(ErrorKind::missing_tool).message, HasSubstr("make"));
}

// --- make

TEST_F(ProjectTest, MakeBuildsInAPrivateCopy) {
  application_.build.system = spec::BuildSystem::make;
  source("Makefile", makefile);
  source("main.c", main_c);
  source(".git/HEAD", "ref\n");
  const auto before = snapshot();
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "plain\n");
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(compiled_source(build_), build_.build);
  EXPECT_FALSE(fs::exists(build_.build / ".git"));
  EXPECT_EQ(fs::last_write_time(build_.build / "main.c"), fs::last_write_time(build_.source / "main.c"));
}

TEST_F(ProjectTest, MakeGetsTargetsVariablesAndTheInstallList) {
  application_.build.system = spec::BuildSystem::make;
  application_.build.targets = {"other"};
  application_.build.install = {{"other", "bin/other"}, {"link", "bin/link"}, {"data", "share/data"}};
  source("Makefile", makefile);
  source("main.c", main_c);
  source("data/deep/table.txt", "1 2 3\n", 0640);
  fs::create_symlink("other", build_.source / "link");
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/other"), "other\n");
  EXPECT_EQ(fs::read_symlink(build_.destination / "usr/local/bin/link"), "other");
  const fs::path table = build_.destination / "usr/local/share/data/deep/table.txt";
  EXPECT_EQ(content(table), "1 2 3\n");
  EXPECT_EQ(fs::status(table).permissions(), fs::perms(0640));
}

TEST_F(ProjectTest, AMissingFileOfTheInstallListIsNamed) {
  application_.build.system = spec::BuildSystem::make;
  application_.build.install = {{"src/solver", "bin/solver"}};
  source("Makefile", makefile);
  source("main.c", main_c);
  EXPECT_THAT(expect_error(ErrorKind::failed).message, HasSubstr("src/solver"));
}

TEST_F(ProjectTest, AnInstallPathMayNotLeaveThePrefix) {
  application_.build.system = spec::BuildSystem::make;
  application_.build.install = {{"tiny", "../../../../escaped"}};
  source("Makefile", makefile);
  source("main.c", main_c);
  EXPECT_THAT(expect_error(ErrorKind::usage).message, HasSubstr("escaped"));
}

TEST_F(ProjectTest, WhatIsInstalledReplacesNothing) {
  application_.build.system = spec::BuildSystem::make;
  source("Makefile", makefile);
  source("main.c", main_c);
  source("one/data", "1\n");
  source("two/data", "2\n");
  source("two/more", "3\n");
  ASSERT_TRUE(make_directories(root() / "outside"));
  fs::create_directory_symlink(root() / "outside", build_.source / "link");
  const std::pair<std::vector<spec::InstallFile>, const char*> cases[] = {
      {{{"tiny", "bin/tiny"}, {"main.c", "bin/tiny/main.c"}}, "bin/tiny/main.c"},
      {{{"one", "share"}, {"two/data", "share/data"}}, "share/data"},
      {{{"one", "share"}, {"two", "share"}}, "share/data"},
      {{{"tiny", "share/data"}, {"one", "share"}}, "share/data"},
      {{{"link", "share"}, {"one/data", "share/data"}}, "share/data"},
      {{{"link", "share/link"}, {"one", "share/link"}}, "share/link"},
  };
  for (const auto& [install, place] : cases) {
    again();
    application_.build.install = install;
    EXPECT_THAT(expect_error(ErrorKind::usage).message, HasSubstr(place));
  }
  EXPECT_TRUE(fs::is_empty(root() / "outside"));
  again();
  application_.build.install = {{"one", "share/all"}, {"two/more", "share/all/more"}, {"two", "share/other"}};
  expect_built();
  EXPECT_EQ(content(build_.destination / "usr/local/share/all/more"), "3\n");
}

TEST_F(ProjectTest, LinksOfTheCopyDoNotLeadIntoTheSources) {
  application_.build.system = spec::BuildSystem::make;
  source("Makefile", "tiny:\n\techo changed > absolute\n\techo changed > relative\n"
                     "install:\n\tinstall -D Makefile $(DESTDIR)/f\n");
  source("real.txt", "original\n");
  ASSERT_TRUE(write_file(root() / "outside.txt", "outside\n"));
  fs::create_symlink(build_.source / "real.txt", build_.source / "absolute");
  fs::create_symlink("real.txt", build_.source / "relative");
  fs::create_symlink("../outside.txt", build_.source / "upwards");
  expect_built();
  EXPECT_EQ(content(build_.source / "real.txt"), "original\n");
  EXPECT_EQ(content(build_.build / "real.txt"), "changed\n");
  EXPECT_EQ(content(build_.build / "upwards"), "outside\n");
}

TEST_F(ProjectTest, ABuildDirectoryInsideTheSourcesIsNotCopiedIntoItself) {
  application_.build.system = spec::BuildSystem::make;
  source("Makefile", makefile);
  source("main.c", main_c);
  build_.build = build_.source / "out/build";
  build_.destination = build_.source / "out/dest";
  ASSERT_TRUE(make_directories(build_.build));
  expect_built();
  EXPECT_TRUE(fs::exists(build_.build / "main.c"));
  EXPECT_FALSE(fs::exists(build_.build / "out/build"));
  EXPECT_FALSE(fs::exists(build_.build / "out/dest"));
}

TEST_F(ProjectTest, AMissingSourceFileIsMakesError) {
  application_.build.system = spec::BuildSystem::make;
  source("Makefile", makefile);
  EXPECT_THAT(expect_error(ErrorKind::failed).output, HasSubstr("No rule to make target"));
}

// --- commands

TEST_F(ProjectTest, CommandsSeeTheirVariablesAndArguments) {
  application_.build.system = spec::BuildSystem::commands;
  application_.build.environment = {{"FROM_SPEC", "yes"}};
  application_.build.configure_command =
      "test -f \"$SRC/main.c\" && test \"$PWD\" = \"$BUILD\" && test \"$JOBS\" = 2";
  application_.build.build_command = "$CC -DWORD=\"\\\"$LEVEL $FROM_SPEC\\\"\" -o tiny \"$SRC/main.c\"";
  application_.build.install_command = "install -D tiny \"$DESTDIR$PREFIX/bin/tiny\"";
  build_.arguments = {"LEVEL=a=b c"};
  source("main.c", main_c);
  const auto before = snapshot();
  expect_built();
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "a=b c yes\n");
  EXPECT_EQ(snapshot(), before);
}

TEST_F(ProjectTest, AnArgumentOfCommandsMustBeAnAssignment) {
  application_.build.system = spec::BuildSystem::commands;
  for (const char* argument : {"novalue", "=value"}) {
    again();
    build_.arguments = {argument};
    EXPECT_THAT(expect_error(ErrorKind::usage).message, HasSubstr(argument));
  }
}

TEST_F(ProjectTest, WhatTheCallerHasSetDoesNotReachTheBuild) {
  const Scoped cflags("CFLAGS", "-O9"), flags("MAKEFLAGS", "n"), destdir("DESTDIR", "/wrong"),
      cc("CC", "wrong"), library("LIBRARY_PATH", "/x"), ccache("CCACHE_PREFIX", "icecc"), fortran("FC", "f"),
      mpi("MPICH_FC", "f"), epoch("SOURCE_DATE_EPOCH", "7");
  application_.build.system = spec::BuildSystem::commands;
  application_.build.environment = {{"LDFLAGS", "-Wl,-O1"}};
  build_.environment = {{"EXTRA", "e"}};
  application_.build.install_command = "mkdir -p \"$DESTDIR\"; env > \"$DESTDIR/env\"";
  expect_built();
  const std::string seen = "\n" + content(build_.destination / "env");
  for (const char* absent :
       {"\nCFLAGS=", "\nMAKEFLAGS=", "\nLIBRARY_PATH=", "\nCCACHE_PREFIX=", "\nFC=", "\nMPICH_FC="})
    EXPECT_THAT(seen, Not(HasSubstr(absent)));
  for (const std::string& present :
       {std::string("\nLDFLAGS=-Wl,-O1\n"), std::string("\nEXTRA=e\n"), std::string("\nCCACHE_DISABLE=1\n"),
        std::string("\nLC_ALL=C\n"), std::string("\nSOURCE_DATE_EPOCH=7\n"),
        "\nCC=" + build_.tools.c_compiler.string() + "\n", "\nDESTDIR=" + build_.destination.string() + "\n"})
    EXPECT_THAT(seen, HasSubstr(present));
}

// The wrappers of MPICH and Open MPI run what these variables name.
TEST_F(ProjectTest, MpiWrappersAndFortranGetOurCompilers) {
  const Scoped wrapper("MPICH_FC", "wrong");
  application_.build.system = spec::BuildSystem::commands;
  application_.build.install_command = "mkdir -p \"$DESTDIR\"; env > \"$DESTDIR/env\"";
  build_.tools.fortran_compiler = "/session/tools/flang";
  expect_built();
  const std::string seen = "\n" + content(build_.destination / "env");
  for (const std::string family : {"", "MPICH_", "OMPI_"}) {
    for (const char* name : {"FC", "F77", "F90"})
      EXPECT_THAT(seen, HasSubstr("\n" + family + name + "=/session/tools/flang\n"));
    EXPECT_THAT(seen, HasSubstr("\n" + family + "CC=" + build_.tools.c_compiler.string() + "\n"));
    EXPECT_THAT(seen, HasSubstr("\n" + family + "CXX=" + build_.tools.cxx_compiler.string() + "\n"));
  }
}

TEST_F(ProjectTest, TheToolsDirectoryIsFirstOnThePath) {
  application_.build.system = spec::BuildSystem::commands;
  build_.tools.directory = root() / "tools";
  ASSERT_TRUE(make_directories(build_.tools.directory));
  ASSERT_TRUE(write_file(build_.tools.directory / "strip", "#!/bin/sh\necho our strip\n", 0755));
  application_.build.install_command = "mkdir -p \"$DESTDIR\" && strip > \"$DESTDIR/out\"";
  expect_built();
  EXPECT_EQ(content(build_.destination / "out"), "our strip\n");
}

TEST_F(ProjectTest, AQuestionOnStandardInputDoesNotHang) {
  application_.build.system = spec::BuildSystem::commands;
  application_.build.configure_command =
      "echo 'Do you accept? [y/n]'; read answer || { echo 'error: no answer'; exit 4; }";
  const auto start = std::chrono::steady_clock::now();
  const Error error = expect_error(ErrorKind::failed);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_THAT(error.message, HasSubstr("configure step failed with exit code 4"));
  EXPECT_EQ(error.output, "error: no answer");
  EXPECT_THAT(error.hint, HasSubstr("standard input is empty"));
}

TEST_F(ProjectTest, APromptAtTheEndIsAQuestion) {
  application_.build.system = spec::BuildSystem::commands;
  application_.build.configure_command = "printf 'Install where? '; read answer && test -n \"$answer\"";
  EXPECT_THAT(expect_error(ErrorKind::failed).hint, HasSubstr("did it ask a question?"));
  application_.build.configure_command = "echo 'no compiler'; exit 1";
  EXPECT_EQ(expect_error(ErrorKind::failed).hint, "");
}

// A place that is this machine but claims to have no network.
class PlaceHere : public BuildPlace {
public:
  Result<ProcessResult> run(const Command& command) const override { return xaas::run_process(command); }
  std::optional<fs::path> find_program(const std::string& name) const override {
    return xaas::find_program(name);
  }
  fs::path inside(const fs::path& path) const override { return path; }
  std::map<std::string, std::string> environment() const override { return {{"PATH", std::getenv("PATH")}}; }
};

TEST_F(ProjectTest, WhoMissesTheNetworkIsToldOfFetch) {
  const PlaceHere place;
  application_.build.system = spec::BuildSystem::commands;
  for (const std::string words :
       {"curl: (6) Could not resolve host: example.org", "fatal: unable to access: Couldn't resolve host 'x'",
        "wget: unable to resolve host address 'x'", "x: Temporary failure in name resolution",
        "x: Name or service not known", "connect to 192.0.2.1: Network is unreachable"}) {
    application_.build.configure_command = "echo \"" + words + "\"; echo 'error: no sources'; exit 1";
    build_.place = &place;
    again();
    const Error error = expect_error(ErrorKind::failed);
    EXPECT_THAT(error.hint, HasSubstr("`fetch` of the spec")) << words;
    EXPECT_EQ(error.output, "error: no sources");
    build_.place = nullptr; // this machine may have a network
    again();
    EXPECT_EQ(expect_error(ErrorKind::failed).hint, "") << words;
  }
  build_.place = &place;
  application_.build.configure_command = // long before, and harmless
      "echo Could not resolve host: x; i=0; while [ $i -lt 2000 ]; do echo compiling; i=$((i + 1)); done; "
      "exit 1";
  again();
  EXPECT_EQ(expect_error(ErrorKind::failed).hint, "");
}

TEST_F(ProjectTest, AQuestionAskedForEverEnds) {
  application_.build.system = spec::BuildSystem::commands;
  application_.build.configure_command =
      "echo begin; until [ \"$answer\" ]; do echo 'Do you accept the license?'; read answer; done";
  const Error error = expect_error(ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("the configure step prints the same text forever"));
  EXPECT_THAT(error.output, HasSubstr("Do you accept the license?\n"));
  EXPECT_THAT(error.hint, HasSubstr("did it ask a question?"));
}

TEST_F(ProjectTest, AQuestionOnTheTerminalDoesNotStopTheBuild) {
  application_.build.system = spec::BuildSystem::commands;
  application_.build.configure_command = "read answer </dev/tty";
  EXPECT_THAT(expect_error(ErrorKind::failed).output, HasSubstr("/dev/tty"));
}

TEST_F(ProjectTest, WhatAProgramSaidBeforeMakeGaveUpIsShown) {
  application_.build.system = spec::BuildSystem::make;
  source("Makefile", "all:\n\t@echo first; echo 'table.txt is out of date' >&2; exit 2\n");
  EXPECT_THAT(expect_error(ErrorKind::failed).output, HasSubstr("table.txt is out of date\nmake: *** "));
}

TEST_F(ProjectTest, ABuildHasItsOwnHome) {
  application_.build.system = spec::BuildSystem::commands;
  const Scoped home("HOME", root().string()), cache("XDG_CACHE_HOME", root().string());
  build_.home = root() / "home";
  application_.build.install_command = "touch ~/.toolrc; mkdir \"$DESTDIR\"/d; echo \"$HOME "
                                       "${XDG_CACHE_HOME-none} $PYTHONUSERBASE\" > \"$DESTDIR/env\"";
  expect_built();
  EXPECT_EQ(content(build_.destination / "env"),
            build_.home.string() + " none " + root().string() + "/.local\n");
  EXPECT_TRUE(fs::exists(build_.home / ".toolrc"));
  again();
  application_.build.environment = {{"HOME", root().string()}}; // the spec decides
  expect_built();
  EXPECT_TRUE(fs::exists(root() / ".toolrc"));
}

TEST_F(ProjectTest, OutputWithoutAnErrorLineGivesItsLastLines) {
  application_.build.system = spec::BuildSystem::commands;
  application_.build.configure_command = "echo 'error: of an earlier step, that went well'";
  application_.build.build_command = "i=1; while [ $i -le 30 ]; do echo line $i; i=$((i+1)); done; exit 3";
  const Error error = expect_error(ErrorKind::failed);
  EXPECT_THAT(error.output, StartsWith("line 11\n"));
  EXPECT_THAT(error.output, testing::EndsWith("line 30"));
}

TEST_F(ProjectTest, ABuildThatInstallsNothingFails) {
  application_.build.system = spec::BuildSystem::commands;
  application_.build.build_command = "true";
  const Error error = expect_error(ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("installed nothing"));
  EXPECT_THAT(error.hint, HasSubstr("DESTDIR"));
}

TEST_F(ProjectTest, AMakefileWithoutAnInstallTargetIsExplained) {
  application_.build.system = spec::BuildSystem::make;
  source("main.c", main_c);
  source("Makefile", "tiny: main.c\n\t$(CC) -o $@ main.c\n");
  const Error error = expect_error(ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("the install step failed"));
  EXPECT_THAT(error.hint, HasSubstr("build.install"));
  EXPECT_THAT(error.hint, HasSubstr("no target `install`"));
}

TEST_F(ProjectTest, AnInstallStepThatKnowsNoDestdirIsSeen) {
  application_.build.system = spec::BuildSystem::commands;
  application_.image.prefix = (root() / "prefix").string();
  source("old", "1\n");
  for (const char* name : {"bin", "lib/deep/deeper"})
    ASSERT_TRUE(make_directories(root() / "prefix" / name));
  ASSERT_TRUE(write_file(root() / "prefix/bin/kept", "1\n"));
  application_.build.install_command =
      "echo new > $PREFIX/bin/kept; touch $PREFIX/lib/deep/deeper/unseen $PREFIX/lib/x.a";
  const Error error = expect_error(ErrorKind::failed);
  EXPECT_THAT(error.message, HasSubstr("bin/kept (changed), lib/x.a (added)"));
  EXPECT_THAT(error.message, Not(HasSubstr("unseen"))); // below the levels that are checked
  application_.build.install_command = "touch $PREFIX/bin/more; mkdir -p $DESTDIR/x";
  const Result<Built> result = build(build_);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(to_string(result->outside), "bin/more (added)");
}

TEST_F(ProjectTest, ACopyForAProjectThatWritesIntoItsSources) {
  source("CMakeLists.txt", std::string(cmake_lists) + "file(WRITE ${CMAKE_SOURCE_DIR}/generated.h x)\n");
  source("main.c", main_c);
  application_.build.copy = true;
  build_.copy = root() / "copy";
  const auto before = snapshot();
  expect_built();
  EXPECT_EQ(compiled_source(build_), build_.copy);
  EXPECT_TRUE(fs::exists(build_.copy / "generated.h"));
  EXPECT_EQ(snapshot(), before);
  EXPECT_EQ(output_of("usr/local/bin/tiny"), "plain\n");
}

TEST_F(ProjectTest, AnUnreadableSourceIsNamed) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root reads everything";
  source("CMakeLists.txt", cmake_lists);
  source("main.c", main_c, 0);
  EXPECT_THAT(expect_error(ErrorKind::failed).hint, HasSubstr("main.c of the sources cannot be read"));
}

} // namespace
} // namespace xaas::project
