#include <xaas/link/command_line.h>

#include "link/testing.h"

#include <gmock/gmock.h>

namespace xaas::link {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Items as text: "--as-needed", "-z=now", "--version-script:x.map", "x.o".
std::vector<std::string> items(const ParsedLink& link) {
  std::vector<std::string> texts;
  for (const ParsedItem& item : link.items)
    texts.push_back(item.kind == LinkItem::Kind::input         ? item.name
                    : item.kind == LinkItem::Kind::file_option ? item.option + ":" + item.name
                    : item.value.empty()                       ? item.option
                                                               : item.option + "=" + item.value);
  return texts;
}

class CommandLineTest : public LinkTest {
protected:
  void SetUp() override {
    LinkTest::SetUp();
    for (const char* name :
         {"x.o", "lib/libm.so.6", "lib/libmvec.so.1", "lib/libc.a", "lib/libc.so", "lib/libonly.a"})
      write(name, std::string("\177ELF\0", 5));
    write("lib/libm.so", "/* GNU ld script\n*/\nOUTPUT_FORMAT(elf64-x86-64)\n"
                         "GROUP ( libm.so.6  AS_NEEDED ( libmvec.so.1 ) )\n");
    write("x.map", "{ global: f; local: *; };\n");
  }

  ParsedLink parse(const std::vector<std::string>& arguments) {
    auto parsed = parse_command_line(arguments, directory_->path());
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed ? *std::move(parsed) : ParsedLink();
  }

