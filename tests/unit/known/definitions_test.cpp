// Files of definitions: which changes of a config.h give other tokens.
#include "known/inputs_testing.h"

namespace xaas::known {

namespace {

// A source of the table, about WITH_A.
std::string of_a_definition(std::string source) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (size_t at = source.find(from); at != std::string::npos; at = source.find(from, at + to.size()))
      source.replace(at, from.size(), to);
  };
  replace("__AV\\\nX2__", "WITH\\\n_A");
  replace("__AV\\ \nX2__", "WITH\\ \n_A");
  replace("__##x##2__", "WITH##x");
  replace("HAS(AVX)", "HAS(_A)");
  replace("__AVX2__", "WITH_A");
  return source;
}

TEST_F(Inputs, DependOnDefinitionsThatAreRead) {
  const std::string flags = "-O2 -std=c23 -fopenmp -I../build";
  const char* const definitions[] = {"#define WITH_A 1", "/* #undef WITH_A */", "#define WITH_A 2"};
  std::vector<std::string> sources = {
      "#define CALL(x) x\nint f = CALL(WITH_A);\n",
      "#include \"b.h\"\nint f = WITH_B;\n",
      "#if __has_include(WITH_A)\n#endif\nint f;\n",
      "#if defined(WITH_A) && 0\n#endif\nint f;\n",
      "#undef WITH_A\nint f;\n",
      "#define WITH_A 1\nint f;\n",
      "int WITH_A;\n",
  };
  const std::string again = "#include \"config.h\"\nint f;\n"; // defining it twice is no difference
  sources.push_back(again);
  for (const char* source : sources_that_read)
    if (std::string mine = of_a_definition(source); mine != source)
      sources.push_back(std::move(mine));
  write("src/b.h", "#define WITH_B WITH_A\n");
  size_t number = 0;
  for (const std::string& source : sources)
    for (const char* first : definitions)
      for (const char* second : definitions) {
        if (first == second)
          continue;
        use_cache("cache-" + std::to_string(number++));
        write("src/a.c", "#include \"config.h\"\n" + source);
        write("build/config.h", std::string("#define OTHER 3\n") + first + "\n#define ONE 1\n");
        run(flags);
        write("build/config.h", std::string("#define OTHER 3\n") + second + "\n#define ONE 1\n");
        EXPECT_EQ(find(flags).has_value(), source == again && *first == '/')
            << source << first << " " << second;
      }
}

