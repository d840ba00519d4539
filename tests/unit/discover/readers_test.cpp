#include "discover/testing.h"

namespace xaas::discover {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class MesonTest : public TreeTest {};

TEST_F(MesonTest, OptionsAndDependencies) {
  write("meson.build", R"(
project('solver', 'c', 'cpp', version: '1.2', meson_version: '>= 0.57.2', default_options: ['buildtype=release'])
# dependency('in_a_comment')
if get_option('fft') == 'fftw'
  fft = dependency('fftw3', version: '>=3.3', required: true)
endif
m = meson.get_compiler('c').find_library('m', required: false)
message('dependency(\'in_a_string\')')
)");
  write("meson_options.txt", R"(
option('openmp', type: 'boolean', value: true, description: 'use OpenMP')
option('fft', type: 'combo', choices: ['fftw', 'mkl', 'kiss'], value: 'kiss')
option('mpi', type: 'feature')
option('place', type: 'string', value: '/opt',
       description: 'it\'s ' + 'there')
)");
  const Findings findings = read();
  EXPECT_EQ(findings.system, spec::BuildSystem::meson);
  EXPECT_EQ(findings.name, "solver");
  EXPECT_EQ(findings.version, "1.2");
  EXPECT_EQ(findings.minimum_version, "0.57.2");
  EXPECT_THAT(findings.languages, ElementsAre("C", "CXX"));
  ASSERT_EQ(findings.options.size(), 4u);
  EXPECT_EQ(option(findings, "openmp")->initial, "ON");
  EXPECT_EQ(option(findings, "openmp")->place, (Place{"meson_options.txt", 2}));
  EXPECT_THAT(option(findings, "fft")->values, ElementsAre("fftw", "mkl", "kiss"));
  EXPECT_EQ(option(findings, "fft")->initial, "kiss");
  EXPECT_EQ(option(findings, "mpi")->initial, "auto");
  EXPECT_EQ(option(findings, "place")->help.substr(0, 5), "it's ");
  ASSERT_EQ(findings.packages.size(), 2u);
  EXPECT_EQ(findings.packages[0].name, "fftw3");
  EXPECT_EQ(findings.packages[0].version, "3.3");
  EXPECT_EQ(findings.packages[1].name, "m");
}

class AutotoolsTest : public TreeTest {};

TEST_F(AutotoolsTest, ArgumentsOfConfigure) {
  write("configure.ac", R"m4(
AC_PREREQ([2.69])
AC_INIT([solver], [3.1], [bugs@example.org])
AC_PROG_CC
dnl AC_ARG_ENABLE([commented], [x])
AC_ARG_ENABLE([openmp], [AS_HELP_STRING([--enable-openmp], [use OpenMP (default: no), not threads])],
  [use_openmp=$enableval], [use_openmp=no])
AC_ARG_ENABLE(avx2, AS_HELP_STRING([--disable-avx2], [no AVX2]))
AC_ARG_ENABLE([threading],
  AS_HELP_STRING([--enable-threading=[none|pthreads|tbb]], [what threads]))
AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi], [MPI])], [], [with_mpi=yes])
AC_ARG_WITH(fftw, [  --with-fftw=DIR   where FFTW is])
AC_ARG_ENABLE([shared], [of Libtool])
PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.1], [], [:])
AC_CHECK_LIB([lapack], [dgesv_])
AC_SEARCH_LIBS([dgemm_], [openblas blas])
)m4");
  const Findings findings = read();
  EXPECT_EQ(findings.system, spec::BuildSystem::autotools);
  EXPECT_EQ(findings.name, "solver");
  EXPECT_EQ(findings.version, "3.1");
  EXPECT_EQ(findings.minimum_version, "2.69");
  EXPECT_FALSE(option(findings, "enable-commented"));
  EXPECT_FALSE(option(findings, "enable-shared"));
  ASSERT_TRUE(option(findings, "enable-openmp"));
  EXPECT_EQ(option(findings, "enable-openmp")->initial, "OFF");
  EXPECT_EQ(option(findings, "enable-openmp")->place, (Place{"configure.ac", 6}));
  EXPECT_EQ(option(findings, "enable-avx2")->initial, "ON");
  EXPECT_THAT(option(findings, "enable-threading")->values, ElementsAre("none", "pthreads", "tbb"));
  EXPECT_EQ(option(findings, "with-mpi")->initial, "ON");
  EXPECT_TRUE(option(findings, "with-fftw")->takes_place);
  ASSERT_EQ(findings.packages.size(), 2u);
  EXPECT_EQ(findings.packages[0].name, "hwloc");
  EXPECT_EQ(findings.packages[0].version, "2.1");
  EXPECT_EQ(findings.packages[1].name, "lapack");
}

