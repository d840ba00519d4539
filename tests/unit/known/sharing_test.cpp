// Compiles that share an IR module, and compiles that must not.
#include "frontdoor/testing.h"
#include "known/sharing_pairs.h"

#include <xaas/session/log.h>
#include <xaas/store/cache.h>

#include <gmock/gmock.h>

#include <set>

namespace xaas::known {

namespace {

using frontdoor::FrontDoorTest;

class Sharing : public FrontDoorTest {
protected:
  struct Outcome {
    Digest module;
    Digest object; // of the parts of the working object that reach a program
    std::string messages;
    bool operator==(const Outcome&) const = default;
  };

  // Compiles in the session of this name, or in that of the level.
  Outcome outcome_of(const Pair& pair, const Compile& compile, const std::string& session = {}) {
    const std::string source = std::string("src/unit.") + pair.extension;
    write(source, compile.source.empty() ? pair.source : compile.source);
    use_level(session.empty() ? compile.level : session, compile.level);
    Outcome outcome;
    outcome.messages = sh("$CC " + compile.flags + " -c unit." + pair.extension + " -o ../build/unit.o");
    outcome.module = unit_of("build/unit.o").module;
    const auto object = link::content_digest(read("build/unit.o"));
    EXPECT_TRUE(object);
    if (object)
      outcome.object = *object;
    return outcome;
  }
  Digest module_of(const Pair& pair, const Compile& compile) { return outcome_of(pair, compile).module; }

