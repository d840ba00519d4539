// What a build uses without being asked: threads, vendors of one interface, instruction sets of single
// sources.
#include "discover/testing.h"

namespace xaas::discover {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class UseTest : public TreeTest {
protected:
  using Defaults = std::map<std::string, bool>;

  // The choices of a group and whether each is used by default.
  Defaults defaults(Choice::Group group) {
    Defaults found;
    for (const Choice& choice : classify(read()).choices)
      if (choice.group == group)
        found[choice.name] = choice.by_default;
    return found;
  }
  Defaults of_cmake(Choice::Group group, const std::string& text) {
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(slv CXX)\n" + text);
    return defaults(group);
  }
  static constexpr Choice::Group parallel = Choice::Group::parallel;
  const Defaults threads = {{"pthreads", true}};
};

TEST_F(UseTest, ThreadsThatCMakeLinks) {
  for (const char* text : {"find_package(Threads)\ntarget_link_libraries(slv Threads::Threads)\n",
                           "find_package(Threads)\nlist(APPEND LIBS \"${CMAKE_THREAD_LIBS_INIT}\")\n",
                           "find_package(Threads REQUIRED)\n", "find_library(T pthread REQUIRED)\n",
                           "set(CMAKE_CXX_FLAGS \"-O3 -pthread\")\n"})
    EXPECT_EQ(of_cmake(parallel, text), threads) << text;
  for (const char* text : {"find_package(Threads)\n", "if(FALSE)\nfind_package(Threads REQUIRED)\nendif()\n",
                           "check_cxx_compiler_flag(-pthread HAS)\n", "message(STATUS \"use -pthread\")\n"})
    EXPECT_THAT(of_cmake(parallel, text), IsEmpty()) << text;
}

TEST_F(UseTest, ThreadsOfOtherProjects) {
  for (const char* path : {"external/json/CMakeLists.txt", "tests/CMakeLists.txt", "cmake/FindMKL.cmake"}) {
    write(path, "find_package(Threads REQUIRED)\ntarget_link_libraries(x Threads::Threads)\n");
    const std::string directory = std::string(path).substr(0, std::string(path).rfind('/'));
    EXPECT_THAT(of_cmake(parallel, std::string(path).ends_with("MKL.cmake")
                                       ? "include(cmake/FindMKL.cmake)\n"
                                       : "add_subdirectory(" + directory + ")\n"),
                IsEmpty())
        << path;
  }
  // A file right in such a directory is the project's.
  write("external/threads.cmake", "find_package(Threads REQUIRED)\n");
  EXPECT_EQ(of_cmake(parallel, "include(external/threads.cmake)\n"), threads);
}

TEST_F(UseTest, ThreadsOfMesonAndConfigure) {
  write("meson.build", "project('s', 'c')\nthreads = dependency('threads')\n");
  EXPECT_EQ(defaults(parallel), threads);
  write("meson.build", "project('s', 'c')\n");
  write("third_party/lib/meson.build", "threads = dependency('threads')\n");
  EXPECT_THAT(defaults(parallel), IsEmpty());
}

TEST_F(UseTest, SearchesThatOptionsOfConfigureDecide) {
  write("configure.ac", R"(AC_INIT([s],[1])
AC_ARG_ENABLE([distributed], AS_HELP_STRING([--enable-distributed],[default=no]), [dist=yes], [dist=no])
AC_ARG_ENABLE([tests], AS_HELP_STRING([--enable-tests],[default=no]))
if test "x$dist" = xyes; then
  AX_MPI
fi
if test "$enable_tests" = "yes"; then
  AC_CHECK_LIB([fftw3], [fftw_execute])
fi
AS_IF([test "$dist" != yes],
  [AX_PTHREAD],
  [AC_CHECK_LIB([tbb], [main])])
)");
  const Discovery found = classify(read());
  std::map<std::string, std::pair<std::string, bool>> choices;
  for (const Choice& choice : found.choices)
    choices[choice.name] = {choice.flag, choice.by_default};
  EXPECT_THAT(choices, UnorderedElementsAre(Pair("MPI", Pair("--enable-distributed", false)),
                                            Pair("TBB", Pair("--enable-distributed", false)),
                                            Pair("pthreads", Pair("", true)))); // no FFTW: only tests need it
}

TEST_F(UseTest, WhatAnOptionAsksFor) {
  write("CMakeLists.txt", R"(project(slv CXX)
option(SLV_CUDA "" ON)
option(SLV_ALGEBRA "" ON)
option(SLV_MKL_WITH_TBB "" OFF)
option(SLV_SERVER "" ON)
if(SLV_CUDA)
  find_package(OpenMP)
endif()
if(SLV_ALGEBRA)
  find_library(A mkl_core)
  if(SLV_MKL_WITH_TBB)
    find_library(B tbb)
  endif()
endif()
if(SLV_SERVER)
  find_package(Threads REQUIRED)
endif()
)");
  std::map<std::string, std::pair<std::string, bool>> choices;
  for (const Choice& choice : classify(read()).choices)
    choices[choice.name] = {choice.flag, choice.by_default};
  // OpenMP is what CUDA needs; threads are not what the server's option is about.
  EXPECT_THAT(choices, UnorderedElementsAre(
                           Pair("CUDA", Pair("-DSLV_CUDA", true)), Pair("MKL", Pair("", true)),
                           Pair("TBB", Pair("-DSLV_MKL_WITH_TBB", false)), Pair("pthreads", Pair("", true))));
}

TEST_F(UseTest, TheLibraryThatTheBuildMakesItself) {
  const auto own = [this](const std::string& options) {
    write("CMakeLists.txt", "project(slv CXX)\n" + options);
    const Findings tree = read();
    return paper_document(tree, classify(tree))["internal_build"]["library_name"].get<std::string>();
  };
  EXPECT_EQ(own("option(SLV_OWN_TBB \"\")\noption(SLV_OWN_FFTW \"\")\noption(SLV_OWN_BLAS \"\")\n"), "FFTW");
  EXPECT_EQ(own("option(USE_INTERNAL_BLAS \"\")\noption(USE_INTERNAL_LAPACK \"\")\n"), "BLAS/LAPACK");
}

TEST_F(UseTest, FlagsOfOpenMP) {
  EXPECT_EQ(of_cmake(parallel, "set(CMAKE_CXX_FLAGS \"-O2 -fopenmp\")\n"), (Defaults{{"OpenMP", true}}));
  EXPECT_THAT(of_cmake(parallel, "option(X \"\" OFF)\nif(X)\nset(CMAKE_CXX_FLAGS -fopenmp)\nendif()\n"),
              IsEmpty());
}

TEST_F(UseTest, CompilersOfMpi) {
  EXPECT_EQ(of_cmake(parallel, "set(CMAKE_CXX_COMPILER /opt/mpi/bin/mpicxx)\n"), (Defaults{{"MPI", true}}));
}

TEST_F(UseTest, GenericBesideInstructionSetsOnly) {
  EXPECT_THAT(of_cmake(Choice::Group::simd, "option(SLV_GENERIC \"mostly static\" OFF)\n"), IsEmpty());
  EXPECT_EQ(of_cmake(Choice::Group::simd, "option(SLV_GENERIC \"\" OFF)\noption(SLV_AVX2 \"\" OFF)\n"),
            (Defaults{{"GENERIC", false}, {"AVX2", false}}));
}

TEST_F(UseTest, AModuleThatFindsItsPackagesConfiguration) {
  write("cmake/FindHelper.cmake", "find_package(Helper CONFIG)\nfind_package(Helper)\n");
  write("CMakeLists.txt", "project(s C)\nlist(APPEND CMAKE_MODULE_PATH cmake)\n"
                          "find_package(Helper)\noption(S_MPI \"\" OFF)\n");
  const Findings findings = read();
  EXPECT_THAT(findings.notes, IsEmpty());
  EXPECT_TRUE(option(findings, "S_MPI"));
}

TEST_F(UseTest, ARecursionOverUnknownValuesEnds) {
  write("CMakeLists.txt", "project(s C)\n"
                          "function(both text)\nif(NOT \"${text}\" MATCHES \"^.$\")\n"
                          "both(${HEAD})\nboth(${TAIL})\nendif()\nendfunction()\n"
                          "both(${FROM_A_HEADER})\noption(S_MPI \"\" OFF)\n");
  const Findings findings = read();
  EXPECT_THAT(findings.notes, IsEmpty());
  EXPECT_TRUE(option(findings, "S_MPI"));
}

TEST_F(UseTest, ModulesOfTheProjectThatFindAKnownLibrary) {
  write("cmake/FindTargetLAPACK.cmake", "find_package(LAPACK)\n");
  EXPECT_EQ(of_cmake(Choice::Group::linear_algebra, "find_package(TargetLAPACK REQUIRED)\n"),
            (Defaults{{"BLAS/LAPACK", true}}));
}

TEST_F(UseTest, PlainNamesInLinks) {
  EXPECT_EQ(of_cmake(parallel, "target_link_libraries(slv PUBLIC tbb -lpthread)\n"),
            (Defaults{{"TBB", true}, {"pthreads", true}}));
  EXPECT_EQ(of_cmake(Choice::Group::fft, "target_link_libraries(slv -lfftw3 m)\n"),
            (Defaults{{"FFTW", true}}));
  EXPECT_THAT(of_cmake(parallel, "target_link_libraries(slv tbb)\nadd_library(tbb INTERFACE)\n"), IsEmpty());
}

TEST_F(UseTest, AGpuThatConfigureLooksForUnasked) {
  write("configure.ac", "AC_INIT([s],[1])\nAC_CHECK_LIB([OpenCL], [clGetPlatformIDs])\n");
  EXPECT_EQ(defaults(Choice::Group::gpu), (Defaults{{"OpenCL", true}}));
}

TEST_F(UseTest, CompilersOfMpiInConfigure) {
  write("configure.ac", "AC_INIT([s],[1])\nAC_CHECK_PROGS([MPICC], [mpicc hcc mpcc], [$CC])\n");
  EXPECT_EQ(defaults(parallel), (Defaults{{"MPI", true}}));
}

TEST_F(UseTest, WhetherMpiIsWanted) {
  write("configure.ac", R"(AC_INIT([s],[1])
level=0
AC_ARG_ENABLE(paralevel, [AS_HELP_STRING([--enable-paralevel[=level]], [use MPI])],
  [case $enableval in yes) level=2;; no) ;; esac])
AC_ARG_ENABLE([threadsafe], [AS_HELP_STRING([--enable-threadsafe], [thread-safe functions. Default=no])])
AX_PROG_CXX_MPI([test $level -ge 1], [usempi=yes], [usempi=no])
AX_PROG_CC_MPI([test "x$usempi" = "xyes"], [], [usempi=no])
)");
  const Findings configure = read();
  const Json models = paper_document(configure, classify(configure))["parallel_programming_libraries"];
  EXPECT_EQ(models["MPI"]["build_flag"], "--enable-paralevel");
  EXPECT_EQ(models["MPI"]["used_as_default"], false);
  EXPECT_EQ(models["pthreads"]["build_flag"], "--enable-threadsafe");
  EXPECT_EQ(models["pthreads"]["used_as_default"], false);
}

