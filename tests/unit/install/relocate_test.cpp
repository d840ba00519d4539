// Programs and libraries with other paths, started by the kernel of this machine.
#include "relocate.h"

#include <xaas/base/file.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/loader/dynamic.h>
#include <xaas/target/cpu.h>

#include <gmock/gmock.h>

#include <functional>

using namespace xaas;
using namespace xaas::install;
using testing::HasSubstr;

namespace {

class Relocate : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    // A path that is longer than any in the file.
    root_ = directory_.path() / std::string(200, 'd');
    ASSERT_TRUE(make_directories(root_ / "lib"));
    write("level.c", "int level(void) { return 7; }\n");
    write("main.c", "#define _GNU_SOURCE\n#include <stdio.h>\n"
                    "#include <unistd.h>\n"
                    "#include <link.h>\n"
                    "int level(void);\n"
                    "__thread int local = 3;\n"
                    "static char memory[SIZE];\n"
                    "static int count(struct dl_phdr_info* info, size_t size, void* data) {\n"
                    "  (void)size; *(int*)data += info->dlpi_phnum > 2; return 0; }\n"
                    "int main(int argc, char** argv) {\n"
                    "  char path[4096] = \"\"; int objects = 0;\n"
                    "  dl_iterate_phdr(count, &objects);\n"
                    "  memory[sizeof memory - 1] = 1;\n"
                    "  if (readlink(\"/proc/self/exe\", path, sizeof path - 1) < 0) return 1;\n"
                    "  printf(\"%d %d %d %d %s %s\\n\", level(), local, argc, objects > 2, argv[0], path);\n"
                    "  return memory[0]; }\n");
    compile("-shared -fPIC -Wl,-soname,liblevel.so level.c -o lib/liblevel.so");
  }

  fs::path path(const std::string& name) const { return root_ / name; }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(write_file(path(name), text));
  }
  ProcessResult sh(const std::string& command) const {
    Result<ProcessResult> result = run_process(
        {.arguments = {"sh", "-c", command}, .directory = root_, .environment = {{"LC_ALL", "C"}}});
    EXPECT_TRUE(result);
    return result ? *result : ProcessResult{};
  }
  void compile(const std::string& arguments) const {
    const ProcessResult result = sh(std::string(XAAS_TEST_CLANG) + " -O1 " + arguments);
    ASSERT_EQ(result.exit_code, 0) << result.output;
  }
  std::string content(const std::string& name) const {
    const Result<std::string> text = read_file(path(name));
    EXPECT_TRUE(text);
    return text ? *text : "";
  }

  // Gives the program a loader in this directory, and `rpath`; returns what it prints.
  std::string output_of(const std::vector<std::string>& rpath) const {
    const std::string before = content("program");
    const Result<loader::Dynamic> old = loader::read_dynamic(before);
    if (!old)
      return "unreadable";
    std::error_code code;
    fs::copy_file(old->interpreter, path("lib/loader"), fs::copy_options::overwrite_existing, code);
    const Result<std::string> made = relocate(before, {.interpreter = path("lib/loader"), .rpath = rpath});
    if (!made)
      return made.error().message;
    constexpr unsigned executable = 0755;
    EXPECT_TRUE(write_file(path("made"), *made, executable));
    const Result<loader::Dynamic> now = loader::read_dynamic(*made);
    EXPECT_TRUE(now);
    if (now) {
      EXPECT_EQ(now->interpreter, path("lib/loader"));
      EXPECT_EQ(now->runpath, rpath);
      EXPECT_TRUE(rpath.empty() || now->rpath_is_first);
      EXPECT_EQ(now->needed, old->needed);
      EXPECT_EQ(now->needed_versions, old->needed_versions);
    }
    const ProcessResult seen = sh("readelf -lSdW made 2>&1 >readelf.out; exec ./made x 2>&1");
    return seen.output;
  }
  std::string expected() const { return "7 3 2 1 ./made " + path("made").string() + "\n"; }

  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  fs::path root_;
};