TEST_F(AutotoolsTest, AHandWrittenScript) {
  write("configure", R"sh(#!/bin/sh
cat <<EOT
Usage: configure [options]
  --enable-mpi            build with MPI (default: off)
  --disable-openmp        without OpenMP
  -t MODEL, --enable-threading[=MODEL]
                          a model of threads
EOT
echo "  --with-cuda             use CUDA [default=no]"
case $1 in
  --enable-hidden) hidden=1 ;;
esac
)sh");
  const Findings findings = read();
  ASSERT_TRUE(option(findings, "enable-mpi"));
  EXPECT_EQ(option(findings, "enable-mpi")->initial, "OFF");
  EXPECT_EQ(option(findings, "enable-openmp")->initial, "ON");
  EXPECT_TRUE(option(findings, "enable-threading"));
  EXPECT_EQ(option(findings, "with-cuda")->initial, "OFF");
  EXPECT_FALSE(option(findings, "enable-hidden"));
}

class MakeTest : public TreeTest {};

TEST_F(MakeTest, VariablesThatConditionalsTestAndThatFilesForUsersOffer) {
  write("Makefile", R"make(
CC = cc
OBJS = a.o
include make.inc
ifdef USE_MPI
CFLAGS += -DMPI
endif
ifeq ($(SIMD), avx2)
CFLAGS += -mavx2
else ifeq ($(SIMD), sse2)
CFLAGS += -msse2
endif
ifneq ($(avx2_too),)
endif
ifeq "$(GPU)" "cuda"
else ifeq "$(GPU)" "hip"
endif
ifeq (y,$(QUICK))
endif
ifeq ($(OMP), yes)
CFLAGS += -fopenmp
endif
all:
	ifdef IN_A_RECIPE
)make");
  write("make.inc", "# Use threads of POSIX.\n# USE_THREAD = 1\n\nOMP = yes\n");
  const Findings findings = read();
  EXPECT_EQ(findings.system, spec::BuildSystem::make);
  EXPECT_FALSE(option(findings, "CC"));
  EXPECT_FALSE(option(findings, "IN_A_RECIPE"));
  EXPECT_EQ(option(findings, "USE_MPI")->kind, Option::Kind::boolean);
  EXPECT_EQ(option(findings, "USE_MPI")->initial, "OFF");
  EXPECT_THAT(option(findings, "SIMD")->values, ElementsAre("avx2", "sse2"));
  EXPECT_EQ(option(findings, "avx2_too")->kind, Option::Kind::boolean);
  EXPECT_THAT(option(findings, "GPU")->values, ElementsAre("cuda", "hip"));
  EXPECT_EQ(option(findings, "QUICK")->kind, Option::Kind::boolean);
  EXPECT_EQ(option(findings, "OMP")->initial, "ON");
  EXPECT_THAT(option(findings, "OMP")->values, ElementsAre("yes"));
  EXPECT_EQ(option(findings, "USE_THREAD")->initial, "OFF");
  EXPECT_EQ(option(findings, "USE_THREAD")->help, "Use threads of POSIX.");
}

TEST_F(MakeTest, WhatItMakes) {
  write("Makefile", R"make(
VERSION := $(shell git describe)
NAME = solve
TOOLS = $(addprefix bin/,merge $(NAME)-index) $(LATER)
LATER = plot.x
OBJS = $(patsubst %.c,%.o,$(wildcard *.c)) # all of them
ifeq ($(shell uname -s),Darwin)
  TOOLS += wrong
else ifneq (,$(findstring clang,$(CC)))
  TOOLS += wrong-too
else
  TOOLS += right
endif
ifdef EXTRA
  TOOLS += only-if-asked
endif
.PHONY: all data
.SUFFIXES: .c
%.o: %.c
	$(CC) -c $< -o $@
all: $(NAME) $(TOOLS) libsolve.a data sub program-$(VERSION) list.txt by-rule
$(NAME): main.o \
         libsolve.a
	$(CC) $^ -o $@
$(TOOLS): %: %.o
	$(CC) $< -o $@
libsolve.a: $(OBJS)
	ar rc $@ $^
data:
	touch $@
sub:
	$(MAKE) -C $@
list.txt:
	ls > $@
by-rule: by-rule.o
program-$(VERSION): main.o
	$(CC) $< -o $@
other: main.o
	$(CC) $< -o $@
main.o: CFLAGS = -O3
)make");
  write("a.c", "");
  const Findings findings = read();
  ASSERT_TRUE(findings.products);
  EXPECT_THAT(findings.products->programs,
              ElementsAre("bin/merge", "bin/solve-index", "by-rule", "plot.x", "right", "solve"));
  EXPECT_THAT(findings.products->libraries, ElementsAre("libsolve.a"));
  EXPECT_FALSE(findings.products->has_install);

  const spec::Application spec = draft(findings, classify(findings), "x86_64").application;
  ASSERT_EQ(spec.build.install.size(), 7u);
  EXPECT_EQ(spec.build.install[0].from, "bin/merge");
  EXPECT_EQ(spec.build.install[0].to, "bin/merge");
  EXPECT_EQ(spec.build.install[6].to, "lib/libsolve.a");
  EXPECT_THAT(spec.image.entrypoint, IsEmpty());
}