  std::string error(const std::vector<std::string>& arguments) {
    const auto parsed = parse_command_line(arguments, directory_->path());
    EXPECT_FALSE(parsed);
    if (parsed)
      return {};
    EXPECT_EQ(parsed.error().kind, ErrorKind::failed);
    return parsed.error().message;
  }
};

TEST_F(CommandLineTest, OptionsInAllTheirSpellings) {
  EXPECT_THAT(
      items(parse({"-soname", "a", "-soname=b", "--soname", "c", "--soname=d", "-h", "e", "-hf"})),
      ElementsAre("--soname=a", "--soname=b", "--soname=c", "--soname=d", "--soname=e", "--soname=f"));
  EXPECT_THAT(items(parse({"-z", "now", "-zrelro", "-z", "max-page-size=0x1000", "-O2", "-O", "1", "-m",
                           "elf_x86_64"})),
              ElementsAre("-z=now", "-z=relro", "-z=max-page-size=0x1000", "-O=2", "-O=1", "-m=elf_x86_64"));
  EXPECT_THAT(
      items(parse({"--version-script", "x.map", "-T", "x.map", "-Tx.map", "--dynamic-list=x.map"})),
      ElementsAre("--version-script:x.map", "--script:x.map", "--script:x.map", "--dynamic-list:x.map"));
  EXPECT_THAT(
      items(parse({"-Ttext=0x1000", "-Ttext", "2000", "-e", "main", "-u", "f", "-ug", "--defsym", "a=b"})),
      ElementsAre("--Ttext=0x1000", "--Ttext=2000", "--entry=main", "--undefined=f", "--undefined=g",
                  "--defsym=a=b"));
  EXPECT_THAT(
      items(parse({"--build-id", "--build-id=sha1", "--build-id=0xab12", "--build-id=uuid", "--icf=all", "-s",
                   "-export-dynamic", "-Bsymbolic", "-rpath", "/x", "-R/y", "-(", "-)", "-static"})),
      ElementsAre("--build-id", "--build-id=sha1", "--build-id=0xab12", "--build-id=sha1", "--icf=all",
                  "--strip-all", "--export-dynamic", "--Bsymbolic", "--rpath=/x", "--rpath=/y",
                  "--start-group", "--end-group", "--Bstatic"));
}

TEST_F(CommandLineTest, TheOutput) {
  EXPECT_EQ(parse({"x.o"}).output, path("a.out"));
  EXPECT_EQ(parse({"-o", "y", "x.o"}).output, path("y"));
  EXPECT_EQ(parse({"-omagic"}).output, path("magic"));
  EXPECT_EQ(parse({"--output=sub/y"}).output, path("sub/y"));
  EXPECT_THAT(items(parse({"--omagic"})), ElementsAre("--omagic"));
  EXPECT_EQ(parse({"-shared"}).kind, OutputKind::shared);
  EXPECT_EQ(parse({"-r"}).kind, OutputKind::relocatable);
  EXPECT_EQ(parse({"-pie"}).kind, OutputKind::executable);
}

TEST_F(CommandLineTest, LibrariesAreFound) {
  EXPECT_THAT(items(parse({"-lc", "-L", "lib"})), ElementsAre("libc.so"));
  EXPECT_THAT(items(parse({"-Llib", "-Bstatic", "-lc", "-Bdynamic", "-lc", "-l:libm.so.6"})),
              ElementsAre("--Bstatic", "libc.a", "--Bdynamic", "libc.so", "libm.so.6"));
  EXPECT_THAT(items(parse({"-Llib", "--push-state", "-static", "-lc", "--pop-state", "-lc"})),
              ElementsAre("--push-state", "--Bstatic", "libc.a", "--pop-state", "libc.so"));
  EXPECT_EQ(parse({"-L=lib", "--sysroot=" + path("").string(), "-lonly"}).items[0].name, "libonly.a");
  EXPECT_EQ(parse({"-Llib", "-lonly"}).items[0].file, path("lib/libonly.a"));
  EXPECT_EQ(error({"-lonly"}), "unable to find library -lonly");
  EXPECT_EQ(error({"-Llib", "-lnone"}), "unable to find library -lnone");
  EXPECT_EQ(error({"none.o"}), "cannot open none.o: No such file or directory");
  EXPECT_THAT(error({"--version-script=none"}), HasSubstr("cannot open none"));
}

TEST_F(CommandLineTest, LibraryScriptsBecomeTheirInputs) {
  EXPECT_THAT(items(parse({"-Llib", "-lm"})),
              ElementsAre("--start-group", "libm.so.6", "--push-state", "--as-needed", "libmvec.so.1",
                          "--pop-state", "--end-group"));
  EXPECT_THAT(items(parse({"-Llib", "--start-group", "lib/libm.so", "--end-group"})),
              ElementsAre("--start-group", "libm.so.6", "--push-state", "--as-needed", "libmvec.so.1",
                          "--pop-state", "--end-group"));
  write("lib/libloop.so", "INPUT(-lloop)");
  EXPECT_THAT(error({"-Llib", "-lloop"}), HasSubstr("name each other"));
  write("lib/libgone.so", "INPUT(gone.so.1)");
  EXPECT_THAT(error({"-Llib", "-lgone"}), HasSubstr("libgone.so: unable to find gone.so.1"));
  write("other.ld", "INPUT(x.o) SECTIONS { }");
  EXPECT_THAT(items(parse({"other.ld"})), ElementsAre("other.ld"));
}

TEST_F(CommandLineTest, WhatDoesNotChangeTheOutputIsDropped) {
  const ParsedLink link =
      parse({"-Map=x.mapfile", "--dependency-file", "sub/x.d", "-t", "--verbose", "--threads=4",
             "-rpath-link", "/l", "-plugin", "/usr/lib/gcc/liblto_plugin.so",
             "-plugin-opt=-pass-through=-lgcc", "--color-diagnostics", "--no-warn-rwx-segments",
             "-plugin-opt=thinlto", "--lto-O2", "-z", "ibtplt", "x.o"});
  EXPECT_THAT(items(link), ElementsAre("x.o"));
  EXPECT_EQ(link.dropped.size(), 13u);
  EXPECT_THAT(link.maps, ElementsAre(path("x.mapfile"), path("sub/x.d")));
}

TEST_F(CommandLineTest, ResponseFiles) {
  write("args", "-soname 'a b' @more\n");
  write("more", "\"x.o\"\n");
  EXPECT_THAT(items(parse({"@args"})), ElementsAre("--soname=a b", "x.o"));
  write("loop", "@loop");
  EXPECT_THAT(error({"@loop"}), HasSubstr("name each other"));
  EXPECT_THAT(error({"@missing"}), HasSubstr("cannot open @missing"));
}

TEST_F(CommandLineTest, PassPlugins) {
  write("x.o", "object");
  const ParsedLink link =
      parse({"--load-pass-plugin=x.so", "-mllvm", "-load=x.so", "-mllvm=-width=2", "x.o"});
  EXPECT_THAT(link.plugins, ElementsAre(path("x.so")));
  EXPECT_THAT(link.llvm_options, ElementsAre("width=2"));
  EXPECT_THAT(items(link), ElementsAre("x.o"));
  EXPECT_EQ(link.lto_level, 2U);
  EXPECT_EQ(parse({"--load-pass-plugin=./x.so", "-plugin-opt=O1", "--lto-O3", "x.o"}).lto_level, 3U);
  EXPECT_THAT(parse({"-plugin-opt=-load=./sub/../x.so", "-plugin-opt=-width=3", "--load-pass-plugin=x.so"})
                  .llvm_options,
              ElementsAre("width=3"));
  EXPECT_THAT(parse({"-plugin-opt=-width=3", "x.o"}).llvm_options, ElementsAre());
  EXPECT_THAT(error({"--load-pass-plugin=x.so", "--lto-newpm-passes=a"}), HasSubstr("replaces the passes"));
  EXPECT_THAT(error({"--load-pass-plugin=x.so", "-mllvm=-load=y.so"}), HasSubstr("it runs code"));
  EXPECT_THAT(error({"--load-pass-plugin=x.so", "-r"}), HasSubstr("a relocatable output has no IR"));
}

TEST_F(CommandLineTest, RefusedOptions) {
  for (const char* option :
       {"-mllvm=-x", "-mllvm=-load=x.so", "-plugin=/evil.so", "--error-handling-script=x", "--chroot=/", "-b",
        "--remap-inputs=a=b", "--shuffle-sections=*=0", "--oformat=binary", "--unknown-option", "--icf=maybe",
        "-m32", "--hash-style=other", "--image-base=zz", "--as-needed=yes", "-k", "--thinlto-distributor=x"})
    EXPECT_THAT(error({option, "binary"}), HasSubstr(std::string(option).substr(0, 4))) << option;
  EXPECT_THAT(error({"-soname"}), HasSubstr("missing value"));
  EXPECT_THAT(error({"-"}), HasSubstr("standard input"));
}

} // namespace
} // namespace xaas::link
