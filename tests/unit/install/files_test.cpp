// Paths that programs have compiled in, scripts and module files.
#include "module_files.h"
#include "named_paths.h"
#include "wrappers.h"

#include <xaas/runtimes/environment.h>

#include <gmock/gmock.h>

using namespace xaas;
using namespace xaas::install;
using testing::HasSubstr;

namespace {

File file(const std::string& path, fs::file_type type = fs::file_type::regular, bool executable = false) {
  return {.path = path,
          .type = type,
          .mode = executable ? fs::perms::owner_all : fs::perms::owner_read,
          .size = 1};
}

class NamedPathsOfAnImage : public testing::Test {
protected:
  std::string in(const std::string& content) const {
    return names_.in(std::string("\0", 1) + content + std::string("\0", 1));
  }
  const NamedPaths names_{{file("usr", fs::file_type::directory), file("usr/local/share/solver/table"),
                           file("usr/local/share/man/man1/solver.1"), file("usr/local/lib/libsolver.so"),
                           file("usr/local/bin/solver", fs::file_type::regular, true),
                           file("bin/sh", fs::file_type::regular, true), file("etc/passwd"),
                           file("lib64/ld-linux-x86-64.so.2", fs::file_type::regular, true),
                           file("usr/lib/x86_64-linux-gnu/libz.so.1", fs::file_type::symlink),
                           file(".xaas/targets/haswell/usr/local/bin/solver")},
                          [](const std::string& path) { return path == "/bin/sh"; }};
};

TEST_F(NamedPathsOfAnImage, FilesAndDirectoriesOfTheImageCount) {
  for (const char* text :
       {"/usr/local/share/solver/table", "/usr/local/share/solver", "/usr/local/share/solver/%s/%d.dat",
        "/usr/local/bin/solver", "/usr/local/lib/libsolver.so", "/usr/local/share/solver/new/deep/file"})
    EXPECT_EQ(in(text), text);
  EXPECT_EQ(in("/usr/local/share/solver/"), "/usr/local/share/solver");
  EXPECT_EQ(in("DATA=/usr/local/share/solver"), "/usr/local/share/solver");
  EXPECT_EQ(in("-I/usr/local/share/solver"), "/usr/local/share/solver");
  EXPECT_EQ(in("/usr/local/lib/../share/solver/table"), "/usr/local/share/solver/table");
}

TEST_F(NamedPathsOfAnImage, WhatEverySystemHasDoesNot) {
  for (const char* text :
       {"/usr/local/lib", "/bin/sh", "/etc/passwd", "/usr/lib/x86_64-linux-gnu",
        "/lib64/ld-linux-x86-64.so.2", "/usr/share/zoneinfo", "/src/solver/main.c", "/", "//",
        "a/usr/local/share/solver", "https://example.org/usr/local/share/solver", "/usr/local/share/man",
        "/.xaas/targets", "/usr/local/share/solverr", "/usr", "/etc/rc", "/home", "/tmp/x"})
    EXPECT_EQ(in(text), "") << text;
  EXPECT_EQ(names_.in("/usr/local/share/solver", {"/usr/local/share/solver"}), "");
  EXPECT_EQ(names_.in(""), "");
}

// "%s/share/solver/table" finds the file below a string of its own.
TEST_F(NamedPathsOfAnImage, DirectoriesAboveDataCountAsWholeStrings) {
  EXPECT_EQ(in("/usr/local"), "/usr/local");
  EXPECT_EQ(in("/usr/local/share"), "/usr/local/share");
  EXPECT_EQ(in("--prefix=/usr/local"), "");
  EXPECT_EQ(in("/usr/local:/usr"), "");
  EXPECT_EQ(in("/usr/local/bin"), "");
}

TEST_F(NamedPathsOfAnImage, TextsGetThePrefix) {
  const auto made = [&](const std::string& text) { return names_.below("/p", text); };
  EXPECT_EQ(made("x=/usr/local/share/solver/$name; y='/usr/local/bin/solver'\n/bin/sh /usr/lib\n"),
            "x=/p/usr/local/share/solver/$name; y='/p/usr/local/bin/solver'\n/bin/sh /usr/lib\n");
  EXPECT_EQ(made("nothing"), "nothing");
  EXPECT_EQ(made("prefix=/usr/local\n"), "prefix=/p/usr/local\n");
  EXPECT_EQ(made("/usr/local/bin/solver:/usr/local/bin/solver"),
            "/p/usr/local/bin/solver:/p/usr/local/bin/solver");
  for (const char* text :
       {"${root}/usr/local/share/solver", "$(top)/usr/local/share/solver", "\"$root\"/usr/local/share/solver",
        "$root/usr/local/share/solver", "`top`/usr/local/share/solver", "x\"/usr/local/share/solver"})
    EXPECT_EQ(made(text), text);
}

TEST(InstallScripts, QuoteWhatAShellWouldObey) {
  const std::string text = script_text({.name = "solver",
                                        .origin = "oci:a\nrm -rf /",
                                        .program = "/apps/a/rootfs/solver",
                                        .search_path = {"/apps/a/rootfs/usr/bin"},
                                        .variables = {{"MODE", "it's $(x)\n`y`"}}});
  EXPECT_EQ(text, "#!/bin/sh\n"
                  "# solver of oci:a rm -rf /, written by `xaas install`\n"
                  "PATH=/apps/a/rootfs/usr/bin${PATH:+:$PATH}\n"
                  "export PATH\n"
                  "[ \"${MODE+set}\" ] || export MODE='it'\\''s $(x)\n`y`'\n"
                  "exec /apps/a/rootfs/solver \"$@\"\n");
}

TEST(InstallModules, QuoteWhatTheirLanguagesWouldObey) {
  const Module module{.name = "chem/solver",
                      .version = "1.2",
                      .description = "a \"solver\" \\ [exit] $env(HOME) {",
                      .license = "MIT",
                      .home = "",
                      .origin = "oci:a",
                      .prefix = "/apps/a",
                      .paths = {{"PATH", "/apps/a/bin"}, {"ODD", "two\nlines\1"}}};
  const std::string lua = lua_module(module), tcl = tcl_module(module);
  EXPECT_THAT(lua, HasSubstr(R"(whatis("Description: a \"solver\" \\ [exit] $env(HOME) {"))"));
  EXPECT_THAT(lua, HasSubstr("prepend_path(\"PATH\", \"/apps/a/bin\")\n"
                             "prepend_path(\"ODD\", \"two\\010lines\\001\")\n"
                             "setenv(\"SOLVER_ROOT\", \"/apps/a\")\n"));
  EXPECT_TRUE(is_module_of(lua, "/apps/a") && is_module_of(tcl, "/apps/a"));
  EXPECT_FALSE(is_module_of(lua, "/apps/b") || is_module_of(tcl, "/apps") || is_module_of("", "/apps/a"));
  EXPECT_THAT(tcl, testing::StartsWith("#%Module1.0\n"));
  EXPECT_THAT(tcl, HasSubstr(R"(module-whatis "Description: a \"solver\" \\ \[exit\] \$env(HOME) \{")"));
  EXPECT_THAT(
      tcl,
      HasSubstr("prepend-path \"ODD\" \"two\\u000alines\\u0001\"\nsetenv \"SOLVER_ROOT\" \"/apps/a\"\n"));
  EXPECT_EQ(lua.find("URL"), std::string::npos);
}

TEST(InstallScripts, NamesThatAShellTakes) {
  for (const char* name : {"A", "_", "a1", "OMP_NUM_THREADS"})
    EXPECT_TRUE(runtimes::is_variable_name(name)) << name;
  for (const char* name : {"", "1a", "a.b", "a-b", "X}\" ]; touch x; #", "a b", "\303\244"})
    EXPECT_FALSE(runtimes::is_variable_name(name)) << name;
}

TEST(InstallModules, Names) {
  for (const char* name : {"solver", "chem/solver", "a+b", "7zip", "GROMACS_2", "x.y-z"})
    EXPECT_TRUE(is_module_name(name)) << name;
  for (const char* name : {"", "/a", "a/", "a//b", ".a", "..", "a/..", "-a", "a b", "a$b", "ä"})
    EXPECT_FALSE(is_module_name(name)) << name;
  EXPECT_TRUE(is_module_version("1.2-rc1"));
  EXPECT_FALSE(is_module_version("a/b"));
  EXPECT_FALSE(is_module_version(""));
}

} // namespace
