// A run of the preprocessor that would read what an earlier one read gives the same tokens.
#include "known/inputs_testing.h"
#include "known/sharing_pairs.h"

#include <xaas/known/inputs.h>
#include <xaas/known/invocation.h>
#include <xaas/known/known.h>
#include <xaas/known/read_once.h>

#include <clang/Basic/TargetInfo.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

namespace xaas::known {

namespace {

class InputsOf : public Inputs, public ::testing::WithParamInterface<Pair> {};

std::string flags_of(const Compile& compile) {
  return "-march=" + compile.level + " " + compile.flags;
}

TEST_P(InputsOf, AreNeverFoundForOtherTokens) {
  const Pair& pair = GetParam();
  const std::string file = std::string("a.") + pair.extension;
  for (const bool swapped : {false, true}) {
    use_cache(swapped ? "cache-2" : "cache-1");
    const Compile& first = swapped ? pair.two : pair.one;
    const Compile& second = swapped ? pair.one : pair.two;
    write("src/" + file, first.source.empty() ? pair.source : first.source);
    run(flags_of(first), file);
    write("src/" + file, second.source.empty() ? pair.source : second.source);
    find(flags_of(second), file);
  }
}

INSTANTIATE_TEST_SUITE_P(All, InputsOf, ::testing::ValuesIn(pairs), name_of_pair);

TEST_F(Inputs, ServeLevelsWhoseMacrosNothingReads) {
  write("src/a.cpp",
        "#include <algorithm>\n#include <atomic>\n#include <iostream>\n#include <memory>\n"
        "#include <map>\n#include <regex>\n#include <string>\n#include <thread>\n#include <cmath>\n");
  ASSERT_TRUE(run("-O2 -std=c++20 -march=x86-64", "a.cpp"));
  for (const char* level : {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"})
    EXPECT_TRUE(find("-O2 -std=c++20 -march=" + std::string(level), "a.cpp")) << level;
  EXPECT_FALSE(find("-O2 -std=c++17 -march=x86-64", "a.cpp"));
  EXPECT_FALSE(find("-O0 -std=c++20 -march=x86-64", "a.cpp"));
}

TEST_F(Inputs, DependOnMacrosThatAreRead) {
  for (const char* source : sources_that_read)
    for (const bool up : {true, false}) {
      use_cache("cache-" + digest_of(source).hex() + (up ? "1" : "2"));
      write("src/a.c", source);
      const std::string flags = "-O2 -std=c23 -fopenmp -march=x86-64", v3 = flags + "-v3";
      run(up ? flags : v3);
      EXPECT_FALSE(find(up ? v3 : flags)) << source << up;
    }
}

TEST_F(Inputs, DoNotDependOnMacrosThatAreOnlyNamed) {
  for (const char* source : {"// __AVX2__\nint f;\n", "#if 0\nint f = __AVX2__;\n#endif\nint f;\n",
                             "const char* f = \"__AVX2__\";\n"}) {
    write("src/a.c", source);
    ASSERT_TRUE(run("-march=x86-64"));
    EXPECT_TRUE(find("-march=x86-64-v3")) << source;
    ASSERT_TRUE(run("-march=x86-64-v4"));
    EXPECT_TRUE(find("-march=x86-64-v2")) << source;
  }
}

// A source that reads one macro is known at all levels that have it.
TEST_F(Inputs, ServeLevelsWithTheSameMacrosOfThoseRead) {
  write("src/a.c", "#ifdef __AVX2__\nint f;\n#endif\n");
  run("-march=x86-64");
  run("-march=x86-64-v3");
  EXPECT_TRUE(find("-march=x86-64-v2"));
  EXPECT_TRUE(find("-march=x86-64-v4"));
  EXPECT_TRUE(find("-march=x86-64 -mavx2"));
  EXPECT_TRUE(find("-march=x86-64-v4 -mno-avx2"));
}

TEST_F(Inputs, DependOnMacrosOfTheCommandLine) {
  write("src/a.c", "int f;\n");
  run("-DA=1");
  EXPECT_TRUE(find("-DA=1"));
  for (const char* other : {"-DA=2", "", "-DA=1 -D__B", "-UA", "-DA=1 -U__AVX2__"})
    EXPECT_FALSE(find(other)) << other;
  // Clang warns that a macro of its own is defined again.
  run("-D__AVX2__=7 -march=x86-64");
  EXPECT_FALSE(find("-D__AVX2__=7 -march=x86-64-v3"));
  use_cache("other");
  run("-D__AVX2__=7 -march=x86-64-v3");
  EXPECT_FALSE(find("-D__AVX2__=7 -march=x86-64"));
}

TEST_F(Inputs, DependOnFiles) {
  const std::string flags = "-Ifirst -Isecond";
  write("src/a.c", "#include <h.h>\n#if __has_include(\"maybe.h\")\nint m;\n#endif\n");
  write("src/second/h.h", "int h;\n");
  fs::create_directory(path("src/first"));
  ASSERT_TRUE(run(flags));
  EXPECT_TRUE(find(flags));
  write("src/second/unrelated.h", "int u;\n");
  EXPECT_TRUE(find(flags));
  write("src/second/h.h", "int i;\n");
  EXPECT_FALSE(find(flags));
  ASSERT_TRUE(run(flags));
  EXPECT_TRUE(find(flags));
  write("src/second/h.h", "int h;\n"); // as the first run had it
  EXPECT_TRUE(find(flags));
  write("src/first/h.h", "int j;\n");
  EXPECT_FALSE(find(flags));
  ASSERT_TRUE(run(flags));
  EXPECT_TRUE(find(flags));
  fs::remove(path("src/first/h.h"));
  EXPECT_TRUE(find(flags));
  write("src/maybe.h", "");
  EXPECT_FALSE(find(flags));
  fs::remove(path("src/maybe.h"));
  fs::create_directory(path("src/maybe.h"));
  EXPECT_FALSE(find(flags));
  fs::remove(path("src/maybe.h"));
  EXPECT_TRUE(find(flags));
  fs::remove(path("src/second/h.h"));
  EXPECT_FALSE(find(flags));
  EXPECT_FALSE(find("-Isecond -Ifirst"));
}

// `__has_embed` asks for the size of a file that nothing reads.
TEST_F(Inputs, DependOnSizes) {
  write("src/a.c", "#if __has_embed(\"data\") == __STDC_EMBED_EMPTY__\nint empty;\n#endif\n"
                   "#if __has_embed(\"data\" limit(2)) == __STDC_EMBED_FOUND__\nint some;\n#endif\n");
  for (const bool empty_first : {true, false}) {
    write("src/data", empty_first ? "" : "x");
    ASSERT_TRUE(run("-std=c23"));
    EXPECT_TRUE(find("-std=c23"));
    write("src/data", empty_first ? "x" : "");
    EXPECT_FALSE(find("-std=c23"));
    use_cache("second");
  }
}

// #pragma once takes two paths of one file for one header, and equal files for two.
TEST_F(Inputs, DependOnWhichPathsAreOneFile) {
  write("src/x/h.h", "#pragma once\nextern int h;\n");
  write("src/a.c", "#include \"x/h.h\"\n#include \"y/h.h\"\n");
  for (const bool linked_first : {true, false}) {
    use_cache(linked_first ? "one" : "two");
    for (const bool linked : {linked_first, !linked_first}) {
      fs::remove_all(path("src/y"));
      fs::create_directory(path("src/y"));
      if (linked)
        fs::create_hard_link(path("src/x/h.h"), path("src/y/h.h"));
      else
        fs::copy(path("src/x/h.h"), path("src/y/h.h"));
      if (linked == linked_first)
        ASSERT_TRUE(run(""));
      EXPECT_EQ(find("").has_value(), linked == linked_first);
    }
  }
}

// Another build directory with the same files.
TEST_F(Inputs, DoNotDependOnTheBuildsLocation) {
  write("src/a.c", "#include \"made.h\"\nint f;\n");
  for (const char* build : {"build", "elsewhere/deep", "third"})
    write(std::string(build) + "/made.h", std::string("int made;\n") + (*build == 't' ? "int more;\n" : ""));
  const auto flags = [&](const char* build) {
    session_.prefixes = {{path("src"), "."}, {path(build), "build"}};
    return "-g -I" + path(build).string();
  };
  ASSERT_TRUE(run(flags("build")));
  const auto found = find(flags("elsewhere/deep"));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->dependencies.size(), 2u);
  EXPECT_EQ(found->dependencies[1].path, path("elsewhere/deep/made.h").string());
  EXPECT_FALSE(find(flags("third")));
}

// An option may name a file of the build, and a macro the build itself.
TEST_F(Inputs, OfOptionsThatNameTheBuild) {
  write("src/a.c", "int f;\n");
  for (const char* build : {"build", "elsewhere"})
    write(std::string(build) + "/made.h", "int made;\n");
  const auto flags = [&](const char* build, const std::string& option) {
    session_.prefixes = {{path("src"), "."}, {path(build), "build"}};
    return option + path(build).string() + "/made.h";
  };
  for (const char* option : {"-include ", "-imacros "}) {
    ASSERT_TRUE(run(flags("build", option)));
    EXPECT_TRUE(find(flags("elsewhere", option))) << option;
  }
  ASSERT_TRUE(run(flags("build", "-DMADE=")));
  EXPECT_TRUE(find(flags("build", "-DMADE=")));
  EXPECT_FALSE(find(flags("elsewhere", "-DMADE=")));
}

// A build in the directory of its sources.
TEST_F(Inputs, OfOneDirectoryForSourcesAndBuild) {
  session_.prefixes = {{path("src"), "build"}, {path("src"), "."}};
  write("src/a.c", "#include \"b.h\"\n");
  write("src/b.h", "int b;\n");
  const std::string flags = "-I" + path("src").string();
  ASSERT_TRUE(run(flags));
  EXPECT_TRUE(find(flags));
}

TEST_F(Inputs, OfFilesThatNameTheBuildAreNotKept) {
  write("src/a.c", "#include \"" + path("build/made.h").string() + "\"\n");
  write("build/made.h", "int f;\n");
  const auto result = run("");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->inputs, "");
}

// A file that is named from above a directory of the build is the same one in every build.
TEST_F(Inputs, DoNotMixDirectoriesOfBuilds) {
  const auto build_in = [&](const std::string& build) {
    session_.prefixes = {{path(build), "build"}, {path("src"), "."}};
  };
  const std::string above = "-I" + path("").parent_path().string();
  for (const char* build : {"build", "build2"})
    write(std::string(build) + "/config.h", "int one;\n");
  write("src/a.c", "#include \"build/config.h\"\n");
  build_in("build");
  const auto result = run(above);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->inputs, "");
  write("src/a.c", "#if __has_include(\"build/config.h\")\nint f;\n#endif\n");
  EXPECT_EQ(run(above)->inputs, "");