TEST_F(UseTest, FilesThatMakefilesInclude) {
  write("Makefile", "include make.include\nall: p\n");
  write("make.include", "LAPACKBLAS = -llapack -lblas -lm\n");
  EXPECT_EQ(defaults(Choice::Group::linear_algebra), (Defaults{{"BLAS/LAPACK", true}}));
}

TEST_F(UseTest, DefaultsAndValuesInTheHelpOfConfigure) {
  write("configure.ac", R"(AC_INIT([s],[1])
AC_ARG_WITH([cuda], [AS_HELP_STRING([--with-cuda=(DIR)], [Enable CUDA (default is guess).])], [], [with_cuda=guess])
AC_ARG_WITH([blas], [AS_HELP_STRING([--with-blas], [specify the BLAS library])])
AC_ARG_WITH([thread-package], [  --with-thread-package=package  Thread package:
    posix or pthreads - POSIX threads (default)
    abt or argobots - Argobots threads
    none - no threads
],,with_thread_package=posix)
AC_ARG_WITH([fft], [AS_HELP_STRING([--with-fft=choice])], [FFT=$withval])
FFT=kiss
AS_CASE([$FFT], [kiss], [], [gpl-fftw3], [], [AC_MSG_FAILURE([unknown])])
)");
  const Findings configure = read();
  const Json document = paper_document(configure, classify(configure));
  EXPECT_EQ(document["gpu_backends"]["CUDA"]["used_as_default"], true);
  EXPECT_EQ(document["linear_algebra_libraries"]["BLAS"]["used_as_default"], true);
  EXPECT_EQ(document["parallel_programming_libraries"]["pthreads"]["build_flag"],
            "--with-thread-package=posix");
  EXPECT_EQ(document["parallel_programming_libraries"]["pthreads"]["used_as_default"], true);
  EXPECT_EQ(document["parallel_programming_libraries"]["Argobots"]["used_as_default"], false);
  EXPECT_EQ(document["FFT_libraries"]["KissFFT"]["built-in"], true);
  EXPECT_EQ(document["internal_build"],
            (Json{{"library_name", "KissFFT"}, {"build_flag", "--with-fft=kiss"}}));
}

