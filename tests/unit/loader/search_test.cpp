// The search for libraries, against that of this machine's own loader. As `ld.so --list` does, it loads and
// runs nothing; asked by a variable, as ldd asks, it also tells what it does not find.
#include <xaas/loader/loading.h>

#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <elf.h>
#include <gmock/gmock.h>

using namespace xaas;
using namespace xaas::loader;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

#ifdef __x86_64__
constexpr const char* arch = "x86_64";
constexpr const char* machine_loader = "/lib64/ld-linux-x86-64.so.2";
constexpr const char* other_target = "aarch64-linux-gnu";
#else
constexpr const char* arch = "aarch64";
constexpr const char* machine_loader = "/lib/ld-linux-aarch64.so.1";
constexpr const char* other_target = "x86_64-linux-gnu";
#endif

// A program that needs libmid.so, which needs libdeep.so.
class Search : public testing::Test {
protected:
  void SetUp() override {
    if (!fs::exists(machine_loader))
      GTEST_SKIP() << "SKIPPED: no " << machine_loader << " on this machine";
    write("deep.c", "int deep(void) { return 1; }");
    write("mid.c", "int deep(void); int mid(void) { return deep(); }");
    write("main.c", "int mid(void); void _start(void) { mid(); }");
    sh("clang-22 -fPIC -O1 -c deep.c mid.c main.c && clang-22 --target=" + std::string(other_target) +
       " -fPIC -c deep.c -o other.o && clang-22 -m32 -fPIC -c deep.c -o small.o || true");
    for (const char* directory : {"one", "two", "three", "bin"})
      fs::create_directories(path(directory));
  }

  fs::path path(const std::string& name) const { return directory_.path() / name; }
  void write(const std::string& name, const std::string& text) { ASSERT_TRUE(write_file(path(name), text)); }
  void sh(const std::string& command) const {
    const auto result = run_process({.arguments = {"sh", "-c", command}, .directory = directory_.path()});
    ASSERT_TRUE(result && result->exit_code == 0) << command << "\n" << (result ? result->output : "");
  }
  // `$D` in arguments is the test's directory.
  void link(const std::string& arguments) const {
    std::string whole = arguments;
    for (size_t at = 0; (at = whole.find("$D", at)) != std::string::npos;)
      whole.replace(at, 2, directory_.path().string());
    sh("ld.lld-22 " + whole);
  }
  void deep(const std::string& directory, const std::string& object = "deep.o") {
    fs::create_directories(path(directory));
    link("-shared " + object + " -soname libdeep.so -o " + directory + "/libdeep.so");
  }
  void mid(const std::string& directory, const std::string& arguments = "") {
    link("-shared mid.o -soname libmid.so --unresolved-symbols=ignore-all -L three -ldeep " + arguments +
         " -o " + directory + "/libmid.so");
  }
  void program(const std::string& arguments) {
    link("-pie main.o --dynamic-linker=" + std::string(machine_loader) +
         " --allow-shlib-undefined two/libmid.so " + arguments + " -o bin/main");
  }
  static std::string tag(const std::string& kind, const std::string& directories) {
    if (kind.empty())
      return "";
    return " '-rpath=" + directories + "'" +
           (kind == "RPATH" ? " --disable-new-dtags" : " --enable-new-dtags");
  }

  // It is there from the start.
  static bool is_loader(const std::string& name) {
    return fs::path(name).filename() == fs::path(machine_loader).filename();
  }

  // Where this machine's loader finds the libraries: by name, "not found" where it does not.
  std::map<std::string, std::string> of_machine(const std::string& library_path) const {
    const auto result =
        run_process({.arguments = {"env", "-u", "LD_PRELOAD", "LD_LIBRARY_PATH=" + library_path,
                                   "LD_TRACE_LOADED_OBJECTS=1", machine_loader, path("bin/main").string()},
                     .directory = directory_.path()});
    std::map<std::string, std::string> found;
    if (!result)
      return found;
    for (const std::string& line : split(result->output, '\n')) {
      const size_t arrow = line.find(" => ");
      if (const std::string alone = trim(line.substr(0, line.find(" (")));
          arrow == std::string::npos && alone.starts_with("/") && !is_loader(alone))
        found[alone] = alone; // was needed by its path
      if (arrow == std::string::npos)
        continue;
      const std::string place = line.substr(arrow + 4);
      found[trim(line.substr(0, arrow))] = trim(place.substr(0, place.find(" (")));
    }
    return found;
  }
  std::map<std::string, std::string> ours(const std::string& library_path,
                                          std::vector<std::string> hwcaps = {}) {
    Loader loader("/", arch, split(library_path, ':'), true);
    loader.settings().hwcaps = std::move(hwcaps);
    const auto program = loader.read(path("bin/main"));
    EXPECT_TRUE(program && *program);
    const auto loading = loader.load({{*program}});
    EXPECT_TRUE(loading) << loading.error().message;
    std::map<std::string, std::string> found;
    for (const auto& [name, object] : loading->needed)
      if (!is_loader(name))
        found[name] = object->place;
    for (const Missing& missing : loading->missing)
      found[missing.name] = "not found";
    return found;
  }
  // Paths may be written in several ways; links are followed.
  void expect_same(const std::string& what, const std::string& library_path = "",
                   const std::vector<std::string>& hwcaps = {}) {
    const auto canonical = [](std::map<std::string, std::string> found) {
      for (auto& [name, place] : found)
        if (place != "not found")
          place = fs::weakly_canonical(place);
      return found;
    };
    const auto expected = canonical(of_machine(library_path));
    EXPECT_FALSE(expected.empty()) << what;
    EXPECT_EQ(canonical(ours(library_path, hwcaps)), expected) << what;
  }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
};

