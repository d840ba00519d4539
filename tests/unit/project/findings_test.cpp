// What a build asked of its machine, from the records of build systems.
#include <xaas/project/findings.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::project {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Finding::Kind;

class Findings : public ::testing::Test {
protected:
  void SetUp() override {
    auto made = TemporaryDirectory::create();
    ASSERT_TRUE(made) << made.error().message;
    directory_.emplace(*std::move(made));
    build_.application = &application_;
    build_.source = directory_->path() / "src";
    build_.build = directory_->path() / "build";
    build_.destination = directory_->path() / "destination";
    ASSERT_TRUE(make_directories(build_.source));
    ASSERT_TRUE(make_directories(build_.build));
  }

  void write(const fs::path& path, const std::string& content) {
    ASSERT_TRUE(make_directories(path.parent_path()));
    ASSERT_TRUE(write_file(path, content, 0644, false));
  }
  void source(const std::string& name, const std::string& content) { write(build_.source / name, content); }
  void built(const std::string& name, const std::string& content) { write(build_.build / name, content); }

  // CMake's records: the files that it read, and the result variables of try_run.
  void cmake(const std::vector<std::string>& inputs, const std::vector<std::string>& variables) {
    application_.build.system = spec::BuildSystem::cmake;
    std::string rule = "build build.ninja: RERUN_CMAKE |";
    for (const std::string& input : inputs)
      rule += " " + (input.starts_with('/') ? input : (build_.source / input).string());
    built("build.ninja", "rule x\n" + rule + "\n  pool = console\n");
    std::string cache = "//Result of TRY_COMPILE\nOTHER_COMPILED:INTERNAL=TRUE\n";
    for (const std::string& variable : variables)
      cache += "//Result of try_run()\n" + variable + ":INTERNAL=0\n";
    built("CMakeCache.txt", cache);
  }

  // One line for each finding: kind, place, what.
  std::vector<std::string> found() const {
    std::vector<std::string> lines;
    for (const Finding& each : find_host_dependence(build_))
      lines.push_back(std::string(each.kind == Kind::run       ? "run "
                                  : each.kind == Kind::machine ? "machine "
                                  : each.kind == Kind::debug   ? "debug "
                                                               : "native ") +
                      each.file + ":" + std::to_string(each.line) + " " + each.what +
                      (each.asks_cpu ? " (cpu)" : ""));
    return lines;
  }

  std::optional<TemporaryDirectory> directory_;
  spec::Application application_;
  ConfigurationBuild build_;
};

TEST_F(Findings, ACMakeCheckIsFoundByItsVariable) {
  source("CMakeLists.txt", "include(CheckCSourceRuns)\n"
                           "# check_c_source_runs(\"int main(void) {}\" HAVE_FMA)\n"
                           "set(text \"try_run(NOT_A_CALL x)\")\n"
                           "check_c_source_runs(\"\n"
                           "  int main(void) { puts(\\\")\\\"); __get_cpuid(1); }\" HAVE_FMA)\n"
                           "TRY_RUN (RESULT COMPILED ${CMAKE_BINARY_DIR}\n"
                           "  ${CMAKE_CURRENT_SOURCE_DIR}/cmake/probe.c)\n"
                           "check_c_source_runs(\"int main(void) {}\" NEVER_RUN)\n");
  source("cmake/probe.c", "int main(void) { return __builtin_cpu_supports(\"avx2\"); }\n");
  cmake({"CMakeLists.txt"}, {"HAVE_FMA_EXITCODE", "RESULT"});
  EXPECT_THAT(found(),
              ElementsAre("run CMakeLists.txt:4 HAVE_FMA (cpu)", "run CMakeLists.txt:6 RESULT (cpu)"));
}