TEST_F(MakeTest, WordsForOnAndOff) {
  write("Makefile", R"make(
CUDA = auto
BLAS = -lblas
ifneq ($(CUDA),no)
endif
ifdef BLAS
endif
ifeq ($(MPI),yes)
else ifeq ($(MPI),no)
endif
)make");
  const Findings findings = read();
  EXPECT_EQ(option(findings, "BLAS")->kind, Option::Kind::text);
  const Discovery found = classify(findings);
  EXPECT_EQ(point(found, "cuda")->point.default_, "auto");
  EXPECT_THAT(point(found, "cuda")->point.find("off")->arguments, ElementsAre("CUDA=no"));
  EXPECT_THAT(point(found, "mpi")->point.find("on")->arguments, ElementsAre("MPI=yes"));
  EXPECT_THAT(point(found, "mpi")->point.find("off")->arguments, ElementsAre("MPI=no"));
  EXPECT_FALSE(point(found, "blas"));
}

TEST_F(MakeTest, WhatIsNoProgram) {
  write("Makefile", R"make(
.DEFAULT_GOAL := everything
PROG = solver
OBJS = main.o
help:
	@echo targets: everything
everything: build ./$(PROG) bin/tool main clean version
	@echo built $@
build:
	mkdir -p $@
$(PROG): $(OBJS)
	$(CC) $(LDFLAGS) -o $(PROG) $(OBJS)
bin/%: %.c
	mpicc $< -o $@
main: main.c
clean:
	rm -f $@ $(PROG)
version:
	git describe > $@
)make");
  EXPECT_THAT(read().products->programs, ElementsAre("bin/tool", "main", "solver"));
  write("Makefile", "all:\n\t$(MAKE) -C src\n");
  EXPECT_THAT(read().notes, Contains(HasSubstr("no target `install`")));
}

TEST_F(MakeTest, AnInstallStepIsUsed) {
  write("rules.mk", "install: all\n\tcp a $(DESTDIR)$(PREFIX)/bin\n");
  write("Makefile", "all: a\na: a.o\n\tcc -o a a.o\ninclude rules.mk\n");
  const Findings findings = read();
  EXPECT_TRUE(findings.products->has_install);
  EXPECT_THAT(draft(findings, classify(findings), "x86_64").application.build.install, IsEmpty());
}