// Each tag of the program with each of the library that it loads, with LD_LIBRARY_PATH and without, and with
// a library of another machine in the way.
TEST_F(Search, RpathRunpathAndLibraryPath) {
  for (const char* directory : {"one", "two", "three"})
    deep(directory);
  for (const std::string of_program : {"", "RPATH", "RUNPATH"})
    for (const std::string of_library : {"", "RPATH", "RUNPATH"}) {
      deep("three");
      mid("two", tag(of_library, "$D/three"));
      program(tag(of_program, "$D/two:$D/one"));
      for (const bool is_other : {false, true}) {
        deep("one");
        deep("three", is_other ? "other.o -m " +
                                     std::string(arch == std::string("x86_64") ? "aarch64elf" : "elf_x86_64")
                               : "deep.o");
        for (const std::string& library_path : {std::string(), path("one").string(), path("two").string()})
          expect_same("program " + of_program + ", library " + of_library + ", LD_LIBRARY_PATH " +
                          library_path + (is_other ? ", another machine" : ""),
                      library_path);
      }
    }
}

TEST_F(Search, Tokens) {
  deep("three");
  deep("here");
  fs::create_directories(path("two"));
  for (const std::string runpath :
       {"$ORIGIN/../here", "${ORIGIN}/../here", "$ORIGINAL/../here", "${ORIGIN/../here", "$ORIGIN_/../here",
        "$ORIGIN/../$NOTHING/../here", "/nowhere:$ORIGIN/../here/", "", ":", "here", "$D/here"}) {
    mid("two", tag("RUNPATH", runpath));
    program(tag("RUNPATH", "$ORIGIN/../two"));
    if (runpath == ":" || runpath == "here")
      continue; // depend on the present directory
    expect_same(runpath);
  }
  // $LIB is a directory of two words on Debian.
  const std::string lib = directories_of("/", arch).lib;
  deep("here/" + lib);
  mid("two", tag("RUNPATH", "$D/here/$LIB:$D/here/${LIB}x"));
  program(tag("RUNPATH", "$ORIGIN/../two"));
  expect_same("$LIB");
}

// $ORIGIN of a library is the directory by whose name it was found, also where its file is a link to another
// one.
TEST_F(Search, OriginOfALink) {
  deep("three");
  deep("view/deep");
  deep("store/deep");
  fs::create_directories(path("store/lib"));
  mid("two");
  mid("store/lib", tag("RUNPATH", "$ORIGIN/../deep"));
  fs::create_directories(path("view/lib"));
  fs::create_symlink(path("store/lib/libmid.so"), path("view/lib/libmid.so"));
  program(tag("RUNPATH", "$D/view/lib"));
  expect_same("file");
  EXPECT_THAT(ours("").at("libdeep.so"), HasSubstr("/view/lib/../deep/"));
  fs::remove_all(path("view/lib"));
  fs::create_directories(path("view/lib")); // and a link with ".."
  fs::create_symlink("../../store/lib/libmid.so", path("view/lib/libmid.so"));
  expect_same("upwards");
  fs::remove_all(path("view/lib"));
  fs::create_directory_symlink(path("store/lib"), path("view/lib"));
  expect_same("directory");
}