TEST_F(UseTest, ShellConditionsInArgumentsOfMacros) {
  write("configure.ac", R"(AC_INIT([s],[1])
AC_ARG_ENABLE(old, [  --disable-old  no old programs],
              if test "x$enable_old" != "xno" ; then
                OLD=1
              else
                OLD=0
              fi,
              OLD=0)
AC_CHECK_LIB(pthread, pthread_join)
)");
  EXPECT_EQ(defaults(parallel), threads);
}

TEST_F(UseTest, OneOptionOfConfigureHasOneName) {
  write("configure.ac", "AC_INIT([s],[1])\nAC_ARG_ENABLE(sse4_1, [  --enable-sse4-1  Enable SSE4.1])\n");
  write("configure", "#!/bin/sh\ncat <<E\n  --enable-sse4-1  Enable SSE4.1\nE\n");
  const Findings configure = read();
  ASSERT_EQ(configure.options.size(), 1u);
  EXPECT_EQ(configure.options[0].name, "enable-sse4_1");
}

TEST_F(UseTest, OfSeveralVendorsTheFirst) {
  EXPECT_EQ(of_cmake(Choice::Group::linear_algebra, R"(
find_package(OpenBLAS)
if(NOT OpenBLAS_FOUND)
  find_package(ATLAS)
endif()
find_package(BLIS)
)"),
            (Defaults{{"OpenBLAS", true}, {"ATLAS", false}, {"BLIS", false}}));
}