TEST_F(Inputs, DoNotDependOnDefinitionsThatNothingReads) {
  const std::string before = "#ifndef CONFIG_H\n#define CONFIG_H\n/* Words of\n   a comment. */\n",
                    after = "\n#if USED\n#define NAME \"a/b\" // text\n#endif\n#define LAST 0\n#endif\n";
  write("src/a.c", "#include <config.h>\n#include <stddef.h>\nint f = USED;\nconst char* g = \"WITH_A\";\n"
                   "#if 0\nWITH_A\n#endif\n// WITH_A\n");
  const std::string used = "#define USED 1\n";
  const auto config = [&](const std::string& lines) {
    write("build/config.h", before + used + lines + after);
  };
  for (const char* flags : {"-I../build", "-I../build -g -march=x86-64-v3"}) {
    const struct {
      const char *one, *two;
      bool same;
    } cases[] = {
        {"#define WITH_A 1", "#define WITH_A 0", true},
        {"#define WITH_A 1", "/* #undef WITH_A */", true},
        {"/* #undef WITH_A */", "#define WITH_A", true},
        {"#define WITH_A \"one\"", "#  define\tWITH_A \"another text\", (1 + 2) ", true},
        {"#define WITH_A \"AMD R\", \"it's\"", "#define WITH_A (0x1F + .5e-3)", true},
        {"#define WITH_A 1", "#define WITH_A 1.5", true},
        {"#define WITH_A 1", "#define WITH_A .b", false},
        {"#define WITH_A 1", "#define WITH_A b", false}, // words
        {"#define WITH_A 1\n/* #undef WITH_B */", "/* #undef WITH_A */\n#define WITH_B", true},
        {"#define WITH_A 1\n/* #undef WITH_B */", "/* #undef WITH_B */\n#define WITH_A 2", false}, // order
        {"#define WITH_A 1", "#define WITH_A 1\n", false},                                         // lines
        {"#define WITH_A 1", "#define WITH_C 1", false},    // may be read
        {"#define WITH_A 1", "#define WITH_A(x) 1", false}, // forms that are not read
        {"#define WITH_A 1", "#define WITH_A '1'", false},
        {"#define WITH_A 1", "#define WITH_A 1 // one", false},
        {"#define WITH_A 1", "#define WITH_A 1 /*", false},
        {"#define WITH_A 1", "/* #undef WITH_A", false},
        {"#define WITH_A 1", "#define WITH_A \\", false},
        {"#define WITH_A 1", "#define WITH_A #", false},
        {"#define WITH_A 1", "#define WITH_A\"1\"", false},
        {"#define WITH_A 1", "int i;", false},
        {"#define WITH_A 1", "/* #undef WITH_A */ int i;", false},
        {"#define WITH_A 1\n", "#define WITH_A 1\n#define WITH_A 2", false}, // twice
        {"#define __WITH_A 1", "#define __WITH_A 2", false},                 // reserved
        {"#define _WITH_A 1", "#define _WITH_A 2", false},
        {"#define inline 1", "#define inline 2", false},
        {"/* a */", "/* b */", false},
    };
    size_t number = 0;
    for (const auto& [one, two, same] : cases)
      for (const bool swapped : {false, true}) {
        use_cache("cache-" + digest_of(flags).hex() + std::to_string(number++));
        config(swapped ? two : one);
        run(flags);
        config(swapped ? one : two);
        EXPECT_EQ(find(flags).has_value(), same) << one << "\n" << two << "\n" << swapped << flags;
      }
  }
  // What is read, and everything around it, must be equal.
  config("#define WITH_A 1");
  ASSERT_TRUE(run("-I../build"));
  config("#define WITH_A 2");
  EXPECT_TRUE(find("-I../build"));
  write("build/config.h", before + "#define USED 2\n#define WITH_A 1" + after);
  EXPECT_FALSE(find("-I../build"));
  write("build/config.h", before + " #define USED 1\n#define WITH_A 1" + after);
  EXPECT_FALSE(find("-I../build"));
  write("build/config.h", before + used + "#define WITH_A 1" + after + "\n");
  EXPECT_FALSE(find("-I../build"));
}