TEST_F(Search, WhatIsLoadedServesAllWhoNameIt) {
  deep("one");
  deep("three");
  mid("two", tag("RUNPATH", "$D/three"));
  program("--no-as-needed one/libdeep.so" + tag("RUNPATH", "$D/one:$D/two"));
  expect_same("by the program first");
  // By the soname, under another file's name: the program was linked with one that had it as its soname.
  link("-shared deep.o -soname libother.so -o one/libother.so");
  program("--no-as-needed one/libother.so" + tag("RUNPATH", "$D/one:$D/two"));
  fs::rename(path("one/libdeep.so"), path("one/libother.so"));
  EXPECT_FALSE(of_machine("").contains("libdeep.so")) << "it names each file once";
  EXPECT_EQ(ours("").at("libdeep.so"), of_machine("").at("libother.so"));
}

TEST_F(Search, NoDefaultDirectories) {
  deep("three");
  for (const std::string flag : {"", "-z nodefaultlib"}) {
    // Of the C library's own, which the defaults have everywhere.
    link("-shared mid.o -soname libmid.so --unresolved-symbols=ignore-all --no-as-needed -l:libm.so.6 " +
         flag + " -L /lib/" + std::string(arch) + "-linux-gnu -L /lib64 -L /usr/lib -o two/libmid.so");
    program(tag("RUNPATH", "$D/two"));
    const auto machine = of_machine("");
    expect_same(flag);
    EXPECT_EQ(machine.at("libm.so.6") == "not found", !flag.empty());
  }
}

TEST_F(Search, NamesWithSlashes) {
  deep("three");
  link("-shared deep.o -o one/libplain.so"); // without a soname it is needed by its path
  write("use.c", "int deep(void); void _start(void) { deep(); }");
  sh("clang-22 -fPIC -O1 -c use.c");
  link("-pie use.o $D/one/libplain.so --dynamic-linker=" + std::string(machine_loader) + " -o bin/main");
  expect_same("absolute");
}

TEST_F(Search, AFileThatIsNoLibraryEndsTheSearch) {
  deep("three");
  deep("one");
  mid("two", tag("RUNPATH", "$D/four:$D/one"));
  program(tag("RUNPATH", "$D/two"));
  fs::create_directories(path("four"));
  write("four/libdeep.so", "INPUT(-ldeep)\n" + std::string(100, ' '));
  EXPECT_EQ(ours("").at("libdeep.so"), "not found");
  EXPECT_FALSE(of_machine("").contains("libdeep.so")) << "it reports the invalid file, and ends";
  ASSERT_TRUE(fs::remove(path("four/libdeep.so")));
  expect_same("without it");
}

#ifdef __x86_64__
TEST_F(Search, LibrariesForThisCpu) {
  deep("three");
  deep("one");
  deep("one/glibc-hwcaps/x86-64-v2");
  mid("two", tag("RUNPATH", "$D/one"));
  program(tag("RUNPATH", "$D/two"));
  if (!__builtin_cpu_supports("x86-64-v2"))
    GTEST_SKIP() << "SKIPPED: a CPU of the first level";
  expect_same("v2", "", {"x86-64-v2"});
  EXPECT_THAT(ours("").at("libdeep.so"), HasSubstr("/one/libdeep.so")); // as for any CPU
}
#endif

// A tree is separate from this machine: its absolute links stay inside the tree.
TEST_F(Search, InATreeWithMergedUsr) {
  deep("three");
  fs::create_directories(path("tree/usr/lib/" + std::string(arch) + "-linux-gnu"));
  fs::create_directories(path("tree/opt/app"));
  fs::create_directory_symlink("usr/lib", path("tree/lib"));
  fs::create_symlink("/usr/lib/" + std::string(arch) + "-linux-gnu/libdeep.so.1",
                     path("tree/opt/app/libdeep.so"));
  link("-shared deep.o -soname libdeep.so -o tree/usr/lib/" + std::string(arch) + "-linux-gnu/libdeep.so.1");
  mid("two", tag("RUNPATH", "/opt/app"));
  program(tag("RUNPATH", "/opt/app"));
  fs::rename(path("two/libmid.so"), path("tree/opt/app/libmid.so"));
  fs::rename(path("bin/main"), path("tree/opt/app/main"));
  Loader loader(path("tree"), arch, {}, true);
  const auto program = loader.read("/opt/app/main");
  ASSERT_TRUE(program && *program);
  const auto loading = loader.load({{*program}});
  ASSERT_TRUE(loading) << loading.error().message;
  EXPECT_TRUE(loading->missing.empty());
  EXPECT_EQ(loading->needed.at("libdeep.so")->library->path,
            "/usr/lib/" + std::string(arch) + "-linux-gnu/libdeep.so.1");
  EXPECT_EQ(loading->needed.at("libdeep.so")->place, "/opt/app/libdeep.so");
  EXPECT_EQ(loading->objects.size(), 3u);
}

} // namespace
