// The front door as builds use it: probes, ways to call a compiler, links, and files that are changed
// afterwards.
#include "frontdoor/testing.h"

#include <xaas/base/directory.h>
#include <xaas/base/text.h>
#include <xaas/frontdoor/start_files.h>
#include <xaas/harvest/harvest.h>

#include <gmock/gmock.h>

#include <regex>

namespace xaas::frontdoor {

namespace {

const std::string hello = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n";

class FrontDoor : public FrontDoorTest {
protected:
  // Expects clang's output on both streams, and its exit code. The number of predefined macros is 1.
  void expect_same(const std::string& arguments) {
    const ProcessResult ours = try_sh("$CC " + arguments);
    const ProcessResult theirs = try_sh("$CLANG " + arguments);
    EXPECT_EQ(ours.exit_code, theirs.exit_code) << arguments;
    static const std::regex number("\n# [0-9]+ \"<built-in>\"");
    EXPECT_EQ(ours.output, std::regex_replace(theirs.output, number, "\n# 1 \"<built-in>\"")) << arguments;
  }
};

TEST_F(FrontDoor, AnswersProbesAsClang) {
  write("src/a.c", hello);
  use_level(""); // with a level, predefined macros differ
  for (const char* arguments : {"--version",
                                "-v",
                                "-dumpmachine",
                                "-dumpversion",
                                "-print-search-dirs",
                                "-print-resource-dir",
                                "-print-prog-name=ld",
                                "-print-file-name=crt1.o",
                                "-print-multi-os-directory",
                                "-dM -E -x c /dev/null",
                                "-E a.c",
                                "-M a.c",
                                "-MM a.c",
                                "-fsyntax-only a.c",
                                "-S a.c -o -",
                                "",
                                "--help-no-such",
                                "no-such-file.c",
                                "-c a.c -o no/such/directory/a.o",
                                "-Wno-such-warning -Werror -fsyntax-only a.c"})
    expect_same(arguments);
}

// LLVM's back ends are registered for this question, too. There are fewer than Clang's.
TEST_F(FrontDoor, ListsItsTargets) {
  const std::string targets = sh("$CC -print-targets");
  for (const char* name : {"x86-64 ", "aarch64 ", "nvptx64 ", "amdgcn "})
    EXPECT_THAT(targets, testing::HasSubstr(name));
}

// libc.a has resolvers; the others run on every CPU.
TEST_F(FrontDoor, KnowsStartFiles) {
  const auto files = start_files(session_);
  ASSERT_TRUE(files) << files.error().message;
  const auto is_start_file = [&](const std::string& name) {
    const auto content = read_file(trim(sh("$CLANG -print-file-name=" + name)));
    EXPECT_TRUE(content) << name;
    return content && files->contains(digest_of(*content));
  };
  for (const char* name : {"crt1.o", "Scrt1.o", "rcrt1.o", "gcrt1.o", "crti.o", "crtn.o", "crtbegin.o",
                           "crtbeginS.o", "crtbeginT.o", "crtend.o", "crtendS.o", "crtfastmath.o", "libgcc.a",
                           "libgcc_eh.a", "libc_nonshared.a"})
    EXPECT_TRUE(is_start_file(name)) << name;
  for (const char* name : {"libc.a", "libm-2.36.a", "libstdc++.a", "libpthread.a"})
    if (fs::path(trim(sh(std::string("$CLANG -print-file-name=") + name))).is_absolute())
      EXPECT_FALSE(is_start_file(name)) << name;
  EXPECT_FALSE(is_start_file("libc.a"));
}

TEST_F(FrontDoor, ShowsItsCommands) {
  write("src/a.c", hello);
  EXPECT_NE(sh("$CC -### -c a.c").find("\"-target-cpu\" \"x86-64\""), std::string::npos);
  const std::string link = sh("$CC -v a.c -o ../build/a");
  EXPECT_NE(link.find(" -L/"),
            std::string::npos); // where CMake reads the implicit directories; as clang shows them
  const std::string compile = sh("$CLANG -v -c a.c -o ../build/b.o");
  EXPECT_EQ(compile.find(" \"-cc1\""), std::string::npos);
  EXPECT_EQ(sh("$CC -v -c a.c -o ../build/a.o").find(" \"-cc1\""), std::string::npos);
  EXPECT_NE(link.find("crt1.o"), std::string::npos);
}

TEST_F(FrontDoor, ReportsErrorsAsClang) {
  write("src/wrong.c", "int f(void) { return x; }\n#warning noted\n");
  write("src/unused.c", "static int f(void) { return 1; }\nint g;\n");
  write("src/asm.c", "void f(void) { __asm__ volatile(\"nonsense %eax\"); }\n");
  use_level("");
  expect_same("-c wrong.c -o ../build/wrong.o");
  EXPECT_FALSE(fs::exists(path("build/wrong.o")));
  expect_same("-Wall -Werror -c unused.c -o ../build/unused.o");
  expect_same("-Wall -Wno-such-warning -c unused.c -o ../build/unused.o");
  expect_same("-O2 -c asm.c -o ../build/asm.o");
  EXPECT_FALSE(fs::exists(path("build/asm.o")));
}

TEST_F(FrontDoor, CompilesAndLinksInOneCommand) {
  write("src/a.c", "int f(void);\nint main(void) { return f(); }\n");
  write("src/b.c", "int f(void) { return 7; }\n");
  sh("$CC a.c b.c -o ../build/program && ../build/program", 7);
  EXPECT_EQ(notes_of("build/program").size(), 3u); // two units and the link
  sh("cd ../build && $CC -c ../src/a.c ../src/b.c && $CC a.o b.o && ./a.out", 7);
  EXPECT_EQ(unit_of("build/b.o").source, "b.c");
}

TEST_F(FrontDoor, ReadsResponseFilesAndStandardInput) {
  write("src/a.c", hello);
  write("src/args", "-O2 -DNAME='a b'\n-c a.c -o ../build/a.o");
  sh("$CC @args");
  EXPECT_TRUE(is_captured("build/a.o"));
  sh("$CC -O2 -x c - -c -o ../build/in.o < a.c");
  EXPECT_TRUE(is_captured("build/in.o"));
  sh("cat a.c | $CC -x c - -o ../build/in && ../build/in");
}

TEST_F(FrontDoor, WritesDependencyFiles) {
  write("src/a.h", "#define A 1\n");
  write("src/a.c", "#include \"a.h\"\nint a = A;\n");
  sh("$CC -MD -MP -MF ../build/a.d -MT target -c a.c -o ../build/a.o");
  EXPECT_EQ(read("build/a.d"), "target: a.c a.h\na.h:\n");
  sh("$CC -MMD -c a.c -o ../build/b.o");
  EXPECT_EQ(read("build/b.d"), "../build/b.o: a.c a.h\n");
}

TEST_F(FrontDoor, FindsItsSessionInACleanEnvironment) {
  write("src/a.c", hello);
  sh("env -i $CC -c a.c -o ../build/a.o && env -i PATH=$SESSION/tools:/usr/bin clang a.c -o ../build/a && "
     "../build/a");
  EXPECT_TRUE(is_captured("build/a.o"));
  const std::string refused = sh("ln -s $(readlink $CC) ../build/clang && env -i ../build/clang -c a.c", 2);
  EXPECT_NE(refused.find("outside a build"), std::string::npos) << refused;
}

TEST_F(FrontDoor, LinksWhatOnlyOptimizedCodeLinks) {
  // Each of these has an undefined reference that the project's own -O removes.
  write("src/inline.c",
        "inline int twice(int a) { return 2 * a; }\nint main(int n, char** v) { return twice(n) - 2; }\n");
  write("src/constant.c",
        "extern int never(void);\nint main(void) { return __builtin_constant_p(3 + 4) ? 0 : never(); }\n");
  write("src/dead.c",
        "extern int never(void);\nstatic int zero(void) { int a[2] = {0, 0}; return a[0] + a[1]; }\n"
        "int main(void) { if (zero()) return never(); return 0; }\n");
  write("src/operand.c",
        "static inline int put(int n) { int a; __asm__(\"movl %1, %0\" : \"=r\"(a) : \"i\"(n)); return a; }\n"
        "int main(void) { return put(0); }\n");
  for (const char* name : {"inline", "constant", "dead", "operand"})
    sh(std::string("$CC -O2 -c ") + name + ".c -o ../build/" + name + ".o && $CC ../build/" + name +
       ".o -o ../build/" + name + " && ../build/" + name);
  // The same in an archive.
  write("src/main.c", "int entry(void);\nint main(void) { return entry(); }\n");
  sh("$CC -O2 -Dmain=entry -c dead.c -o ../build/dead.o && $CC -O2 -c main.c -o ../build/main.o && ar rcs "
     "../build/libdead.a ../build/dead.o && "
     "$CC ../build/main.o -L../build -ldead -o ../build/archived && ../build/archived");
}

// This also repeats the links of earlier outputs.
TEST_F(FrontDoor, LinksLibrariesThatOnlyOptimizedCodeLinks) {
  write("src/lib.c",
        "extern int never(void);\nstatic int zero(void) { int a[2] = {0, 0}; return a[0] + a[1]; }\n"
        "int lib(void) { return zero() ? never() : 0; }\n");
  write("src/main.c", "int lib(void);\nint main(void) { return lib(); }\n");
  sh("$CC -O2 -fPIC -shared lib.c -o ../build/libx.so && $CC -O2 main.c -L../build -lx -Wl,-rpath,'$ORIGIN' "
     "-o ../build/a && ../build/a");
  sh("$CC -O2 -c lib.c -o ../build/lib.o && $LD -r ../build/lib.o -o ../build/r.o && $CC -O2 main.c "
     "../build/r.o -o ../build/b && ../build/b");
}

TEST_F(FrontDoor, SaysWhatIsUndefined) {
  write("src/a.c", "int missing_function(void);\nint main(void) { return missing_function(); }\n");
  EXPECT_NE(sh("$CC -O2 a.c -o ../build/a", 1).find("undefined symbol: missing_function"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("build/a")));
}

TEST_F(FrontDoor, Archives) {
  write("src/a.c", "int f(void);\nint main(void) { return f(); }\n");
  write("src/b.c", "int f(void) { return 7; }\n");
  sh("$CC -c a.c -o ../build/a.o && $CC -c b.c -o ../build/b.o && cd ../build && ar rcs libb.a b.o && ar "
     "rcsT libthin.a b.o && "
     "$CC a.o libb.a -o one && $CC a.o libthin.a -o two");
  sh("../build/one", 7);
  sh("../build/two", 7);
  // The link record has the archives as records of their members, not as files.
  EXPECT_EQ(notes_of("build/two").size(), 3u);
}

TEST_F(FrontDoor, RelocatableLinks) {
  write("src/a.c", "int f(void);\nint main(void) { return f(); }\n");
  write("src/b.c", "int f(void) { return 7; }\n");
  sh("$CC -c a.c -o ../build/a.o && $CC -c b.c -o ../build/b.o && $LD -r ../build/a.o ../build/b.o -o "
     "../build/ab.o && "
     "$CC ../build/ab.o -o ../build/ab && ../build/ab",
     7);
  EXPECT_NE(sh("$LD --version").find("GNU"), std::string::npos);
}

TEST_F(FrontDoor, SharedLibrariesAndRunPaths) {
  write("src/a.c", "int f(void);\nint main(void) { return f(); }\n");
  write("src/b.c", "int f(void) { return 7; }\n");
  sh("$CC -fPIC -shared b.c -Wl,-soname,libb.so.1 -o ../build/libb.so.1 && ln -s libb.so.1 ../build/libb.so "
     "&& "
     "$CC a.c -L../build -lb -Wl,-rpath,'$ORIGIN' -o ../build/a && ../build/a",
     7);
  sh("strip ../build/a -o ../build/stripped && ../build/stripped", 7);
  // As installed files: both are our links, and stripping is detected.
  sh("mkdir ../dest && cp -a ../build/libb.so.1 ../build/libb.so ../build/stripped ../dest");
  const auto files = harvest::harvest(session_, path("dest"));
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_EQ(files->size(), 3u);
  EXPECT_EQ((*files)[0].kind, link::InstalledFile::Kind::symlink);
  EXPECT_EQ((*files)[1].kind, link::InstalledFile::Kind::link);
  ASSERT_EQ((*files)[2].kind, link::InstalledFile::Kind::link);
  EXPECT_EQ((*files)[2].finish->strip, link::Finish::Strip::all);
  EXPECT_EQ((*files)[2].finish->runpath, "$ORIGIN");
}

TEST_F(FrontDoor, RelocatableLinksMayBeStripped) {
  write("src/p.c",
        "#include <stdio.h>\nint q(int);\nstatic const char* const names[] = {\"a\", \"b\"};\n"
        "static __thread int mine;\nstatic int s(int a) { puts(names[a & 1]); return a + ++mine; }\n"
        "int p(int a) { return q(a) + s(a); }\n");
  write("src/q.c", "static int sum;\nint q(int a) { return sum += a; }\n");
  write("src/main.c", "int p(int);\nint main(void) { return p(3) == 7 ? 0 : 1; }\n");
  for (const char* flags : {"-O0", "-g -O1", "-O2 -ffunction-sections -fdata-sections", "-g -O0 -fcommon"})
    for (const char* strip :
         {"true", "strip --strip-debug", "strip --strip-unneeded", "llvm-strip-22 --strip-debug"})
      sh(std::string("cd ../build && $CC -c ") + flags +
         " ../src/p.c ../src/q.c && $LD -r p.o q.o -o pq.o && " + strip +
         " pq.o && $CC ../src/main.c pq.o -o main && ./main");
}

TEST_F(FrontDoor, ChangedFilesAreRefused) {
  write("src/a.c", "int f(void);\nint main(void) { return f(); }\n");
  write("src/b.c", "int g(void) { return 7; }\n");
  sh("$CC -c a.c -o ../build/a.o && $CC -c b.c -o ../build/b.o && objcopy --redefine-sym g=f ../build/b.o");
  const std::string refused = sh("$CC ../build/a.o ../build/b.o -o ../build/a", 1);
  EXPECT_NE(refused.find("was changed"), std::string::npos) << refused;
  EXPECT_NE(refused.find("b.o"), std::string::npos) << refused;
}

TEST_F(FrontDoor, ChangedProgramsAreNotInstalled) {
  write("src/a.c", hello);
  sh("$CC -O2 a.c -o ../build/a");
  for (const char* change :
       {"printf payload >> a",
        "objcopy --dump-section .text=../text a && printf x | dd of=../text conv=notrunc 2>/dev/null && "
        "objcopy --update-section .text=../text a",
        "objcopy --add-section .more=../src/a.c --set-section-flags .more=alloc a"}) {
    sh(std::string("rm -rf ../dest; mkdir ../dest; cp ../build/a ../dest && cd ../dest && ") + change);
    const auto files = harvest::harvest(session_, path("dest"));
    ASSERT_FALSE(files) << change;
    EXPECT_EQ(files.error().kind, ErrorKind::failed) << change;
    EXPECT_NE(files.error().message.find("dest/a: was changed after it was"), std::string::npos)
        << files.error().message;
    EXPECT_NE(files.error().hint.find("strip"), std::string::npos) << files.error().hint;
  }
}

TEST_F(FrontDoor, ProgramsWithRightsOfTheirOwnAreNotInstalled) {
  write("src/a.c", hello);
  sh("$CC -O2 a.c -o ../build/a");
  for (const char* change :
       {"chmod u+s a", "chmod g+s a", "setcap cap_net_raw+ep a 2>/dev/null || chmod u+s a"}) {
    sh(std::string("rm -rf ../dest; mkdir ../dest; cp ../build/a ../dest && cd ../dest && ") + change);
    const auto files = harvest::harvest(session_, path("dest"));
    ASSERT_FALSE(files) << change;
    EXPECT_NE(files.error().message.find("/a: is installed with"), std::string::npos)
        << files.error().message;
  }
  // A directory may have these bits.
  sh("rm -rf ../dest; mkdir -m 2755 ../dest ../dest/d; chmod g+s ../dest/d; cp ../build/a ../dest/d");
  EXPECT_TRUE(harvest::harvest(session_, path("dest")));
}

TEST_F(FrontDoor, StrippedOfItsNoteAnObjectIsStillKnown) {
  write("src/a.c", hello);
  sh("$CC -c a.c -o ../build/a.o && $CC ../build/a.o -o ../build/a && objcopy -R .note.xaas ../build/a && "
     "mkdir ../dest && cp ../build/a ../dest");
  const auto files = harvest::harvest(session_, path("dest"));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->at(0).kind, link::InstalledFile::Kind::link);
}

TEST_F(FrontDoor, NativeObjects) {
  write("src/main.c", "int f(void); int g(void); int h(void);\nint main(void) { return f() + g() + h(); }\n");
  write("src/f.s", ".globl f\nf: movl $1, %eax\n ret\n.section .note.GNU-stack,\"\",@progbits\n");
  write("src/g.S",
        "#define VALUE 2\n.globl g\ng: movl $VALUE, %eax\n ret\n.section .note.GNU-stack,\"\",@progbits\n");
  write("src/h.c", "int h(void) { return 4; }\n");
  sh("for f in f.s g.S main.c; do $CC -c $f -o ../build/$f.o; done");
  sh("if command -v gcc > /dev/null; then gcc -c h.c -o ../build/h.o; else $CLANG -c h.c -o ../build/h.o; "
     "fi");
  sh("$CC ../build/*.o -o ../build/program && ../build/program", 7);
  EXPECT_FALSE(is_captured("build/f.s.o"));
  EXPECT_EQ(notes_of("build/program").size(), 2u); // main.c and the link
  const auto origins = harvest::kit_origins(session_);
  ASSERT_TRUE(origins) << origins.error().message;
  int of_build = 0;
  for (const auto& [digest, origin] : *origins)
    of_build += origin.of_build;
  EXPECT_EQ(of_build, 3);
}

TEST_F(FrontDoor, OptionsThatIrCannotCarryMakeNativeObjects) {
  write("src/a.c", "int f(int a) { return a + 1; }\n");
  for (const char* flags :
       {"-fsanitize=undefined", "--coverage", "-fprofile-generate", "-mllvm -inline-threshold=10", "-m32"}) {
    sh(std::string("rm -f ../build/a.o; $CC -O2 ") + flags + " -c a.c -o ../build/a.o");
    EXPECT_TRUE(link::find_note_bytes(read("build/a.o")).empty()) << flags;
    const auto files = (sh("rm -rf ../dest; mkdir ../dest; cp ../build/a.o ../dest"),
                        harvest::harvest(session_, path("dest")));
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(files->at(0).kind, link::InstalledFile::Kind::file) << flags;
    const auto reasons = fs::directory_iterator(session_.directory / "native");
    EXPECT_NE(begin(reasons), end(reasons)) << flags;
    fs::remove_all(session_.directory / "native");
    fs::create_directories(session_.directory / "native");
  }
}

// As root, renaming an output into place would replace the device.
TEST_F(FrontDoor, DevicesStayWhatTheyAre) {
  write("src/a.c", hello);
  sh("mkfifo ../build/pipe && (cat ../build/pipe > ../build/copy & $CC -c a.c -o ../build/pipe; wait) && "
     "test -p ../build/pipe");
  EXPECT_TRUE(is_captured("build/copy"));
  sh("ln -s ../build/pipe link && (cat link > ../build/program & $CC a.c -o link; wait) && test -p "
     "../build/pipe");
  sh("chmod +x ../build/program && ../build/program");
}

TEST_F(FrontDoor, PrecompiledHeaders) {
  write("src/all.h", "#include <stdio.h>\n#define TEXT \"hello\"\n");
  write("src/a.c", "int main(void) { return puts(TEXT) < 0; }\n");
  sh("$CC -O2 -x c-header all.h -o ../build/all.h.pch && $CC -O2 -include-pch ../build/all.h.pch -c a.c -o "
     "../build/a.o && $CC ../build/a.o -o ../build/a && ../build/a");
  EXPECT_TRUE(is_captured("build/a.o"));
}

TEST_F(FrontDoor, LinkTimeOptimizationAndOtherLinkersAreDropped) {
  write("src/a.c", hello);
  sh("$CC -O2 -flto=thin -save-temps -gsplit-dwarf -g -c a.c -o ../build/a.o && $CC -flto -fuse-ld=gold "
     "../build/a.o -o ../build/a && ../build/a");
  EXPECT_TRUE(is_captured("build/a.o"));
}

TEST_F(FrontDoor, CompilesOneFileManyTimesAtOnce) {
  write("src/a.c", hello);
  sh("for i in 1 2 3 4 5 6; do $CC -O2 -c a.c -o ../build/$i.o & done; $CC -O2 -c a.c -o ../build/1.o & "
     "wait");
  for (const char* i : {"1", "2", "3", "4", "5", "6"})
    EXPECT_EQ(unit_of(std::string("build/") + i + ".o"), unit_of("build/1.o"));
}

TEST_F(FrontDoor, ManyWaysToWriteTheOutput) {
  write("src/sub/a.c", hello);
  sh("cd ../build && $CC -c ../src/sub/a.c && test -f a.o && $CC -c ../src/sub/a.c -o$PWD/b.o && mkdir x && "
     "cd x && $CC ../../src/sub/a.c && ./a.out");
  EXPECT_EQ(unit_of("build/a.o"), unit_of("build/b.o"));
  EXPECT_EQ(unit_of("build/a.o").source, "sub/a.c");
}

// The reason why the front door cannot run on an emulated CPU; empty: it can.
std::string no_emulator() {
#if __has_feature(address_sanitizer)
  return "the shadow memory of AddressSanitizer does not fit qemu-x86_64";
#else
  return find_program("qemu-x86_64") ? "" : "needs qemu-x86_64";
#endif
}

// A program that the build runs must run on a build machine below the configuration's level, even if the
// source has code under that level's macros, or only optimized code links.
TEST_F(FrontDoor, ProgramsRunBelowTheConfigurationsLevel) {
  if (const std::string reason = no_emulator(); !reason.empty())
    GTEST_SKIP() << reason;
  use_level("x86-64-v4");
  write("src/a.c",
        "#ifdef __AVX512F__\n#include <immintrin.h>\n"
        "static int sum(const int* x) { return _mm512_reduce_add_epi32(_mm512_loadu_si512(x)); }\n#else\n"
        "static int sum(const int* x) { int s = 0; for (int i = 0; i < 16; ++i) s += x[i]; return s; "
        "}\n#endif\n"
        "extern int never(void);\nint x[16] = {1, 2, 3};\nstatic int zero(void) { int a[2] = {0, 0}; return "
        "a[0] + a[1]; }\n"
        "int main(void) { if (zero()) return never(); return sum(x) - 6; }\n");
  const std::string qemu = "qemu-x86_64 -cpu Nehalem ";
  sh(qemu + "-0 $CC " XAAS_PROGRAM " -O2 a.c -o ../build/a && " + qemu + "../build/a");
  // The image has the configuration's own code.
  const Digest unit = notes_of("build/a").at(0).origin;
  const Json json = stored(unit);
  const auto parsed = ir::parse_unit(JsonReader(json, "unit"));
  ASSERT_TRUE(parsed);
  const auto lesser = read_file(session_.directory / "lesser" / unit.hex());
  ASSERT_TRUE(lesser) << lesser.error().message;
  EXPECT_NE(*lesser, *session_.content().get(parsed->module));
}

// Makefiles ask the compiler in this way. The source is read a second time for the build machine's own level.
TEST_F(FrontDoor, ASourceFromStandardInputIsReadAgain) {
  if (const std::string reason = no_emulator(); !reason.empty())
    GTEST_SKIP() << reason;
  use_level("x86-64-v4");
  const std::string qemu = "qemu-x86_64 -cpu Nehalem ";
  for (const std::string name : {"-", "/dev/stdin"})
    sh("echo 'int main(void) { return 0; }' | " + qemu + "-0 $CC " XAAS_PROGRAM " -O2 -x c " + name +
       " -o ../build/a && " + qemu + "../build/a");
}

// That a captured object is embedded shows only after the front end has read the source.
TEST_F(FrontDoor, ASourceFromStandardInputThatIsNotCapturedIsReadByTheCompiler) {
  write("src/a.c", hello);
  sh("$CC -c a.c -o ../build/a.o && perl -e 'local $/; print \"unsigned char data[] = {\", join(\",\", "
     "unpack(\"C*\", <STDIN>)), \"};\"' <../build/a.o >data.c && $CC -x c -c - -o ../build/data.o <data.c");
  EXPECT_FALSE(is_captured("build/data.o"));
  EXPECT_NE(read("build/data.o").find(read("build/a.o")), std::string::npos);
}

// File names in macros have no directories of this machine, except in a directive that looks for a file.
TEST_F(FrontDoorTest, ASourceMayIncludeItselfByItsName) {
  session_.cache = path("cache");
  write("src/sub/a.c", "#ifndef VALUE\n#define VALUE 7\n#define SELF __FILE__\n"
                       "#if !__has_include(__FILE__)\n#error not there\n#endif\n"
                       "#include SELF\nconst char* name = __FILE__;\n#else\nint value = VALUE;\n#endif\n");
  use_level("cached", "x86-64");
  const std::string source = path("src/sub/a.c").string();
  for (const std::string output : {"one.o", "two.o"}) { // the second is known
    sh("cd ../build && $CC -c " + source + " -o " + output);
    EXPECT_TRUE(is_captured("build/" + output));
    EXPECT_NE(read("build/" + output).find("sub/a.c"), std::string::npos);
    EXPECT_EQ(read("build/" + output).find(source), std::string::npos);
  }
  // The same when Clang itself preprocesses.
  sh("cd ../build && $CC -fsanitize=undefined -c " + source + " -o native.o");
  EXPECT_FALSE(is_captured("build/native.o"));
  EXPECT_NE(sh("cd ../build && $CC -E " + source + " -o - 2>/dev/null").find("value = 7"), std::string::npos);
}

TEST_F(FrontDoorTest, IrThatDoesNotReadBackIsNative) {
  write("src/a.c", "typedef _Bool bits __attribute__((ext_vector_type(16)));\n"
                   "void set(bits* a, int i) { (*a)[i] = 1; }\n"
                   "int main(void) { bits a = {0}; set(&a, 3); return a[3] ? 5 : 0; }\n");
  sh("$CC -O2 -c a.c -o ../build/a.o && $CC ../build/a.o -o ../build/a && ../build/a", 5);
  EXPECT_FALSE(is_captured("build/a.o"));
  std::string reasons;
  const auto entries = list_directory(session_.directory / "native");
  ASSERT_TRUE(entries) << entries.error().message;
  for (const fs::path& reason : *entries)
    reasons += *read_file(reason);
  EXPECT_NE(reasons.find("LLVM cannot read back: Invalid record"), std::string::npos) << reasons;
}

TEST_F(FrontDoorTest, NamesThatAreNotUtf8) {
  write("src/na\xFFme.c", "int main(void) { return 4; }\n");
  sh("cd ../build && $CC -c ../src/na*.c -o a.o && $CC a.o -o pro\xFFgram && ./pro*gram", 4);
  const std::string input = sh("cd ../build && cp a.o b\xFF.o && $CC b*.o -o b", 1);
  EXPECT_NE(input.find("/b\\xFF.o: "), std::string::npos) << input;
  const std::string archive = sh("cd ../build && rm -f l.a && ar rc l.a b*.o && $CC l.a -o b", 1);
  EXPECT_NE(archive.find("`b\\xFF.o`"), std::string::npos) << archive;
  const auto files = [&] {
    sh("rm -rf ../dest && mkdir ../dest");
    return harvest::harvest(session_, path("dest"));
  };
  ASSERT_TRUE(files());
  fs::copy_file(path("build/pro\xFFgram"), path("dest/pro\xFFgram"));
  const auto named = harvest::harvest(session_, path("dest"));
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().kind, ErrorKind::failed);
  EXPECT_NE(named.error().message.find("/pro\\xFFgram: "), std::string::npos) << named.error().message;
  ASSERT_TRUE(files());
  fs::create_symlink("to\xFF", path("dest/link"));
  const auto linked = harvest::harvest(session_, path("dest"));
  ASSERT_FALSE(linked);
  EXPECT_NE(linked.error().message.find("/link: "), std::string::npos) << linked.error().message;
  EXPECT_NE(linked.error().message.find("to\\xFF"), std::string::npos);
  // In an option of a link, it would be a name in the output.
  const std::string refused = sh("$CC -shared -Wl,-soname,so\xFFname ../build/a.o -o ../build/l.so", 1);
  EXPECT_NE(refused.find("so\\xFFname"), std::string::npos) << refused;
}

TEST_F(FrontDoorTest, McpuIsRefusedOnX86InClangsWords) {
  write("src/a.c", "int a(void) { return 1; }\n");
  const std::string ours = sh("$CC -mcpu=native -c a.c -o ../build/a.o", 1);
  EXPECT_NE(ours.find("unsupported option '-mcpu='"), std::string::npos) << ours;
  EXPECT_NE(sh("$CLANG -mcpu=native -c a.c -o ../build/b.o", 1).find("unsupported option '-mcpu='"),
            std::string::npos);
}

} // namespace

} // namespace xaas::frontdoor