// Forms of config.h in which Clang finds other comments than a simple reader does, or looks at definitions
// that nothing expands.
TEST_F(Inputs, DependOnDefinitionsThatClangLooksAt) {
  const std::string used = "#include \"config.h\"\n#ifdef USED\nint used;\n#else\nint none;\n#endif\n",
                    plain = "#include \"config.h\"\nint f;\n", x = "#define X 1\n", no_x = "/* #undef X */\n",
                    end = "#define USED 5\n/**/\n";
  const struct {
    std::string flags, source, one, two, file = "a.c";
  } cases[] = {
      {"-std=c89", used, "#define Q 1 //* off:\n" + x + end, "#define Q 1 //* off:\n" + no_x + end},
      {"", used, "#include <sys//cdefs.h> /* off:\n" + x + end,
       "#include <sys//cdefs.h> /* off:\n" + no_x + end},
      {"", used, "#warning see /*\n#define S \"*/\" /* \"\n" + x + end,
       "#warning see /*\n#define S \"*/\" /* \"\n" + no_x + end},
      {"", used, "#pragma mark see /*\n#define S \"*/\" /* \"\n" + x + end,
       "#pragma mark see /*\n#define S \"*/\" /* \"\n" + no_x + end},
      {"", plain, "/* a */\n#include \"other.h\"\n" + x, x + "#include \"other.h\"\n/* a */\n"},
      {"", plain, "\n#include \"other.h\"\n" + x, x + "#include \"other.h\"\n\n"},
      {"-g", plain, "#pragma once\n" + x, "#pragma once\n" + no_x},
      {"", "#include \"config.h\"\n#pragma weak alias = real\nint real(void) { return 1; }\n",
       "#pragma weak alias = real\n" + x, "#pragma weak alias = real\n" + no_x},
      {"-std=c++11", plain, x, "#define X \"a\"PRIu64\n", "a.cpp"},
      {"-std=c++11 -Weverything", plain, x, "#define X u8\"a\"\n", "a.cpp"},
      {"-std=c++17", plain, x, "#define X a<=>b\n", "a.cpp"},
      {"-std=c++98 -Weverything", plain, x, "#define X v<::T>\n", "a.cpp"},
      {"-pedantic", plain, x, "#define X __VA_ARGS__\n"},
      {"", "#pragma GCC poison strcpy\n" + plain, x, "#define X strcpy\n"},
      {"", "_Pragma(\"GCC poison strcpy\")\n" + plain, x, "#define X strcpy\n"},
      {"", plain, "/* #undef defined */\n", "#define defined 1\n"},
      {"-Weverything", plain, "#define override\n", "/* #undef override */\n", "a.cpp"},
      {"-Weverything", plain, "#define nodiscard\n", "/* #undef nodiscard */\n", "a.cpp"},
      {"", plain, "#ifndef X_H\n#define X_J\n#endif\n", "#ifndef X_H\n/* #undef X_J */\n#endif\n"},
      {"", plain, "#ifndef X_H\n#define X_J\n#endif\n", "#ifndef X_H\n#define X_J 1\n#endif\n"},
      {"", plain, no_x + "#define X 1 // one\n", "#define X 2\n#define X 1 // one\n"},
      {"", plain, no_x + "#define X {1}\n", "#define X 2\n#define X {1}\n"},
      {"", plain, "#define NULL 0\n", "/* #undef NULL */\n"},
      {"", plain, no_x + "#ifndef X_H\n#define X_G\n#endif\n", x + "#ifndef X_H\n#define X_G\n#endif\n"},
      {"", plain, "#ifndef X_H\n#define X_G\n#endif\n" + no_x, "#ifndef X_H\n#define X_G\n#endif\n" + x},
      {"-Weverything", plain, "#define Q 1\n#define X 1", "#define Q 1\n#define X 12345"},
      {"", "#include \"config.h\"\nconst char* s = \"max_align_t\";\n#include <stddef.h>\n", x,
       "#define X max_align_t\n"},
      {"", plain, "#if 0\n" + no_x + "#endif\n", "#if 0\n" + x + "#endif\n"},
  };
  write("src/other.h", "int X(void) { return 1; }\n");
  size_t number = 0;
  for (const auto& [flags, source, one, two, file] : cases)
    for (const bool swapped : {false, true}) {
      use_cache("cache-" + std::to_string(number++));
      write("src/" + file, source);
      write("build/config.h", swapped ? two : one);
      run(flags + " -I../build", file);
      write("build/config.h", swapped ? one : two);
      EXPECT_FALSE(find(flags + " -I../build", file)) << flags << "\n" << one << two << swapped;
    }
}

// Warnings may be about macros that nothing reads.
TEST_F(Inputs, DependOnDefinitionsInTheMainFileAndInTwoFiles) {
  write("src/a.c", "#include \"config.h\"\n#include \"b.h\"\nint f;\n");
  const std::string defined = "#define WITH_A 1\n", undefined = "/* #undef WITH_A */\n";
  for (const bool swapped : {false, true}) {
    use_cache(swapped ? "cache-2" : "cache-1");
    write("build/config.h", undefined);
    write("src/b.h", swapped ? defined : undefined);
    ASSERT_TRUE(run("-I../build"));
    write("build/config.h", defined);
    EXPECT_FALSE(find("-I../build")) << swapped;
  }
  write("src/a.c", "#define WITH_A 1\n");
  ASSERT_TRUE(run("-Wunused-macros"));
  write("src/a.c", undefined);
  EXPECT_FALSE(find("-Wunused-macros"));
  // On the command line, too.
  write("src/a.c", "#include \"config.h\"\nint f;\n");
  write("build/config.h", undefined);
  ASSERT_TRUE(run("-I../build -DWITH_A=2"));
  write("build/config.h", defined);
  EXPECT_FALSE(find("-I../build -DWITH_A=2"));
  // A size that is read.
  write("src/a.c", "#include \"config.h\"\nchar f[] = {\n#embed <config.h> limit(1)\n};\n");
  ASSERT_TRUE(run("-std=c23 -I../build --embed-dir=../build"));
  write("build/config.h", undefined);
  EXPECT_FALSE(find("-std=c23 -I../build --embed-dir=../build"));
}

} // namespace

} // namespace xaas::known
