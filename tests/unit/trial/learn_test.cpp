#include "base/directory_testing.h"
#include "compilers.h"
#include "learn.h"

#include <gmock/gmock.h>

namespace xaas::trial {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Cause = build::FailedBuild::Cause;

class LearnTest : public DirectoryTest {
protected:
  std::string learn(spec::BuildSystem system = spec::BuildSystem::cmake) {
    draft_.application.build.system = system;
    const auto has_program = [](const std::string&) { return true; };
    return trial::learn({failure_, findings_, path("."), has_program}, draft_);
  }

  void fails(const std::string& step, const std::string& output) {
    failure_.cause = Cause::step;
    failure_.step = step;
    failure_.output = failure_.log = output;
    failure_.error = output.substr(0, output.find('\n'));
  }

  spec::Build& build() { return draft_.application.build; }

  discover::Findings findings_;
  discover::Draft draft_;
  Failure failure_;
};

TEST_F(LearnTest, ABuildThatWritesIntoItsSourcesGetsACopyOnce) {
  failure_.cause = Cause::sources_written;
  EXPECT_THAT(learn(), HasSubstr("build.copy"));
  EXPECT_TRUE(build().copy);
  EXPECT_EQ(learn(), "");
}

TEST_F(LearnTest, WithoutAnInstallStepTheProductsAreInstalled) {
  failure_.cause = Cause::install;
  failure_.products = {{Product::Kind::program, "src/solve"},
                       {Product::Kind::shared_library, "lib/libsolve.so"},
                       {Product::Kind::archive, "lib/libpart.a"},
                       {Product::Kind::program, "old/solve"}};
  EXPECT_THAT(learn(), HasSubstr("2 files"));
  ASSERT_EQ(build().install.size(), 2u);
  EXPECT_EQ(build().install[0].from, "src/solve");
  EXPECT_EQ(build().install[0].to, "bin/solve");
  EXPECT_EQ(build().install[1].to, "lib/libsolve.so");
  EXPECT_EQ(learn(), "");
}

TEST_F(LearnTest, AProjectWithArchivesAloneInstallsThem) {
  failure_.cause = Cause::install;
  failure_.products = {{Product::Kind::archive, "libpart.a"}};
  EXPECT_NE(learn(), "");
  EXPECT_EQ(build().install[0].to, "lib/libpart.a");
}

TEST_F(LearnTest, WarningsThatAreErrorsAreWarningsAgain) {
  write("a.c", "");
  write("b.cpp", "");
  fails("build", "a.c:1:1: error: call to undeclared function 'f' [-Wimplicit-function-declaration]\n"
                 "b.cpp:2:2: error: variable length arrays [-Werror,-Wvla-cxx-extension]\n");
  EXPECT_NE(learn(spec::BuildSystem::autotools), "");
  const std::string flags =
      "-g -O2 -Wno-error -Wno-error=implicit-function-declaration -Wno-error=vla-cxx-extension";
  EXPECT_EQ(build().environment.at("CFLAGS"), flags);
  EXPECT_EQ(build().environment.at("CXXFLAGS"), flags);
  EXPECT_EQ(learn(spec::BuildSystem::autotools), "");
}

TEST_F(LearnTest, MpiIsFoundThroughItsWrappers) {
  fails("build", "a.c:1:10: fatal error: 'mpi.h' file not found");
  EXPECT_NE(learn(), "");
  EXPECT_THAT(build().arguments, ElementsAre("-DCMAKE_C_COMPILER=mpicc", "-DCMAKE_CXX_COMPILER=mpicxx",
                                             "-DCMAKE_Fortran_COMPILER=mpifort"));
  build().arguments.clear();
  EXPECT_NE(learn(spec::BuildSystem::make), "");
  EXPECT_THAT(build().arguments, ElementsAre("CC=mpicc", "CXX=mpicxx", "FC=mpifort"));
}

TEST_F(LearnTest, AnOwnConfigureScriptIsRunByItself) {
  write("configure", "#!/bin/bash -e\n");
  fails("configure", "configure: error: unknown option --prefix=/usr/local");
  EXPECT_NE(learn(spec::BuildSystem::autotools), "");
  EXPECT_EQ(build().system, spec::BuildSystem::commands);
  EXPECT_EQ(build().configure_command, "/bin/bash -e ./configure");
}

TEST_F(LearnTest, NothingIsLearnedFromAnErrorOfTheProgram) {
  fails("build", "a.c:1:1: error: expected identifier");
  EXPECT_EQ(learn(), "");
  EXPECT_EQ(learn(spec::BuildSystem::make), "");
}

TEST_F(LearnTest, TheEntryPointIsTheOnlyProgramOrTheOneWithTheProjectsName) {
  draft_.application.name = "solver";
  EXPECT_EQ(choose_entrypoint({"/usr/local/bin/a", "/usr/local/bin/b"}, draft_), "");
  EXPECT_THAT(draft_.application.image.entrypoint, IsEmpty());
  EXPECT_NE(choose_entrypoint({"/usr/local/bin/a", "/usr/local/bin/Solver"}, draft_), "");
  EXPECT_THAT(draft_.application.image.entrypoint, ElementsAre("/usr/local/bin/Solver"));
  draft_.application.image.entrypoint.clear();
  EXPECT_NE(choose_entrypoint({"/usr/local/bin/a"}, draft_), "");
  EXPECT_THAT(draft_.application.image.entrypoint, ElementsAre("/usr/local/bin/a"));
}

TEST_F(LearnTest, FlagsThatDoNotOptimizeAreThoseOfTheTreesLanguages) {
  write("src/solve.F90", "");
  build().environment["FFLAGS"] = "-Og";
  failure_.unoptimized = true;
  EXPECT_THAT(learn(spec::BuildSystem::make), HasSubstr("-O3"));
  EXPECT_EQ(build().environment, (std::map<std::string, std::string>{{"FCFLAGS", "-O3"}, {"FFLAGS", "-Og"}}));
  EXPECT_EQ(learn(spec::BuildSystem::make), "");
}

TEST_F(LearnTest, CompilersOfAMakefile) {
  write("Makefile", "CC = gcc\n"
                    "COMPILER = g++-12 -fopenmp # fast\n"
                    "F90 ?= /usr/bin/gfortran\n"
                    "HOSTCC = gcc\n"
                    "LD = ld\n"
                    "EITHER = gcc\nEITHER = g++\n"
                    "all:\n\tX=gcc make\n");
  std::vector<std::string> found;
  for (const MakeCompiler& each : make_compilers(path(".")))
    found.push_back(each.variable + "=" + each.value);
  EXPECT_THAT(found, ElementsAre("COMPILER=$(CXX) -fopenmp", "F90=$(FC)"));
  EXPECT_EQ(make_compilers(path("."))[0].place, "Makefile:2");
}

TEST_F(LearnTest, AWrapperInPlaceOfACompilerKeepsItsName) {
  write("Makefile", "CC = /opt/mpi/bin/mpicc\nCXX = g++\n");
  const std::vector<MakeCompiler> found = make_compilers(path("."));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].variable + "=" + found[0].value, "CC=mpicc");
}

} // namespace
} // namespace xaas::trial
