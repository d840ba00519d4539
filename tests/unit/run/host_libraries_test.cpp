// Which libraries of the host fit an image, with small ELF files.
#include "choose_host.h"
#include "host_libraries.h"

#include <xaas/base/text.h>
#include <xaas/run/preferred.h>

#include <gmock/gmock.h>

#include <cstdlib>

using namespace xaas;
using namespace xaas::run;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace {

// An image with a program that needs libone.so.1 and a C library, and a directory of the host.
class HostLibrariesTest : public testing::Test {
protected:
  void SetUp() override {
    tree = directory.path() / "tree";
    host = directory.path() / "host";
    for (const fs::path& each :
         {tree / "usr/bin", tree / "usr/lib/x86_64-linux-gnu", host, directory.path() / "sdk"})
      ASSERT_TRUE(make_directories(each));
    ASSERT_TRUE(write_file(directory.path() / "libc.map", "GLIBC_2.10 { global: *; };"));
    ASSERT_TRUE(
        write_file(directory.path() / "new.map", "GLIBC_2.10 { global: f; }; GLIBC_2.99 { global: *; };"));
    library("sdk/libc-new.so", "int f(void) { return 1; } int g(void) { return 1; }",
            "-Wl,-soname,libc.so.6,--version-script=new.map");
    library("tree/usr/lib/x86_64-linux-gnu/libc.so.6", "int f(void) { return 1; }",
            "-Wl,-soname,libc.so.6,--version-script=libc.map");
    library(in_image("libone.so.1"), "int one(void) { return 1; } int two(void) { return 2; } int more;",
            "-Wl,-soname,libone.so.1");
    program("int one(void); void _start(void) { one(); }", in_image("libone.so.1"));
  }

  static std::string in_image(const std::string& name) { return "tree/usr/lib/x86_64-linux-gnu/" + name; }

  void compile(const std::string& to, const std::string& code, const std::string& arguments) {
    ASSERT_TRUE(write_file(directory.path() / "code.c", code));
    const std::string command =
        "cd " + directory.path().string() +
        " && clang-22 --target=x86_64-linux-gnu -fuse-ld=lld -nostdlib -fPIC -O1 code.c " + arguments +
        " -o " + to;
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  void library(const std::string& to, const std::string& code, const std::string& arguments = "") {
    compile(to, code, "-shared " + arguments);
  }
  void program(const std::string& code, const std::string& arguments) {
    compile("tree/usr/bin/program", code, "-Wl,--dynamic-linker=/lib64/ld.so " + arguments);
  }

  // The names that are bound, or the reason for refusing.
  std::vector<std::string> take(const std::string& what, const std::string& file = "/usr/bin/program") {
    const std::vector<std::string> path = {host};
    image.emplace(tree, "x86_64", std::vector<std::string>(), false);
    const loader::Library* program = nullptr;
    if (!file.empty())
      program = *image->read(file);
    libraries.emplace(*HostLibraries::open(*image, program, "x86_64", path));
    const Replaced replaced = program ? libraries->named(what) : *libraries->libraries_of_image(what, {what});
    EXPECT_FALSE(replaced.libraries.empty());
    return bound(libraries->take(replaced, path));
  }
  // The names of the host's files that are bound, under whatever name.
  std::vector<std::string> take_in_place(const std::string& name, const std::string& implementation) {
    const std::vector<std::string> path = {host};
    image.emplace(tree, "x86_64", std::vector<std::string>(), false);
    libraries.emplace(*HostLibraries::open(*image, *image->read("/usr/bin/program"), "x86_64", path));
    const Result<std::string> taken = libraries->take(Replaced{name, {}, {{{name}, {implementation}}}}, path);
    EXPECT_TRUE(taken) << taken.error().message;
    std::vector<std::string> names;
    for (const Bind& bind : libraries->binds())
      names.push_back(bind.source.filename());
    return names;
  }
  std::vector<std::string> bound(const Result<std::string>& taken) const {
    if (!taken) {
      EXPECT_EQ(taken.error().kind, ErrorKind::unsatisfied);
      return {taken.error().message};
    }
    EXPECT_EQ(*taken, host.string());
    std::vector<std::string> names;
    for (const Bind& bind : libraries->binds()) {
      EXPECT_TRUE(bind.read_only);
      EXPECT_EQ(bind.destination, std::string(host_libraries) + "/" + bind.source.filename().string());
      names.push_back(bind.source.filename());
    }
    return names;
  }

  TemporaryDirectory directory = *TemporaryDirectory::create();
  fs::path tree, host;
  std::optional<loader::Loader> image;
  std::optional<HostLibraries> libraries;
};

TEST_F(HostLibrariesTest, TheSameSonameWithWhatItNeedsButNotTheCLibrary) {
  library("host/libdeep.so.2", "int deep(void) { return 1; }", "-Wl,-soname,libdeep.so.2");
  library("host/libone.so.1", "int f(void); int deep(void); int one(void) { return deep() + f(); }",
          "-Wl,-soname,libone.so.1 host/libdeep.so.2 " + in_image("libc.so.6"));
  EXPECT_THAT(take("one"), ElementsAre("libdeep.so.2", "libone.so.1"));
  EXPECT_THAT(take("libone.so.1"), ElementsAre("libdeep.so.2", "libone.so.1"));
  ASSERT_TRUE(fs::remove(host / "libdeep.so.2"));
  EXPECT_THAT(take("one"), ElementsAre(HasSubstr("libone.so.1 needs libdeep.so.2, which does not exist")));
  ASSERT_TRUE(fs::remove(host / "libone.so.1"));
  EXPECT_THAT(take("one"), ElementsAre("this machine has no libone.so.1"));
}

// A library can need a part of the C library without using a symbol of it.
TEST_F(HostLibrariesTest, APartOfTheCLibraryThatTheImageLacks) {
  library("sdk/libdl.so.2", "", "-Wl,-soname,libdl.so.2");
  library("host/libone.so.1", "int one(void) { return 1; }",
          "-Wl,-soname,libone.so.1 -Wl,--no-as-needed sdk/libdl.so.2");
  EXPECT_THAT(take("one"), ElementsAre(HasSubstr("needs libdl.so.2, which the image does not have")));
  library(in_image("libdl.so.2"), "", "-Wl,-soname,libdl.so.2");
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1"));
}

TEST_F(HostLibrariesTest, SymbolsThatTheProgramUses) {
  // What only the image's own library needs may be missing.
  library("host/libone.so.1", "int one(void) { return 7; }", "-Wl,-soname,libone.so.1");
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1"));
  program("int one(void); int two(void); void _start(void) { one(); two(); }", in_image("libone.so.1"));
  EXPECT_THAT(take("one"),
              ElementsAre("the image's /usr/bin/program uses two of libone.so.1, which the host's " +
                          (host / "libone.so.1").string() + " does not have"));
  // A weak reference may stay undefined, and another library of the image may define a symbol.
  program("int one(void); __attribute__((weak)) int two(void); void _start(void) { if (two) one(); }",
          in_image("libone.so.1"));
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1"));
  library(in_image("libtwo.so.1"), "int two(void) { return 2; }", "-Wl,-soname,libtwo.so.1");
  program("int one(void); int two(void); void _start(void) { one(); two(); }",
          in_image("libone.so.1") + " " + in_image("libtwo.so.1"));
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1"));
  // The image may have the library that the host's needs.
  program("int one(void); int two(void); void _start(void) { one(); two(); }", in_image("libone.so.1"));
  library("host/libpart.so.1", "int two(void) { return 2; }", "-Wl,-soname,libpart.so.1");
  library("host/libone.so.1", "int one(void) { return 7; }",
          "-Wl,-soname,libone.so.1 -Wl,--no-as-needed host/libpart.so.1");
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1", "libpart.so.1"));
}

// MKL takes the place of another BLAS, under that name and its own, and loads its parts by name from its own
// directory.
TEST_F(HostLibrariesTest, PartsOfAnImplementation) {
  library(in_image("libblas.so.3"), "int dgemm_(void) { return 1; }", "-Wl,-soname,libblas.so.3");
  program("int dgemm_(void); void _start(void) { dgemm_(); }", in_image("libblas.so.3"));
  for (const std::string version : {"", ".1", ".2"}) {
    const std::string main = "libmkl_rt.so" + version, part = "libmkl_core.so" + version;
    library("host/" + main, "int dgemm_(void) { return 2; }", "-Wl,-soname," + main);
    library("host/" + part, "int part(void) { return 2; }", "-Wl,-soname," + part);
    EXPECT_THAT(take_in_place("libblas.so.3", main), testing::UnorderedElementsAre(main, main, part));
    ASSERT_TRUE(fs::remove(host / main) && fs::remove(host / part));
  }
}

TEST_F(HostLibrariesTest, VersionsOfSymbols) {
  ASSERT_TRUE(write_file(directory.path() / "one.map", "V1 { global: one; };"));
  ASSERT_TRUE(write_file(directory.path() / "two.map", "V1 { }; V2 { global: one; };"));
  const std::string code = "int one(void) { return 1; }", named = "-Wl,-soname,libone.so.1";
  library(in_image("libone.so.1"), code, named + " -Wl,--version-script=two.map");
  program("int one(void); void _start(void) { one(); }", in_image("libone.so.1"));
  library("host/libone.so.1", code, named + " -Wl,--version-script=one.map");
  EXPECT_THAT(take("one"), ElementsAre(HasSubstr("the image's /usr/bin/program needs V2 of libone.so.1")));
  EXPECT_THAT(take("libone.so.1", ""), ElementsAre(HasSubstr("lacks some symbol versions")));
  library("host/libone.so.1", code, named + " -Wl,--version-script=two.map");
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1"));
  EXPECT_THAT(take("libone.so.1", ""), ElementsAre("libone.so.1"));
}

TEST_F(HostLibrariesTest, ANewerCLibrary) {
  library("host/libone.so.1", "int g(void); int one(void) { return g(); }",
          "-Wl,-soname,libone.so.1 sdk/libc-new.so");
  EXPECT_THAT(take("one"),
              ElementsAre(HasSubstr("needs GLIBC_2.99 of libc.so.6, which the image's does not have")));
  library("host/libone.so.1", "int f(void); int one(void) { return f(); }",
          "-Wl,-soname,libone.so.1 sdk/libc-new.so");
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1"));
  program("int f(void); void _start(void) { f(); }", in_image("libc.so.6"));
  EXPECT_THAT(take("libc.so.6"), ElementsAre(HasSubstr("belongs to the C library")));
}

TEST_F(HostLibrariesTest, WhatFindsItsOwn) {
  library("host/libone.so.1", "int one(void) { return 7; }", "-Wl,-soname,libone.so.1");
  program("int one(void); void _start(void) { one(); }",
          "-Wl,-rpath,/opt/lib -Wl,--disable-new-dtags " + in_image("libone.so.1"));
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1")) << "it is not there";
  ASSERT_TRUE(make_directories(tree / "opt/lib"));
  fs::copy_file(directory.path() / in_image("libone.so.1"), tree / "opt/lib/libone.so.1");
  EXPECT_THAT(take("one"), ElementsAre("/usr/bin/program finds its one by DT_RPATH, before any other"));
  // A library inherits RPATH from the program.
  library(in_image("libuser.so.1"), "int one(void); int user(void) { return one(); }",
          "-Wl,-soname,libuser.so.1 " + in_image("libone.so.1"));
  program("int user(void); void _start(void) { user(); }",
          "-Wl,-rpath,/opt/lib -Wl,--disable-new-dtags -Wl,--allow-shlib-undefined " +
              in_image("libuser.so.1"));
  EXPECT_THAT(take("one"),
              ElementsAre(HasSubstr("/libuser.so.1 finds its one by DT_RPATH, before any other")));
  // Its own DT_RUNPATH prevents that.
  library(in_image("libuser.so.1"), "int one(void); int user(void) { return one(); }",
          "-Wl,-soname,libuser.so.1 -Wl,-rpath,/nowhere " + in_image("libone.so.1"));
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1"));
}

TEST_F(HostLibrariesTest, WhatBelongsTogetherIsFromOneDirectory) {
  for (const char* name : {"libfftw3.so.3", "libfftw3_omp.so.3"})
    library(in_image(name), std::string("int in") + (name[8] == '.' ? "a" : "b") + "(void) { return 1; }",
            std::string("-Wl,-soname,") + name);
  program("int ina(void); int inb(void); void _start(void) { ina(); inb(); }",
          in_image("libfftw3.so.3") + " " + in_image("libfftw3_omp.so.3"));
  library("host/libfftw3.so.3", "int ina(void) { return 1; }", "-Wl,-soname,libfftw3.so.3");
  EXPECT_THAT(take("fftw3"),
              ElementsAre("the image has libfftw3_omp.so.3, the host's " + host.string() + " has none"));
  library("host/libfftw3_omp.so.3", "int inb(void) { return 1; }", "-Wl,-soname,libfftw3_omp.so.3");
  EXPECT_THAT(take("fftw3"), ElementsAre("libfftw3.so.3", "libfftw3_omp.so.3"));
}

TEST_F(HostLibrariesTest, OneThatDoesNotFitChangesNothing) {
  library("host/libone.so.1", "int one(void) { return 7; }", "-Wl,-soname,libone.so.1");
  library(in_image("libtwo.so.1"), "int twice(void) { return 2; }", "-Wl,-soname,libtwo.so.1");
  program("int one(void); int twice(void); void _start(void) { one(); twice(); }",
          in_image("libone.so.1") + " " + in_image("libtwo.so.1"));
  library("host/libbad.so.1", "int bad(void) { return 2; }", "-Wl,-soname,libbad.so.1");
  library("host/libtwo.so.1", "int bad(void); int three(void) { return bad(); }",
          "-Wl,-soname,libtwo.so.1 host/libbad.so.1");
  EXPECT_THAT(take("one"), ElementsAre("libone.so.1"));
  const Result<std::string> second = libraries->take(libraries->named("two"), {host.string()});
  EXPECT_THAT(bound(second), ElementsAre(HasSubstr("uses twice of libtwo.so.1")));
  EXPECT_EQ(libraries->binds().size(), 1u);
}

TEST_F(HostLibrariesTest, AnMpiOfItsOwn) {
  library("host/libmpi.so.40", "int MPI_Init(void) { return 1; }", "-Wl,-soname,libmpi.so.40");
  library("host/libone.so.1", "int MPI_Init(void); int one(void) { return MPI_Init(); }",
          "-Wl,-soname,libone.so.1 host/libmpi.so.40");
  EXPECT_THAT(take("one"), ElementsAre(HasSubstr("the host's needs its MPI")));
}

// What the image calls libblas.so.3 may be another library of the host, whatever that calls itself.
TEST_F(HostLibrariesTest, AnImplementationOfAnInterface) {
  library(in_image("libblas.so.3"), "int one(void) { return 1; } int more;", "-Wl,-soname,libblas.so.3");
  program("int one(void); void _start(void) { one(); }", in_image("libblas.so.3"));
  library("host/libblis.so.4", "int one(void) { return 4; }", "-Wl,-soname,libblis.so.4");
  library("host/libopenblas.so.0", "int other(void) { return 1; }", "-Wl,-soname,libopenblas.so.0");
  const HostQuestion question{.preferred = {{"blas", {}, {"libblas.so.3"}}}, .library_path = {host}};
  const auto choose = [&] {
    image.emplace(tree, "x86_64", std::vector<std::string>(), false);
    auto answer = choose_host(question, *image, *image->read("/usr/bin/program"));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *std::move(answer) : HostAnswer();
  };
  // The best one lacks a function that the program uses.
  HostAnswer answer = choose();
  ASSERT_EQ(answer.choices.size(), 1u);
  EXPECT_TRUE(answer.choices[0].host);
  EXPECT_EQ(answer.choices[0].found, (host / "libblis.so.4").string());
  ASSERT_EQ(answer.binds.size(), 1u);
  EXPECT_EQ(answer.binds[0].source, host / "libblis.so.4");
  EXPECT_EQ(answer.binds[0].destination, std::string(host_libraries) + "/libblas.so.3");
  library("host/libopenblas.so.0", "int one(void) { return 2; }", "-Wl,-soname,libopenblas.so.0");
  EXPECT_EQ(choose().choices[0].found, (host / "libopenblas.so.0").string());
  for (const char* name : {"libopenblas.so.0", "libblis.so.4"})
    ASSERT_TRUE(fs::remove(host / name));
  library("host/libblas.so.3", "int one(void) { return 2; }",
          "-Wl,-soname,libblas.so.3"); // a reference, perhaps
  if (answer = choose(); answer.choices[0].host)
    EXPECT_THAT(answer.choices[0].found, Not(HasSubstr(host.string()))); // of this machine
}

TEST(Preferred, NamesOfFiles) {
  EXPECT_TRUE(belongs_to("blas", "libblas.so.3"));
  EXPECT_TRUE(belongs_to("blas", "libopenblas.so.0"));
  EXPECT_FALSE(belongs_to("blas", "liblapack.so.3"));
  EXPECT_TRUE(belongs_to("blas", "libblas.so.3"));
  EXPECT_FALSE(belongs_to("blas", "libblas64.so.3"));
  EXPECT_TRUE(belongs_to("fftw3", "libfftw3_threads.so.3"));
  EXPECT_FALSE(belongs_to("fftw3", "libfftw3f.so.3"));
  EXPECT_TRUE(belongs_to("cuda-toolkit", "libcublasLt.so.12"));
  EXPECT_FALSE(belongs_to("cuda-toolkit", "libcuda.so.1"));
  EXPECT_TRUE(belongs_to("mpi", "libmpi.so.40"));
  const std::set<std::string> files = {"libmpich.so.12", "libmpichfort.so.12", "libblas.so.3", "libc.so.6"};
  const auto found = preferred_among({{"mpi", {}}, {"blas", {}}, {"x", {"libc.so.6"}}, {"none", {}}}, files);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0], (image::PreferredOfHost{"mpi", "mpich-12", {"libmpich.so.12", "libmpichfort.so.12"}}));
  EXPECT_THAT(found[1].sonames, ElementsAre("libblas.so.3"));
  EXPECT_THAT(found[2].sonames, ElementsAre("libc.so.6"));
  EXPECT_THAT(found[3].sonames, IsEmpty());
}

} // namespace
