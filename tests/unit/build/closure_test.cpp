// Which libraries of the machine a configuration's programs bring, in trees as Spack and modules make them.
#include "closure.h"

#include <xaas/target/cpu.h>

#include <gmock/gmock.h>

#include <cstdlib>

namespace xaas::build {
namespace {

using ::testing::HasSubstr;

// A program that links liba.so.1 of prefix `a`, which needs libb.so.1 of prefix `b`. Prefix `c` has another
// libb.so.1 and a library that the program also links, so links read from its directory.
class ClosureTest : public ::testing::Test {
protected:
  void SetUp() override {
    library("b/libb.so.1", "int b(void) { return 1; }");
    library("c/libb.so.1", "int b(void) { return 2; } int more;");
    library("c/libc_user.so.1", "int user(void) { return 3; }");
    a_with("--enable-new-dtags -Wl,-rpath," + place("b"));
    program_ = {"/usr/bin/program",
                {},
                {{"liba.so.1", place("a/liba.so.1")}, {"libc_user.so.1", place("c/libc_user.so.1")}}};
    program_.dynamic.needed = {"libc_user.so.1", "liba.so.1"};
  }

  std::string place(const std::string& name) const { return directory_.path() / name; }

  void library(const std::string& name, const std::string& code, const std::string& arguments = "") {
    ASSERT_TRUE(make_directories(fs::path(place(name)).parent_path()));
    ASSERT_TRUE(write_file(place("code.c"), code));
    const std::string command = "clang-22 -fuse-ld=lld -nostdlib -shared -fPIC " + place("code.c") +
                                " -Wl,-soname," + fs::path(name).filename().string() + " " + arguments +
                                " -o " + place(name);
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  void a_with(const std::string& tags) {
    library("a/liba.so.1", "int b(void); int a(void) { return b(); }", place("b/libb.so.1") + " -Wl," + tags);
  }

  Result<Closure> gather(const std::vector<std::string>& library_path = {}) {
    ClosureInput input{target::host_arch(), {program_}, {}, {}, library_path};
    for (const Linked& other : others_)
      input.linked.push_back(other);
    return gather_closure(input, content_);
  }

  // The path of the library with this name; empty: it is not in the closure.
  std::string source_of(const Result<Closure>& closure, const std::string& name) {
    EXPECT_TRUE(closure) << closure.error().message;
    if (closure)
      for (const link::InstalledFile& file : closure->files)
        if (fs::path(file.path).filename() == name && file.kind == link::InstalledFile::Kind::file)
          return fs::path(closure->places.at(file.digest))
              .lexically_relative(fs::canonical(directory_.path()));
    return {};
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  store::ContentStore content_{directory_.path() / "store"};
  Linked program_;
  std::vector<Linked> others_;
};

TEST_F(ClosureTest, AnIndirectLibraryIsThatOfItsUser) {
  EXPECT_EQ(source_of(gather(), "libb.so.1"), "b/libb.so.1");
  a_with("--disable-new-dtags -Wl,-rpath," + place("b"));
  EXPECT_EQ(source_of(gather(), "libb.so.1"), "b/libb.so.1");
  a_with("--enable-new-dtags -Wl,-rpath,'$ORIGIN/../b'");
  EXPECT_EQ(source_of(gather(), "libb.so.1"), "b/libb.so.1");
  EXPECT_EQ(source_of(gather(), "liba.so.1"), "a/liba.so.1");
}

TEST_F(ClosureTest, DtRpathOfTheProgramIsInherited) {
  a_with("--enable-new-dtags");
  program_.dynamic.runpath = {place("b")};
  program_.dynamic.rpath_is_first = true;
  EXPECT_EQ(source_of(gather(), "libb.so.1"), "b/libb.so.1");
  // DT_RUNPATH does not apply, so the directories of libraries that links read remain.
  program_.dynamic.rpath_is_first = false;
  EXPECT_EQ(source_of(gather(), "libb.so.1"), "c/libb.so.1");
  EXPECT_EQ(source_of(gather({place("b")}), "libb.so.1"), "b/libb.so.1"); // LD_LIBRARY_PATH
}

TEST_F(ClosureTest, LibrariesOfAnotherMachineArePassedOver) {
  const std::string other = target::host_arch() == "x86_64" ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
  library("wrong/libb.so.1", "int b(void) { return 4; }", "--target=" + other);
  a_with("--enable-new-dtags -Wl,-rpath," + place("wrong") + ":" + place("b"));
  EXPECT_EQ(source_of(gather({place("wrong")}), "libb.so.1"), "b/libb.so.1");
}

TEST_F(ClosureTest, WhatIsNotThereIsNamedWithWhoNeedsIt) {
  ASSERT_TRUE(fs::remove(place("b/libb.so.1")));
  ASSERT_TRUE(fs::remove(place("c/libb.so.1")));
  const auto closure = gather();
  ASSERT_FALSE(closure);
  EXPECT_EQ(closure.error().kind, ErrorKind::failed);
  EXPECT_THAT(closure.error().message, HasSubstr("the run-time library libb.so.1, which "));
  EXPECT_THAT(closure.error().message, HasSubstr("a/liba.so.1 needs, is not on this machine"));
}

// The application's own libraries exist; the machine's libraries that they need are found through their
// RPATH.
TEST_F(ClosureTest, LibrariesOfTheApplication) {
  Linked own{"/usr/lib/libown.so.1", {}, {}};
  own.dynamic.soname = "libown.so.1";
  own.dynamic.needed = {"libb.so.1"};
  own.dynamic.runpath = {place("b")};
  others_ = {own};
  program_.dynamic.needed = {"libown.so.1"};
  program_.libraries.clear();
  const auto closure = gather();
  EXPECT_EQ(source_of(closure, "libb.so.1"), "b/libb.so.1");
  EXPECT_EQ(source_of(closure, "libown.so.1"), "");
}

// An image has one directory for all programs; natively each has its own.
TEST_F(ClosureTest, TwoLibrariesOfOneName) {
  Linked other = program_;
  other.path = "/usr/bin/other";
  other.libraries = {{"libb.so.1", place("c/libb.so.1")}};
  other.dynamic.needed = {"libb.so.1"};
  others_ = {other};
  const auto refused = gather();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("b/libb.so.1"));
  EXPECT_THAT(refused.error().message, HasSubstr("c/libb.so.1"));
  // The same bytes at two paths are one library.
  fs::copy_file(place("b/libb.so.1"), place("c/libb.so.1"), fs::copy_options::overwrite_existing);
  EXPECT_TRUE(gather());
  // A library with all symbol versions of another can replace it.
  ASSERT_TRUE(write_file(place("one.map"), "V1 { global: b; };"));
  ASSERT_TRUE(write_file(place("two.map"), "V1 { global: b; }; V2 { global: more; };"));
  library("b/libb.so.1", "int b(void) { return 1; }", "-Wl,--version-script=" + place("one.map"));
  library("c/libb.so.1", "int b(void) { return 2; } int more;", "-Wl,--version-script=" + place("two.map"));
  EXPECT_EQ(source_of(gather(), "libb.so.1"), "c/libb.so.1");
}

// A file may be needed under a name other than its soname.
TEST_F(ClosureTest, EveryNameThatIsNeededIsThere) {
  library("b/libb.so.1", "int b(void) { return 1; }");
  fs::rename(place("b/libb.so.1"), place("b/libold.so"));
  library("b/libb.so.1", "int b(void) { return 1; }", "-Wl,-soname,libold.so");
  a_with("--enable-new-dtags -Wl,-rpath," + place("b")); // needs libold.so
  const auto closure = gather();
  ASSERT_TRUE(closure) << closure.error().message;
  std::map<std::string, std::string> names;
  for (const link::InstalledFile& file : closure->files)
    names[fs::path(file.path).filename()] = file.destination;
  EXPECT_EQ(names.count("libb.so.1"), 1u);
  EXPECT_EQ(names["libold.so"], "libb.so.1");
}

} // namespace
} // namespace xaas::build
