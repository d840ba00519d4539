// Command lines of NASM, and what its results depend on.
#include "assembly/nasm.h"

#include <gmock/gmock.h>

namespace xaas::frontdoor {

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using NasmWords = std::vector<std::string>;

TEST(Nasm, MesonsCommand) {
  const auto command = parse_nasm({"-f", "elf64", "-DARCH_X86_64=1", "-I", "build/", "-I../src/", "-MQ",
                                   "a.obj", "-MF", "a.ndep", "-MD", "-o", "a.obj", "../src/a.asm"});
  ASSERT_TRUE(command);
  EXPECT_EQ(command->source, "../src/a.asm");
  EXPECT_EQ(command->output, "a.obj");
  EXPECT_EQ(command->dependencies, "a.ndep");
  EXPECT_THAT(command->meaning, ElementsAre("-f", "elf64", "-DARCH_X86_64=1", "-I", "build/", "-I../src/"));
  EXPECT_THAT(command->naming, ElementsAre("-MQ", "a.obj"));
}

TEST(Nasm, CMakesAndX264sCommands) {
  const auto cmake =
      parse_nasm({"-DA", "-I/s/", "-f", "elf64", "-O3", "-MD", "x.d", "-MT", "x.o", "-o", "x.o", "/s/x.asm"});
  ASSERT_TRUE(cmake);
  EXPECT_EQ(cmake->dependencies, "x.d");
  const auto x264 = parse_nasm({"-I.", "-felf64", "-Dprivate_prefix=x264", "-o", "x.o", "x.asm"});
  ASSERT_TRUE(x264);
  EXPECT_FALSE(x264->lists);
  const auto dav1d = parse_nasm({"-f", "elf64", "-MQ", "a.obj", "-MF", "a.ndep", "a.asm", "-o", "a.obj"});
  ASSERT_TRUE(dav1d);
  EXPECT_FALSE(dav1d->lists);
  EXPECT_THAT(x264->naming, IsEmpty());
}

// Commands with outputs or inputs that the key does not cover.
class NasmUnknown : public testing::TestWithParam<NasmWords> {};
TEST_P(NasmUnknown, IsNotParsed) {
  EXPECT_FALSE(parse_nasm(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(
    Some, NasmUnknown,
    testing::Values(NasmWords{"-v"}, NasmWords{}, NasmWords{"a.asm"}, NasmWords{"-o", "a.o"}, NasmWords{"-o"},
                    NasmWords{"-o", "a.o", "a.asm", "b.asm"}, NasmWords{"-E", "-o", "a.o", "a.asm"},
                    NasmWords{"-M", "-o", "a.o", "a.asm"}, NasmWords{"-l", "a.lst", "-o", "a.o", "a.asm"},
                    NasmWords{"-@", "words", "-o", "a.o", "a.asm"},
                    NasmWords{"-Zerrors", "-o", "a.o", "a.asm"}, NasmWords{"-o", "a.o", "-"},
                    NasmWords{"-MD", "-o", "a.o", "a.asm"}, NasmWords{"-o", "a.o", "-MD", "a.asm"}),
    [](const auto& info) { return std::to_string(info.index); });

TEST(Nasm, FilesOfTheFirstRule) {
  EXPECT_THAT(files_of_rule("a.o : a.asm \\\n  inc/b.inc\n\na.asm :\n\ninc/b.inc :\n"),
              testing::Optional(ElementsAre("a.asm", "inc/b.inc")));
  EXPECT_FALSE(files_of_rule("a.o : with\\ space.asm\n"));
  EXPECT_FALSE(files_of_rule("a.o : $$.asm\n"));
  EXPECT_FALSE(files_of_rule(""));
}

TEST(Nasm, TextsThatReadMore) {
  EXPECT_FALSE(reads_more_than_text("%include \"a.inc\"\nmov eax, 1 ; independent %1!\n"));
  for (const char* text : {"INCBIN \"a\"", "db %!HOME", "db %!'HOME'", "db __DATE__", "dq __?POSIX_TIME?__",
                           "%if __PASS__ > 1", "%pathsearch a \"b\"", "%DEPEND \"x\""})
    EXPECT_TRUE(reads_more_than_text(text)) << text;
}

} // namespace

} // namespace xaas::frontdoor