  void use_cache(const std::string& name) {
    session_.cache = path(name);
    ASSERT_TRUE(store::Cache::open(session_.cache));
  }
};

class SharingOf : public Sharing, public ::testing::WithParamInterface<Pair> {};

TEST_P(SharingOf, Pair) {
  const Pair& pair = GetParam();
  const Digest one = module_of(pair, pair.one);
  const Digest two = module_of(pair, pair.two);
  EXPECT_EQ(one == two, pair.share) << pair.name;
}

// Earlier compiles do not change the result of a compile: module, working object, messages and exit code.
TEST_P(SharingOf, KnownOutcomesAreThoseOfCompiling) {
  const Pair& pair = GetParam();
  for (const bool swapped : {false, true}) {
    const Compile& first = swapped ? pair.two : pair.one;
    const Compile& second = swapped ? pair.one : pair.two;
    const std::string suffix = swapped ? "-2" : "-1";
    session_.cache.clear();
    const Digest module = outcome_of(pair, second, "without" + suffix).module;
    use_cache("cache-alone" + suffix);
    const Outcome truth = outcome_of(pair, second, "alone" + suffix);
    EXPECT_EQ(truth.module, module) << pair.name << suffix;
    use_cache("cache" + suffix);
    outcome_of(pair, first, "first" + suffix);
    EXPECT_EQ(outcome_of(pair, second, "second" + suffix), truth) << pair.name << suffix;
    EXPECT_EQ(outcome_of(pair, second, "again" + suffix), truth) << pair.name << suffix;
    const auto log = session::read_compile_log(session_);
    ASSERT_TRUE(log);
    EXPECT_EQ(log->compiled, 0u);
    EXPECT_EQ(log->reused, 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SharingOf, ::testing::ValuesIn(pairs), name_of_pair);

// Only `isa` asks for the instruction set (token_recorder.cpp). A new version of Clang may know more
// selectors.
TEST(SelectorsOfOpenMP, AreKnown) {
  const std::set<std::string> selectors = {
#define OMP_TRAIT_SELECTOR(Enum, TraitSet, Name, RequiresProperty) Name,
#include <llvm/Frontend/OpenMP/OMPKinds.def>
  };
  EXPECT_THAT(selectors,
              ::testing::IsSubsetOf({"invalid", "kind", "arch", "isa", "device_num", "vendor", "extension",
                                     "condition", "target", "teams", "parallel", "for", "simd", "dispatch",
                                     // clauses of `requires`
                                     "unified_address", "unified_shared_memory", "self_maps",
                                     "reverse_offload", "dynamic_allocators", "atomic_default_mem_order"}));
  EXPECT_TRUE(selectors.contains("isa"));
}

TEST_F(Sharing, GeneratedSourceWithOtherContent) {
  for (const char* build : {"one", "two"}) {
    write(std::string("build/") + build + "/config.c",
          std::string("int f(void) { return ") + (*build == 'o' ? "1" : "2") + "; }\n");
    sh(std::string("cd ../build/") + build + " && $CC -O2 -c config.c -o ../" + build + ".o");
  }
  EXPECT_NE(unit_of("build/one.o").module, unit_of("build/two.o").module);
}

TEST_F(Sharing, ForcedHeaderWithOtherContent) {
  write("src/a.c", "int f(void) { return VALUE; }\n");
  for (const char* value : {"1", "2"}) {
    write("build/forced.h", std::string("#define VALUE ") + value + "\n");
    sh(std::string("$CC -O2 -include ../build/forced.h -c a.c -o ../build/") + value + ".o");
  }
  EXPECT_NE(unit_of("build/1.o").module, unit_of("build/2.o").module);
}

TEST_F(Sharing, OrderOfIncludeDirectories) {
  write("src/a.c", "#include <value.h>\nint f(void) { return VALUE; }\n");
  write("src/x/value.h", "#define VALUE 1\n");
  write("src/y/value.h", "#define VALUE 2\n");
  sh("$CC -O2 -Ix -Iy -c a.c -o ../build/1.o && $CC -O2 -Iy -Ix -c a.c -o ../build/2.o");
  EXPECT_NE(unit_of("build/1.o").module, unit_of("build/2.o").module);
}

// __FILE__, debug information and the source's name do not depend on the build's location.
TEST_F(Sharing, BuildDirectoriesInPaths) {
  write("src/a.c", "#include <assert.h>\n#include \"made.h\"\nint f(int a) { assert(a); return made(a); }\n");
  std::vector<Digest> modules;
  for (const char* build : {"build-1", "build-2/deeper"}) {
    write(std::string(build) + "/made.h", "static int made(int a) { return __FILE__[a]; }\n");
    session_.directory = path(std::string("session-") + (modules.empty() ? "1" : "2"));
    session_.prefixes[1].first = path(build);
    ASSERT_TRUE(frontdoor::create_session(session_, XAAS_PROGRAM));
    const std::string object = path(build).string() + "/a.o";
    sh("cd " + path(build).string() + " && $CC -g -O2 -I. -c " + path("src/a.c").string() + " -o a.o");
    const ir::Unit unit = unit_of(std::string(build) + "/a.o");
    EXPECT_EQ(unit.source, "a.c");
    modules.push_back(unit.module);
  }
  EXPECT_EQ(modules[0], modules[1]);
}

// Clang records the position of inline assembly in the file, which does not change the program.
TEST_F(Sharing, PositionsOfInlineAssembly) {
  write("src/a.c", "#include VARIANT\nvoid f(void) { __asm__ volatile(\"nop\\n nop\"); }\n");
  write("src/short.h", "\n");
  write("src/long.h", "/* a long comment\n\n\n\n*/\nstruct unused { int a; };\n");
  sh("$CC -O2 -DVARIANT='\"short.h\"' -c a.c -o ../build/1.o && $CC -O2 -DVARIANT='\"long.h\"' -c a.c -o "
     "../build/2.o");
  EXPECT_EQ(unit_of("build/1.o").module, unit_of("build/2.o").module);
}

TEST_F(Sharing, SourceFileNameIsPartOfTheUnitNotOfTheModule) {
  write("src/a.c", plain);
  write("src/b.c", plain);
  sh("$CC -O2 -c a.c -o ../build/a.o && $CC -O2 -c b.c -o ../build/b.o");
  const ir::Unit a = unit_of("build/a.o"), b = unit_of("build/b.o");
  EXPECT_EQ(a.module, b.module);
  EXPECT_EQ(a.source, "a.c");
  EXPECT_NE(a.id(), b.id());
}

// On the target, a file that assembly reads would be another file or none, so the object is carried as it is.
TEST_F(Sharing, AssemblyThatReadsFilesIsNative) {
  write("src/data", "data");
  const std::pair<const char*, const char*> sources[] = {
      {"plain", "asm(\".data\\nblob: .incbin \\\"data\\\"\\n.text\");\n"},
      {"upper", "asm(\".data\\nblob: .INCBIN \\\"data\\\"\\n.text\");\n"},
      {"macro", "asm(\".macro m x\\n.inc\\\\x \\\"data\\\"\\n.endm\\n.data\\nblob: m bin\\n.text\");\n"},
      {"inside",
       "void f(void) { asm volatile(\".pushsection .data\\n.incbin \\\"data\\\"\\n.popsection\"); }\n"},
  };
  for (const auto& [name, text] : sources) {
    const std::string stem = name;
    write("src/" + stem + ".c", text);
    sh("$CC -O2 -c " + stem + ".c -o ../build/" + stem + ".o");
    EXPECT_FALSE(is_captured("build/" + stem + ".o")) << name;
    EXPECT_NE(read("build/" + stem + ".o").find("data"), std::string::npos) << name;
  }
}

} // namespace

} // namespace xaas::known
