// Paths that programs have compiled in, scripts and module files.
#include "module_files.h"
#include "named_paths.h"
#include "wrappers.h"

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
  EXPECT_EQ(in("/usr/local/share/solver/table"), "/usr/local/share/solver/table");
  EXPECT_EQ(in("/usr/local/share/solver"), "/usr/local/share/solver");
  EXPECT_EQ(in("/usr/local/share/solver/"), "/usr/local/share/solver");
  EXPECT_EQ(in("DATA=/usr/local/share/solver"), "/usr/local/share/solver");
  EXPECT_EQ(in("/usr/local/share/solver/%s.dat"), "/usr/local/share/solver/%s.dat");
  EXPECT_EQ(in("/usr/local/bin/solver"), "/usr/local/bin/solver");
  EXPECT_EQ(in("/usr/local/lib/libsolver.so"), "/usr/local/lib/libsolver.so");
  EXPECT_EQ(in("/usr/local/lib/../share/solver/table"), "/usr/local/share/solver/table");
}

TEST_F(NamedPathsOfAnImage, WhatEverySystemHasDoesNot) {
  for (const char* text : {"/usr/local", "/usr/local/share", "/usr/local/lib", "/bin/sh", "/etc/passwd",
                           "/usr/lib/x86_64-linux-gnu", "/lib64/ld-linux-x86-64.so.2", "/usr/share/zoneinfo",
                           "/src/solver/main.c", "/", "//", "a/usr/local/share/solver",
                           "https://example.org/usr/local/share/solver", "/usr/local/share/man",
                           "/.xaas/targets", "/usr/local/share/solverr"})
    EXPECT_EQ(in(text), "") << text;
  EXPECT_EQ(names_.in("/usr/local/share/solver", {"/usr/local/share/solver"}), "");
  EXPECT_EQ(names_.in(""), "");
}

TEST_F(NamedPathsOfAnImage, TextsGetThePrefix) {
  EXPECT_EQ(
      names_.below(
          "/p", "x=/usr/local/share/solver/$name; y='/usr/local/bin/solver'\n/bin/sh /usr/local/share/man\n"),
      "x=/p/usr/local/share/solver/$name; y='/p/usr/local/bin/solver'\n/bin/sh /usr/local/share/man\n");
  EXPECT_EQ(names_.below("/p", "nothing"), "nothing");
  EXPECT_EQ(names_.below("/p", "/usr/local/bin/solver:/usr/local/bin/solver"),
            "/p/usr/local/bin/solver:/p/usr/local/bin/solver");
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
                      .paths = {{"PATH", "/apps/a/bin"}},
                      .variables = {{"MODE", "two\nlines"}}};
  const std::string lua = lua_module(module), tcl = tcl_module(module);
  EXPECT_THAT(lua, HasSubstr(R"(whatis("Description: a \"solver\" \\ [exit] $env(HOME) {"))"));
  EXPECT_THAT(lua, HasSubstr("prepend_path(\"PATH\", \"/apps/a/bin\")\nsetenv(\"MODE\", \"two\\nlines\")\n"));
  EXPECT_THAT(tcl, testing::StartsWith("#%Module1.0\n"));
  EXPECT_THAT(tcl, HasSubstr(R"(module-whatis "Description: a \"solver\" \\ \[exit\] \$env(HOME) \{")"));
  EXPECT_THAT(tcl, HasSubstr("setenv \"MODE\" \"two\\nlines\"\n"));
  EXPECT_EQ(lua.find("URL"), std::string::npos);
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
