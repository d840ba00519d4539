// Which libraries of the machine a configuration's programs bring, in trees as Spack and modules make them.
#include "closure.h"

#include <xaas/target/cpu.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>

namespace xaas::build {
namespace {

using ::testing::ElementsAre;
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
    ClosureInput input{target::host_arch(), {program_}, {}, extras_, sysroot_, library_path};
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
  std::vector<std::string> extras_;
  fs::path sysroot_;
};

// The files of a closure by their paths.
std::map<std::string, link::InstalledFile> by_path(const Result<Closure>& closure) {
  EXPECT_TRUE(closure) << closure.error().message;
  std::map<std::string, link::InstalledFile> files;
  if (closure)
    for (const link::InstalledFile& file : closure->files)
      files[file.path] = file;
  return files;
}

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

// The loader is put where programs look for it; libraries without a program get the usual one.
TEST_F(ClosureTest, TheLoaderComesWithTheCLibrary) {
  const std::string loader =
      target::host_arch() == "x86_64" ? "/lib64/ld-linux-x86-64.so.2" : "/lib/ld-linux-aarch64.so.1";
  if (!fs::exists(loader))
    GTEST_SKIP() << "SKIPPED: no " << loader << " on this machine";
  program_.dynamic.interpreter = loader;
  auto files = by_path(gather());
  ASSERT_TRUE(files.contains(loader.substr(1)));
  EXPECT_EQ(files.at(loader.substr(1)).mode, 0755u);

  program_ = {"/usr/lib/libown.so.1", {}, {}};
  EXPECT_TRUE(by_path(gather()).empty());
  program_.dynamic.needed = {"libc.so.6"};
  files = by_path(gather());
  EXPECT_TRUE(files.contains(loader.substr(1)));
  const auto is_loader = [&](const auto& file) {
    return fs::path(file.first).filename() == fs::path(loader).filename();
  };
  EXPECT_EQ(std::count_if(files.begin(), files.end(), is_loader), 1);
}

// No program here needs them, but the library of a GPU's driver does, which a host brings.
TEST_F(ClosureTest, TheCLibraryIsComplete) {
  program_ = {"/usr/lib/libown.so.1", {}, {}};
  program_.dynamic.needed = {"libc.so.6"};
  std::set<std::string> names;
  for (const auto& [path, file] : by_path(gather()))
    names.insert(fs::path(path).filename());
  for (const char* name : {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_FALSE(names.contains("libthread_db.so.1"));
}

TEST_F(ClosureTest, ExtrasComeWithWhatTheyNeed) {
  program_ = {"/usr/bin/program", {}, {}};
  library("plugins/deep/libplugin.so", "int b(void); int plugin(void) { return b(); }",
          place("b/libb.so.1") + " -Wl,-rpath," + place("b"));
  ASSERT_TRUE(write_file(place("plugins/data"), "data"));
  fs::create_symlink("deep/libplugin.so", place("plugins/current.so"));
  extras_ = {place("plugins")};
  const auto closure = gather();
  const auto files = by_path(closure);
  const std::string root = place("plugins").substr(1);
  ASSERT_TRUE(files.contains(root + "/deep/libplugin.so"));
  ASSERT_TRUE(files.contains(root + "/data"));
  EXPECT_EQ(files.at(root + "/data").mode, 0644u);
  ASSERT_TRUE(files.contains(root + "/current.so"));
  EXPECT_EQ(files.at(root + "/current.so").destination, "deep/libplugin.so");
  EXPECT_EQ(source_of(closure, "libb.so.1"), "b/libb.so.1");
  // A link brings the file it leads to.
  extras_ = {place("plugins/current.so")};
  EXPECT_EQ(by_path(gather()).count(root + "/deep/libplugin.so"), 1u);
  extras_ = {place("plugins/none")};
  const auto missing = gather();
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("run-time file of the application spec"));
  EXPECT_THAT(missing.error().message, HasSubstr("plugins/none"));
}

// Every absolute path in a file of a sysroot is a path of the sysroot.
TEST_F(ClosureTest, LibrariesOfASysroot) {
  sysroot_ = fs::canonical(directory_.path()) / "sysroot";
  library("sysroot/opt/b/libb.so.1", "int b(void) { return 5; }");
  library("sysroot/opt/a/liba.so.1", "int b(void); int a(void) { return b(); }",
          place("b/libb.so.1") + " -Wl,--enable-new-dtags,-rpath,/opt/b:" + place("b"));
  library("sysroot/opt/plugins/libplugin.so", "int plugin;");
  program_.libraries = {{"liba.so.1", place("sysroot/opt/a/liba.so.1")}};
  program_.dynamic.needed = {"liba.so.1"};
  EXPECT_EQ(source_of(gather({place("b")}), "libb.so.1"), "sysroot/opt/b/libb.so.1");
  // This machine's directories do not count, but the usual ones and those of the configuration below the
  // sysroot do.
  ASSERT_TRUE(make_directories(sysroot_ / "usr/lib"));
  fs::rename(sysroot_ / "opt/b/libb.so.1", sysroot_ / "usr/lib/libb.so.1");
  EXPECT_EQ(source_of(gather({place("b")}), "libb.so.1"), "sysroot/usr/lib/libb.so.1");
  ASSERT_TRUE(make_directories(sysroot_ / "usr/odd"));
  fs::rename(sysroot_ / "usr/lib/libb.so.1", sysroot_ / "usr/odd/libb.so.1");
  ASSERT_TRUE(make_directories(sysroot_ / "etc"));
  ASSERT_TRUE(write_file(sysroot_ / "etc/ld.so.conf", "/usr/odd\n"));
  EXPECT_EQ(source_of(gather(), "libb.so.1"), "sysroot/usr/odd/libb.so.1");
  ASSERT_TRUE(fs::remove(sysroot_ / "etc/ld.so.conf"));
  EXPECT_FALSE(gather());
  program_.dynamic.needed.clear();
  program_.libraries.clear();
  fs::create_symlink("/opt/plugins",
                     sysroot_ / "usr/plugins"); // leads out, but not for the sysroot's own programs
  extras_ = {"/usr/plugins"};
  const auto files = by_path(gather());
  ASSERT_TRUE(files.contains("usr/plugins"));
  EXPECT_EQ(files.at("usr/plugins").destination, "/opt/plugins");
  EXPECT_TRUE(files.contains("opt/plugins/libplugin.so"));
  // A library that a link read elsewhere finds others beside it.
  extras_.clear();
  program_.libraries = {{"libc_user.so.1", place("c/libc_user.so.1")}};
  program_.dynamic.needed = {"libc_user.so.1", "libb.so.1"};
  EXPECT_EQ(source_of(gather(), "libb.so.1"), "c/libb.so.1");
}

TEST_F(ClosureTest, LibrariesThatLoadOthersAreNamed) {
  library("b/libb.so.1", "void *dlopen(const char *, int); int b(void) { return dlopen(0, 0) != 0; }");
  const auto closure = gather();
  ASSERT_TRUE(closure) << closure.error().message;
  EXPECT_THAT(closure->loaders, ElementsAre("libb.so.1"));
}

// Development packages have linker scripts under the names of libraries.
TEST_F(ClosureTest, FilesThatAreNoLibraries) {
  ASSERT_TRUE(write_file(place("b/libb.so.1"), "INPUT(-lb)\n" + std::string(100, ' ')));
  const auto found = gather();
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("b/libb.so.1, which is not a library"));
  program_.libraries["liba.so.1"] = place("b/libb.so.1");
  const auto read = gather();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::failed);
  EXPECT_THAT(read.error().message, HasSubstr("b/libb.so.1, which /usr/bin/program needs"));
}

} // namespace
} // namespace xaas::build