TEST_F(MakeTest, NoValueIsEndless) {
  std::string doubling = "all: $(A)\nA = $(A) $(B)\nB = $(A)\nx := aaaaaaaaaa\n";
  for (int i = 0; i < 60; ++i)
    doubling += "x := $(x)$(x)\ny += $(subst a,aaaaaaaaaaaaaaaa,$(x))\n";
  write("Makefile", doubling + "include Makefile\n" + std::string(10'000, '(') + "\nall: $(((((((((x\n" +
                        std::string(5'000, '$') + "\nifeq\nifeq (\nelse\nelse\nendif\nendif\nendif\n");
  EXPECT_TRUE(read().products);
}

TEST_F(TreeTest, MakefilesWithOtherNamesAreProposed) {
  for (const char* name :
       {"Makefile.am", "Makefile.d/rules.mk", "Makefile.gcc", "Makefile.mac", "src/Makefile.a"})
    write(name, "all: solver\n");
  const Error error = no_build_system("tree", read());
  EXPECT_EQ(error.message, "source tree tree: no known build system");
  EXPECT_EQ(error.hint, "for makefiles with other names, such as Makefile.gcc, write a spec with \"system\": "
                        "\"make\" and \"arguments\": [\"-f\", FILE] (docs/application-spec.md)");
}

TEST_F(TreeTest, WithoutAMakefileCommandsAreProposed) {
  write("main.c", "int main(void) { return 0; }\n");
  const Error error = no_build_system("tree", read(), "no xaas.json and no known build system");
  EXPECT_EQ(error.message, "source tree tree: no xaas.json and no known build system");
  EXPECT_THAT(error.hint, HasSubstr("\"commands\""));
}

class SourcesTest : public TreeTest {};

TEST_F(SourcesTest, WhatTheyUse) {
  write("a.c", "#include <mpi.h>\nint main() {\n#pragma omp parallel\n}\n");
  write("b.cpp", "#ifdef __AVX2__\n#endif\n#pragma omp simd\n");
  write("notes.txt", "__global__");
  write("tests/t.c", "__global__"); // not the application
  const Findings findings = read();
  EXPECT_EQ(findings.system, std::nullopt);
  EXPECT_THAT(findings.notes, Contains(HasSubstr("no known build system")));
  std::map<std::string, Sign> signs;
  for (const Sign& sign : findings.signs)
    signs[sign.name] = sign;
  EXPECT_EQ(signs.size(), 3u);
  EXPECT_EQ(signs["OpenMP"].files, 2u);
  EXPECT_EQ(signs["OpenMP"].place, (Place{"a.c", 3}));
  EXPECT_EQ(signs["avx2"].place, (Place{"b.cpp", 1}));
}

TEST_F(TreeTest, TheDirectoryOfAReleaseNamesTheProject) {
  const auto named = [&](const std::string& directory) {
    write(directory + "/Makefile", "all:\n");
    const auto findings = read_tree(tree() / directory);
    return findings->name + " " + findings->version;
  };
  EXPECT_EQ(named("solver-2.1"), "solver 2.1");
  EXPECT_EQ(named("solver-v2.1.0+git2018.61c9"), "solver 2.1.0+git2018.61c9");
  EXPECT_EQ(named("part_solver_1.0rc1"), "part_solver 1.0rc1");
  EXPECT_EQ(named("solver-2"), "solver-2 ");
  EXPECT_EQ(named("minimap2"), "minimap2 ");
}

class BadTreeTest : public TreeTest {
protected:
  void expect_every_reader_takes(const std::string& junk) {
    for (const char* file : {"CMakeLists.txt", "configure.ac", "configure", "meson.build",
                             "meson_options.txt", "Makefile", "a.c"})
      write(file, junk);
    for (const auto system : {spec::BuildSystem::cmake, spec::BuildSystem::meson,
                              spec::BuildSystem::autotools, spec::BuildSystem::make})
      EXPECT_TRUE(read_tree(tree(), system)) << spec::to_string(system);
  }
};

TEST_F(BadTreeTest, IsReadAsFarAsItGoes) {
  EXPECT_EQ(read_tree(tree() / "none").error().kind, ErrorKind::not_found);
  EXPECT_EQ(read_tree(tree(), spec::BuildSystem::meson).error().kind, ErrorKind::not_found);
  std::string junk;
  for (int i = 0; i < 100'000; ++i)
    junk.push_back(static_cast<char>(i * 7919 >> 3));
  expect_every_reader_takes(junk);
  EXPECT_THAT(read_tree(tree(), spec::BuildSystem::cmake)->notes,
              Contains(HasSubstr("CMakeLists.txt: not read")));
  std::erase(junk, '\0'); // then it looks like text
  expect_every_reader_takes(junk);
}

TEST_F(BadTreeTest, LinksAndSizes) {
  write("CMakeLists.txt", "project(a)\noption(A \"\" ON)\n");
  fs::create_directory_symlink(".", tree() / "loop");
  fs::create_symlink("/etc/passwd", tree() / "outside.cmake");
  write("large.c", "#pragma omp\n" + std::string(1000, ' '));
  Limits limits;
  limits.file_bytes = 500;
  Findings findings = read(limits);
  EXPECT_TRUE(option(findings, "A"));
  EXPECT_THAT(findings.signs, IsEmpty());
  limits.files = 2;
  findings = read(limits);
  EXPECT_THAT(findings.notes, Contains(HasSubstr("more than 2 files")));
}

TEST_F(BadTreeTest, OfTooManyFilesThoseNearTheTopAreRead) {
  for (int directory = 0; directory < 20; ++directory)
    for (int file = 0; file < 20; ++file)
      write(std::to_string(directory) + "/" + std::to_string(file) + ".c", "");
  write("CMakeLists.txt", "project(a)\noption(A \"\" ON)\n");
  write("zz.c", "#pragma omp\n");
  Limits limits;
  limits.files = 50;
  const Findings findings = read(limits);
  EXPECT_TRUE(option(findings, "A"));
  EXPECT_EQ(findings.signs.size(), 1u);
  EXPECT_THAT(findings.notes, Contains(HasSubstr("more than 50 files")));
}

} // namespace
} // namespace xaas::discover