// Other linkers and options put the tables in other places.
TEST_P(Relocate, ProgramsRun) {
  std::string long_path = "nothing";
  for (int i = 0; i < 15; ++i)
    long_path += "/" + std::string(200, 'n');
  for (const char* size : {"1", "100000", "300000000"}) {
    compile(std::string("-DSIZE=") + size + " " + GetParam() + " main.c lib/liblevel.so -o program");
    EXPECT_EQ(output_of({path("lib")}), expected()) << size;
    EXPECT_EQ(output_of({"$ORIGIN/lib"}), expected()) << size;
    EXPECT_EQ(output_of({path(long_path), path("lib")}), expected()) << size;
    EXPECT_THAT(output_of({}), HasSubstr("liblevel.so")) << size; // not found
    EXPECT_LT(fs::file_size(path("made")), fs::file_size(path("program")) + (uint64_t(2) << 20)) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Linked, Relocate,
                         testing::Values("", "-no-pie", "-fuse-ld=lld", "-fuse-ld=lld -no-pie",
                                         "-fuse-ld=lld -Wl,-rpath,/some/where", "-Wl,-rpath,/some/where -s",
                                         "-fuse-ld=lld -Wl,-z,now -s -Wl,-z,pack-relative-relocs",
                                         "-Wl,-z,noseparate-code",
                                         "-fuse-ld=lld -Wl,-z,max-page-size=65536"));

using RelocateOthers = Relocate;

TEST_F(RelocateOthers, ALibraryFindsItsOwnFirst) {
  write("level.c", "int level(void) { return 8; }\n");
  ASSERT_TRUE(make_directories(path("own")));
  compile("-shared -fPIC -Wl,-soname,liblevel.so level.c -o own/liblevel.so");
  write("outer.c", "int level(void); int outer(void) { return level(); }\n");
  compile("-shared -fPIC outer.c -Wl,-rpath,/elsewhere own/liblevel.so -o outer.so");
  const Result<std::string> made = relocate(content("outer.so"), {.interpreter = "", .rpath = {path("own")}});
  ASSERT_TRUE(made) << made.error().message;
  write("outer.so", *made);
  write("user.c", "#include <stdio.h>\nint outer(void); int main(void) { return outer(); }\n");
  compile("user.c outer.so -Wl,--unresolved-symbols=ignore-in-shared-libs -Wl,-rpath,$PWD -o user");
  EXPECT_EQ(sh("LD_LIBRARY_PATH=lib ./user").exit_code, 8);
}

TEST_F(RelocateOthers, TwiceIsPossible) {
  compile("-DSIZE=1 main.c lib/liblevel.so -o program");
  EXPECT_EQ(output_of({path("nothing")}).find(expected()), std::string::npos);
  fs::rename(path("made"), path("program"));
  const std::string once = content("program");
  const Result<std::string> twice =
      relocate(once, {.interpreter = path("lib/loader"), .rpath = {path("lib")}});
  ASSERT_TRUE(twice) << twice.error().message;
  constexpr unsigned executable = 0755;
  ASSERT_TRUE(write_file(path("made"), *twice, executable));
  EXPECT_EQ(sh("./made x").output, expected());
}

TEST_F(RelocateOthers, RefusesWhatHasNoPaths) {
  write("static.c", "int main(void) { return 0; }\n");
  compile("-static static.c -o program");
  const Result<std::string> made = relocate(content("program"), {.interpreter = "/lib/loader", .rpath = {}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::unsatisfied);
  EXPECT_FALSE(relocate("#!/bin/sh\n", {}));
  // A program that reads the end of its file.
  compile("-DSIZE=1 main.c lib/liblevel.so -o program");
  const std::string program = content("program");
  EXPECT_TRUE(relocate(program + std::string(7, '\0'), {.interpreter = "/lib/loader", .rpath = {}}));
  const Result<std::string> appended =
      relocate(program + "PAYLOAD", {.interpreter = "/lib/loader", .rpath = {}});
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().kind, ErrorKind::unsatisfied);
}

// Every cut and every changed byte of the headers is refused, or gives a file that is read without a crash.
TEST_F(RelocateOthers, SurvivesDamage) {
  compile("-DSIZE=1 main.c lib/liblevel.so -Wl,-rpath,/some/where -o program");
  const std::string whole = content("program");
  const OwnPaths paths{.interpreter = "/lib/loader", .rpath = {"/lib"}};
  for (size_t size = 0; size < whole.size(); size += 97)
    static_cast<void>(relocate(whole.substr(0, size), paths));
  constexpr size_t headers = 64 + 16 * 56;
  for (size_t at = 0; at < headers; ++at)
    for (const int value : {0x00, 0x01, 0x7f, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(value);
      if (const Result<std::string> made = relocate(damaged, paths))
        EXPECT_LT(made->size(), damaged.size() + (uint64_t(4) << 20));
    }
}

} // namespace