TEST_F(Findings, ACMakeVariableThatIsPutTogetherIsFoundByItsParts) {
  source("CMakeLists.txt", "include(cmake/Runs.cmake)\nruns(FAST)\n");
  source("cmake/Runs.cmake",
         "function(runs name)\n  try_run(RUNS_${name} COMPILED_${name} a b)\nendfunction()\n"
         "macro(any variable)\n  check_source_runs(C [[ '\"' ]] ${variable})\nendmacro()\n");
  cmake({"CMakeLists.txt", "cmake/Runs.cmake"}, {"RUNS_FAST", "OTHER_EXITCODE"});
  EXPECT_THAT(found(), ElementsAre("run cmake/Runs.cmake:2 RUNS_FAST", "run cmake/Runs.cmake:5 OTHER"));
}

TEST_F(Findings, ACMakeCheckThatNoFileNamesIsReportedByItsVariable) {
  source("CMakeLists.txt", "project(x)\n");
  cmake({"CMakeLists.txt"}, {"STRANGE"});
  EXPECT_THAT(found(), ElementsAre("run :0 STRANGE"));
}

TEST_F(Findings, WhatCMakesOwnModulesRunIsNotTheProjects) {
  source("CMakeLists.txt", "find_package(MPI)\n");
  const fs::path module = directory_->path() / "cmake" / "Modules" / "FindMPI.cmake";
  write(module, "try_run(MPI_RUN_${lang}_x MPI_COMPILED a b)\n");
  cmake({"CMakeLists.txt", module.string()}, {"MPI_RUN_C_x"});
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(Findings, FilesThatCMakeDidNotReadAreNotLookedAt) {
  source("CMakeLists.txt", "project(x)\n");
  source("unused/CMakeLists.txt", "file(READ /proc/cpuinfo text)\n");
  cmake({"CMakeLists.txt"}, {});
  EXPECT_THAT(found(), IsEmpty());
  cmake({"CMakeLists.txt", "unused/CMakeLists.txt"}, {});
  EXPECT_THAT(found(), ElementsAre("machine unused/CMakeLists.txt:1 /proc/cpuinfo"));
  fs::remove(build_.build / "build.ninja"); // the other generator
  built("CMakeFiles/Makefile.cmake", "set(CMAKE_MAKEFILE_DEPENDS\n  \"CMakeCache.txt\"\n  \"" +
                                         (build_.source / "unused/CMakeLists.txt").string() + "\"\n  )\n");
  EXPECT_THAT(found(), ElementsAre("machine unused/CMakeLists.txt:1 /proc/cpuinfo"));
}

constexpr const char* config_log = "configure:100: checking whether we are cross compiling\n"
                                   "configure:110: ./conftest\n"
                                   "configure:200: checking size of long\n"
                                   "configure:210: ./conftest\n"
                                   "configure:300: checking for a fast path of sse2\n"
                                   "configure:310: clang -o conftest conftest.c\n"
                                   "configure:320: ./conftest\n"
                                   "configure:320: $? = 0\n"
                                   "configure:400: checking for unicorns\n"
                                   "configure:410: clang -o conftest conftest.c\n";

TEST_F(Findings, AutoconfsOwnRunsAreLeftOutAndTheProjectsFoundByTheirMessage) {
  application_.build.system = spec::BuildSystem::autotools;
  source("configure.ac", "AC_CHECK_SIZEOF([long])\n"
                         "dnl AC_MSG_CHECKING([for a fast path of sse2])\n"
                         "AC_MSG_CHECKING([for unicorns])\n"
                         "X_FAST([sse2])\n");
  source("m4/fast.m4",
         "AC_DEFUN([X_FAST], [\n"
         "AC_CACHE_CHECK([for a fast path of $1], [x_cv_fast],\n"
         "  [AC_RUN_IFELSE([AC_LANG_PROGRAM([#include <cpuid.h>], [return 0;])], [], [])])])\n");
  source("configure", "# Generated by GNU Autoconf\nuname -p\n"); // last: a copy does not generate it again
  built("config.log", config_log);
  EXPECT_THAT(found(), ElementsAre("run m4/fast.m4:2 for a fast path of sse2 (cpu)"));
}

TEST_F(Findings, MesonRunsAreFoundByTheirName) {
  application_.build.system = spec::BuildSystem::meson;
  source("meson.build", "cc = meson.get_compiler('c')\n"
                        "cc.run('int main(void) { return 0; }', name : 'works')\n"
                        "cc.run('int main(void) { return 0; }', name : 'not asked')\n"
                        "# cc.run('x', name : 'works')\n"
                        "cc.run(files('check.c'))\n"
                        "run_command('true')\n");
  built("meson-info/intro-buildsystem_files.json", "[\"" + (build_.source / "meson.build").string() + "\"]");
  built("meson-logs/meson-log.txt", "Checking if \"works\" runs: YES\n");
  EXPECT_THAT(found(), ElementsAre("run meson.build:2 works", "run meson.build:5 "));
}

TEST_F(Findings, MesonsDefaultDoesNotOptimize) {
  application_.build.system = spec::BuildSystem::meson;
  built("meson-info/intro-buildoptions.json", R"([{"name": "prefix", "value": "/usr"},
                                                  {"name": "optimization", "value": "0"}, {"name": 1}, 2])");
  EXPECT_THAT(found(), ElementsAre("debug :0 -Dbuildtype=release"));
  build_.arguments = {"--buildtype=debug"};
  EXPECT_THAT(found(), IsEmpty());
  build_.arguments = {"-Dfast=false"};
  application_.build.arguments = {"-Doptimization=g"};
  EXPECT_THAT(found(), IsEmpty());
  application_.build.arguments.clear();
  built("meson-info/intro-buildoptions.json", R"([{"name": "optimization", "value": "3"}])");
  EXPECT_THAT(found(), IsEmpty());
  built("meson-info/intro-buildoptions.json", "{]");
  EXPECT_THAT(found(), IsEmpty());
}