TEST_F(UseTest, InstructionSetsOfSingleSources) {
  EXPECT_EQ(of_cmake(Choice::Group::simd, R"(
option(SLV_AVX2 "" OFF)
set_source_files_properties(a.c PROPERTIES COMPILE_FLAGS "-mavx2 -O3")
set_source_files_properties(b.c PROPERTIES COMPILE_FLAGS -msse4.1)
target_compile_options(slv PRIVATE -mtune=native -m64)
)"),
            (Defaults{{"AVX2", false}, {"SSE4.1", true}}));
  // One alone is a flag like others.
  EXPECT_THAT(
      of_cmake(Choice::Group::simd, "set_source_files_properties(b.c PROPERTIES COMPILE_FLAGS -mavx)\n"),
      IsEmpty());
}

TEST_F(UseTest, MakefilesByDefault) {
  write("Makefile", R"(
SYSTEM = Linux
ifeq ($(SYSTEM),Solaris)
  NOFFT = 1
endif
ifneq ($(NOFFT),1)
  LIBS += -lfftw3
endif
LIBS += /usr/lib/atlas/libatlas.a
MKL_LIBS = -lmkl_core -lpthread
a.o: a.c
	$(CC) -msse4.1 -c a.c
)");
  EXPECT_EQ(defaults(Choice::Group::fft), (Defaults{{"FFTW", true}}));
  EXPECT_EQ(defaults(Choice::Group::simd), (Defaults{{"SSE4.1", true}}));
  EXPECT_THAT(defaults(parallel), IsEmpty()); // MKL's threads
}

TEST_F(UseTest, MakefilesToChooseFromTwoLevelsBelow) {
  write("Makefile", "include solver/Make.$(arch)\nall:\n\tcd solver; $(MAKE)\n");
  write("solver/setup/Make.Linux", "LIBS = -lblas\nCC = mpicc\n");
  write("solver/setup/Make.Cray", "LIBS = -lessl\nCC = mpicc\n");
  EXPECT_EQ(defaults(parallel), (Defaults{{"MPI", true}}));
  EXPECT_EQ(defaults(Choice::Group::linear_algebra), (Defaults{{"BLAS", false}, {"ESSL", false}}));
}

} // namespace
} // namespace xaas::discover