  // The name of a file starts like that of a directory of the build.
  write("src/a.c", "#include \"build_info.h\"\n");
  write("inc/build_info.h", "int one;\n");
  const std::string flags = above + " -I" + path("inc").string();
  ASSERT_TRUE(run(flags));
  build_in("out");
  fs::create_directory(path("out"));
  EXPECT_TRUE(find(flags));
  write("build_info.h", "int two;\n");
  EXPECT_FALSE(find(flags));

  // A directory of this build was not one of the other.
  write("third/h.h", "int three;\n");
  write("src/a.c", "#include \"h.h\"\n");
  build_in("build");
  ASSERT_TRUE(run("-g -I" + path("third").string()));
  build_in("third");
  EXPECT_FALSE(find("-g -I" + path("third").string()));
}

// Macros may put the path of a directory of the build together.
TEST_F(Inputs, OfNamesThatMacrosPutTogether) {
  write("build/h.h", "int h;\n");
  const std::string top = "-DTOP=" + path("").parent_path().string();
  const std::string macros = "#define S(x) S2(x)\n#define S2(x) #x\n#define NONE\n";
  for (const std::string& source :
       {std::string("#include S(TOP/build/h.h)\n"), std::string("#define I <TOP/build/h.h>\n#include I\n"),
        std::string("#if __has_include(S(TOP/build/h.h))\nint f;\n#endif\n"),
        std::string("#line 1 S(TOP/build/x.c)\nint f;\n"),
        "#include S(NONE" + path("build/h.h").string() + ")\n"}) {
    write("src/a.c", macros + source);
    const auto result = run(top);
    ASSERT_TRUE(result) << source;
    EXPECT_EQ(result->inputs, "") << source;
  }
}

// The name of a directory or file starts like that of a directory of the build.
TEST_F(Inputs, OfNamesLikeThoseOfTheBuild) {
  const auto build_in = [&](const std::string& build) {
    session_.prefixes = {{path("src"), "."}, {path(build), "build"}};
  };
  for (const char* name : {"build_more/data", "out_more/data"})
    write(name, name);
  write("build_more/inc/h.h", "int one;\n");
  write("out_more/inc/h.h", "int two;\n");
  fs::create_directory(path("out"));
  const struct {
    const char *source, *before, *after;
  } cases[] = {
      {"char f[] = {\n#embed <data>\n};\n", "-std=c23 --embed-dir=", ""},
      {"#include <h.h>\n", "--sysroot=", " -nostdinc -iwithsysroot /inc"},
      {"#include \"inc/h.h\"\n", "-I", ""},
  };
  for (const auto& [source, before, after] : cases) {
    write("src/a.c", source);
    build_in("build");
    ASSERT_TRUE(run(before + path("build_more").string() + after)) << before;
    build_in("out");
    EXPECT_FALSE(find(before + path("out_more").string() + after)) << before;
  }
  // A file that is missing has no name.
  write("src/a.c", "#if __has_embed(<other>)\nint f;\n#endif\n");
  build_in("build");
  ASSERT_TRUE(run("-std=c23 --embed-dir=" + path("build_more").string()));
  EXPECT_TRUE(find("-std=c23 --embed-dir=" + path("build_more").string()));
  write("out_more/other", "x");
  build_in("out");
  EXPECT_FALSE(find("-std=c23 --embed-dir=" + path("out_more").string()));
  // In names, only the start counts, so the same file has another one.
  write("build_x.h", "const char* f = __FILE__;\n");
  write("src/a.c", "#include \"build_x.h\"\n");
  for (const bool swapped : {false, true}) {
    build_in(swapped ? "out" : "build");
    ASSERT_TRUE(run("-I" + path("").parent_path().string()));
    build_in(swapped ? "build" : "out");
    EXPECT_FALSE(find("-I" + path("").parent_path().string()));
  }
}

TEST_F(Inputs, OfSourcesThatNameAnotherDirectoryLikeTheBuildsAreKept) {
  session_.prefixes = {{"/src", "."}};
  write("src/a.c", "#include \"../src/b.h\"\n");
  write("src/b.h", "int b;\n");
  EXPECT_NE(run("")->inputs, "");
  write("src/b.h", "#define PLACE \"/src/data\"\n");
  EXPECT_EQ(run("")->inputs, "");
}

// The result covers messages about the source.
TEST_F(Inputs, OfSourcesWithMessages) {
  for (const char* source : {"#warning careful\nint f;\n", "#define A 1\n#define A 2\nint f;\n",
                             "#if 0\n# STOCKHOLM 1.0\n#endif\nint f;\n"}) {
    write("src/a.c", source);
    ASSERT_TRUE(run("-march=x86-64"));
    EXPECT_TRUE(find("-march=x86-64-v3")) << source;
  }
  write("src/a.c", "#ifdef __AVX2__\n#warning careful\n#endif\nint f;\n");
  ASSERT_TRUE(run("-march=x86-64"));
  EXPECT_FALSE(find("-march=x86-64-v3"));
}

TEST_F(Inputs, ThatCannotBeDescribedAreNotKept) {
  for (const char* source :
       {"const char* f = __TIME__;\n", "const char* f = __DATE__;\n", "const char* f = __TIMESTAMP__;\n",
        "#define __LONG_MAX__ 1\nint f;\n", "#if __has_builtin(__builtin_ia32_vpdpbusd512)\nint f;\n#endif\n",
        "#define ASK(x) __has_builtin(__builtin_##x)\n#if ASK(ia32_vpdpbusd512)\nint f;\n#endif\n",
        "#define ASK(x) __has_builtin(__builtin_ia##x)\n#if ASK(32_vpdpbusd512)\nint f;\n#endif\n",
        "#if __has_builtin(__builtin_ia3\\\n2_vpdpbusd512)\nint f;\n#endif\n",
        "#if __has_builtin(__builtin_ia3\\ \t\r\n2_vpdpbusd512)\nint f;\n#endif\n",
        "const char* f = \"\\\\\";\n#if __has_builtin(__builtin_i\\\na3\\\n2_vpdpbusd512)\nint f;\n#endif\n",
        "#pragma GCC dependency \"a.c\"\nint f;\n", "#pragma GCC /*\n*/ dependency \"a.c\"\nint f;\n",
        "_Pragma(\"GCC dependency \\\"a.c\\\"\") int f;\n"}) {
    write("src/a.c", source);
    const auto result = run("-march=x86-64");
    ASSERT_TRUE(result) << source;
    EXPECT_EQ(result->inputs, "") << source;
  }
  write("src/a.c", "#if __has_builtin(__builtin_memcpy)\nint f;\n#endif\nconst char* s = \"a\\n\\\nb\";\n");
  EXPECT_NE(run("-march=x86-64")->inputs, "");
  write("src/a.c", "#if HAS(vpdpbusd512)\nint f;\n#endif\n");
  const auto by_option = run("-march=x86-64 '-DHAS(x)=__has_builtin(__builtin_ia32_##x)'");
  ASSERT_TRUE(by_option);
  EXPECT_EQ(by_option->inputs, "");
  write("src/a.c", "#if __has_builtin(__builtin_memcpy)\nint f;\n#endif\n"
                   "void g(void) { __builtin_ia32_pause(); } // which every x86 has\n");
  const auto result = run("-march=x86-64");
  ASSERT_TRUE(result);
  EXPECT_NE(result->inputs, "");
}

TEST_F(Inputs, WriteTheDependencyFilesOfThePreprocessor) {
  write("src/a.c", "#include <stddef.h>\n#include \"b $c#.h\"\n#include \"./d/e.h\"\n");
  write("src/b $c#.h", "int b;\n");
  write("src/d/e.h", "#include \"../b $c#.h\"\n");
  run("");
  for (const char* flags :
       {"-MD -MF ../build/a.d", "-MMD -MF ../build/a.d", "-MMD -MP -MT 'x y' -MF ../build/a.d",
        "-MD -MV -MQ 'a$b' -MF ../build/a.d", "-MD -MF ../build/a.d -O2 -march=x86-64-v3"}) {
    run(flags);
    const std::string truth = read("build/a.d");
    fs::remove(path("build/a.d"));
    const auto invocation = invocation_of(flags, "a.c");
    const auto found = find_inputs(session_, *invocation, unit_, files_read_once());
    ASSERT_TRUE(found) << flags;
    EXPECT_TRUE(write_dependencies(*invocation, found->dependencies));
    EXPECT_EQ(read("build/a.d"), truth);
  }
  const auto nowhere = invocation_of("-MD -MF ../none/a.d", "a.c");
  EXPECT_FALSE(write_dependencies(*nowhere, {{"a.c"}}));
}

// The newest records stay, each once.
TEST_F(Inputs, OfManyConfigurationsAreKept) {
  write("src/a.c", "#include \"config.h\"\nint f = A;\n");
  const auto configure = [&](int i) { write("src/config.h", "#define A " + std::to_string(i) + "\n"); };
  for (int i = 0; i < 20; ++i) {
    configure(i);
    run("");
    run("");
  }
  for (int i = 0; i < 20; ++i) {
    configure(i);
    EXPECT_EQ(find("").has_value(), i >= 4) << i;
  }
}

TEST_F(Inputs, ThatAreDamagedAreNotFound) {
  write("src/a.c", "#include \"b.h\"\nint f = __LONG_MAX__;\n");
  write("src/b.h", "int b;\n");
  const auto result = run("");
  ASSERT_TRUE(result);
  const auto invocation = invocation_of("", "a.c");
  Preprocessed damaged = *result;
  const store::Cache cache = store::Cache::at(session_.cache);
  unsigned found = 0;
  for (size_t i = 0; i < result->inputs.size(); i += 3) {
    for (const bool cut : {true, false}) {
      session_.cache = path("cache-" + std::to_string(i % 2) + (cut ? "c" : "b"));
      fs::remove_all(session_.cache);
      ASSERT_TRUE(store::Cache::open(session_.cache));
      damaged.inputs = result->inputs;
      if (cut)
        damaged.inputs.resize(i);
      else
        damaged.inputs[i] = '\n';
      remember_inputs(session_, *invocation, unit_, damaged);
      found += find_inputs(session_, *invocation, unit_, files_read_once()).has_value();
    }
  }
  // A byte in the words that were looked up, or in the name of a dependency, does not show.
  EXPECT_LT(found, result->inputs.size() / 3);
}

} // namespace

} // namespace xaas::known