// Make and commands build in a copy of the sources.
TEST_F(Findings, MakefilesAndTheScriptsThatTheyNameAreScanned) {
  application_.build.system = spec::BuildSystem::make;
  built("Makefile", "# lscpu\n"
                    "CORES := $(shell nproc)\n"
                    "CPU := $(shell sh tools/cpu.sh)\n"
                    "all:\n\t$(MAKE) -j$(shell nproc) xlscpux\n"
                    "CFLAGS += -O3 -march=native # not -mtune=native\n");
  built("tools/cpu.sh", "# which CPU\nuname -p\nsh tools/more.sh\n");
  built("tools/more.sh", "sysctl -n hw.model || lscpu\n");
  built("tools/unrelated.sh", "lscpu\n");
  EXPECT_THAT(found(), ElementsAre("machine Makefile:2 nproc", "machine tools/cpu.sh:2 uname -p",
                                   "machine tools/more.sh:1 lscpu", "machine tools/more.sh:1 sysctl -n hw.",
                                   "native Makefile:6 -march=native", "native Makefile:6 -mtune=native"));
}

TEST_F(Findings, CommandsOfTheSpecAreScanned) {
  application_.build.system = spec::BuildSystem::commands;
  application_.build.build_command = "sh $SRC/go.sh; grep flags /proc/cpuinfo > flags";
  built("go.sh", "cc -march=native x.c\n");
  EXPECT_THAT(found(), ElementsAre("machine :0 /proc/cpuinfo", "native go.sh:1 -march=native"));
}

TEST_F(Findings, DamagedNotesAndEndlessCallsAreNoTrouble) {
  source("CMakeLists.txt", "try_run(X [==[ \" \n${");
  cmake({"CMakeLists.txt", "no-such-file.cmake"}, {"X", ""});
  EXPECT_THAT(found(), ElementsAre("run CMakeLists.txt:1 X"));
  application_.build.system = spec::BuildSystem::meson;
  built("meson-info/intro-buildsystem_files.json", "{]");
  EXPECT_THAT(found(), IsEmpty());
  application_.build.system = spec::BuildSystem::autotools;
  source("configure.ac", "AC_MSG_CHECKING([a [b\nAC_MSG_CHECKING([$x])\n");
  built("config.log", "configure:\nconfigure:9: checking y\nconfigure:x: ./conftest\n");
  EXPECT_THAT(found(), IsEmpty());
}

} // namespace
} // namespace xaas::project
