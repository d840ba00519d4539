#include "discover/testing.h"

namespace xaas::discover {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CMakeTest : public TreeTest {
protected:
  Findings read_cmake(const std::string& text) {
    write("CMakeLists.txt",
          "cmake_minimum_required(VERSION 3.16...3.28)\nproject(solver VERSION 2.1 LANGUAGES C Fortran)\n" +
              text);
    return read();
  }
};

TEST_F(CMakeTest, TheProject) {
  const Findings findings = read_cmake("enable_language(CUDA)\n");
  EXPECT_EQ(findings.system, spec::BuildSystem::cmake);
  EXPECT_EQ(findings.name, "solver");
  EXPECT_EQ(findings.version, "2.1");
  EXPECT_EQ(findings.minimum_version, "3.16");
  EXPECT_THAT(findings.languages, ElementsAre("C", "Fortran", "CUDA"));
}

TEST_F(CMakeTest, OptionsAndTheirDefaults) {
  const Findings findings = read_cmake(R"(
option(A "help of a" ON)
option(B "none")
set(yes TRUE)
option(C "by a variable" ${yes})
set(D 4 CACHE STRING "a text")
set(E "/opt" CACHE PATH "a place")
set(F on CACHE BOOL "the other way")
set(G x CACHE INTERNAL "nobody's")
include(CMakeDependentOption)
cmake_dependent_option(H "only with A" ON "A;NOT B" OFF)
find_package(Threads)
option(I "if it is found" ${Threads_FOUND})
mark_as_advanced(D)
)");
  ASSERT_TRUE(option(findings, "A"));
  EXPECT_EQ(option(findings, "A")->help, "help of a");
  EXPECT_EQ(option(findings, "A")->initial, "ON");
  EXPECT_EQ(option(findings, "A")->place, (Place{"CMakeLists.txt", 4}));
  EXPECT_EQ(option(findings, "B")->initial, "OFF");
  EXPECT_EQ(option(findings, "C")->initial, "ON");
  EXPECT_EQ(option(findings, "D")->initial, "4");
  EXPECT_EQ(option(findings, "D")->kind, Option::Kind::text);
  EXPECT_TRUE(option(findings, "D")->internal);
  EXPECT_TRUE(option(findings, "E")->takes_place);
  EXPECT_EQ(option(findings, "F")->initial, "ON");
  EXPECT_FALSE(option(findings, "G"));
  EXPECT_THAT(option(findings, "H")->conditions, ElementsAre("A", "NOT B"));
  EXPECT_EQ(option(findings, "I")->initial, std::nullopt);
}

// The project's own macros declare options, under any name.
TEST_F(CMakeTest, MacrosThatDeclareOptions) {
  write("cmake/Tools.cmake", R"(
function(MY_CHOICE NAME TEXT DEFAULT)
  string(REPLACE "[inside]" "" allowed "${ARGN}")
  set(${NAME} ${DEFAULT} CACHE STRING "${TEXT}")
  set_property(CACHE ${NAME} PROPERTY STRINGS ${allowed})
endfunction()
macro(my_switch name)
  cmake_parse_arguments(arg "QUIET" "DEFAULT" "NEEDS" ${ARGN})
  option(${name} "switch of ${name}" ${arg_DEFAULT})
endmacro()
)");
  const Findings findings = read_cmake(R"(
list(APPEND CMAKE_MODULE_PATH ${CMAKE_SOURCE_DIR}/cmake)
include(Tools)
set(first fast)
my_choice(KERNEL "the kernel" "${first}" slow fast "own[inside]")
my_switch(DEEP QUIET DEFAULT ON NEEDS x y)
)");
  const Option* const kernel = option(findings, "KERNEL");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->kind, Option::Kind::choice);
  EXPECT_THAT(kernel->values, ElementsAre("slow", "fast", "own[inside]"));
  EXPECT_EQ(kernel->initial, "fast");
  EXPECT_EQ(kernel->place, (Place{"CMakeLists.txt", 7})); // where a person looks for it
  ASSERT_TRUE(option(findings, "DEEP"));
  EXPECT_EQ(option(findings, "DEEP")->initial, "ON");
}

TEST_F(CMakeTest, BothSidesOfAConditionAreReadAndTheDefaultSideCounts) {
  const Findings findings = read_cmake(R"(
option(GPU "" OFF)
if(GPU)
  option(GPU_AWARE "" ON)
  set(kind gpu)
elseif(FROM_NOWHERE)
  set(kind nowhere)
else()
  set(kind cpu)
endif()
set(KIND ${kind} CACHE STRING "")
if(WIN32)
  option(ONLY_THERE "" ON)
endif()
check_include_file(omp.h HAVE_OMP)
if(HAVE_OMP)
  set(omp ON)
else()
  set(omp OFF)
endif()
option(OMP "" ${omp})
if(CMAKE_CXX_COMPILER_ID STREQUAL "Intel")
  set(TUNE mkl CACHE STRING "")
else()
  set(TUNE plain CACHE STRING "")
endif()
)");
  ASSERT_TRUE(option(findings, "GPU_AWARE"));
  EXPECT_THAT(option(findings, "GPU_AWARE")->conditions, ElementsAre("GPU"));
  EXPECT_EQ(option(findings, "KIND")->initial, "cpu");
  EXPECT_FALSE(option(findings, "ONLY_THERE"));
  EXPECT_EQ(option(findings, "OMP")->initial, "ON");
  EXPECT_EQ(option(findings, "TUNE")->initial, "plain");
}

TEST_F(CMakeTest, WhatFollowsAReturnIsForOthers) {
  write("special.cmake", R"(
function(special)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Sanitize")
    return()
  endif()
  set(FFT small CACHE STRING "")
endfunction()
special()
)");
  const Findings findings = read_cmake("include(special.cmake)\nset(FFT large CACHE STRING \"\")\n");
  EXPECT_EQ(option(findings, "FFT")->initial, "large");
  EXPECT_EQ(option(findings, "FFT")->place.file, "CMakeLists.txt");
}

TEST_F(CMakeTest, DirectoriesListsAndFilesByPattern) {
  write("part/CMakeLists.txt", "option(PART_${WHICH} \"\" ON)\n");
  write("more/b.cmake", "option(B \"\" ON)\n");
  write("more/a.cmake", "option(A \"\" ON)\n");
  const Findings findings = read_cmake(R"(
set(WHICH ONE)
add_subdirectory(part)
file(GLOB files "more/*.cmake")
foreach(file ${files})
  include(${file})
endforeach()
foreach(level IN ITEMS 2 3)
  option(LEVEL_${level} "" OFF)
endforeach()
find_package(FFTW 3.3 REQUIRED)
pkg_check_modules(X REQUIRED hwloc>=2.1)
)");
  for (const char* name : {"PART_ONE", "A", "B", "LEVEL_2", "LEVEL_3"})
    EXPECT_TRUE(option(findings, name)) << name;
  ASSERT_EQ(findings.packages.size(), 2u);
  EXPECT_EQ(findings.packages[0].name, "FFTW");
  EXPECT_EQ(findings.packages[0].version, "3.3");
  EXPECT_EQ(findings.packages[1].name, "hwloc");
  EXPECT_EQ(findings.packages[1].version, "2.1");
}

TEST_F(CMakeTest, SyntaxOfAllKinds) {
  const Findings findings = read_cmake(R"cmake(
#[[ option(IN_COMMENT "" ON)
]] option(AFTER_COMMENT "a \"quoted\" (help) # of it" ON)
OPTION (
  SPREAD # here
  [=[ brackets ]] in it ]=]
  ON)
set(TEXT "option(IN_STRING \"\" ON)")
)cmake");
  EXPECT_FALSE(option(findings, "IN_COMMENT"));
  EXPECT_FALSE(option(findings, "IN_STRING"));
  ASSERT_TRUE(option(findings, "AFTER_COMMENT"));
  EXPECT_EQ(option(findings, "AFTER_COMMENT")->help, "a \"quoted\" (help) # of it");
  ASSERT_TRUE(option(findings, "SPREAD"));
  EXPECT_EQ(option(findings, "SPREAD")->help, " brackets ]] in it ");
  EXPECT_THAT(findings.notes, IsEmpty());
}

TEST_F(CMakeTest, EntriesThatOnlyUsersMake) {
  const Findings findings = read_cmake(R"(
if(GPU_TARGETS)
  set_property(CACHE GPU_TARGETS PROPERTY HELPSTRING "architectures")
endif()
find_package(CUDAToolkit)
add_library(a a.c)
target_link_libraries(a PRIVATE CUDA::cusparse)
)");
  ASSERT_TRUE(option(findings, "GPU_TARGETS"));
  EXPECT_EQ(option(findings, "GPU_TARGETS")->help, "architectures");
  EXPECT_TRUE(std::any_of(findings.packages.begin(), findings.packages.end(),
                          [](const Package& package) { return package.name == "cusparse"; }));
}

TEST_F(CMakeTest, AnErrorIsNamedAndWhatIsBeforeItStays) {
  for (const char* bad : {"option(B \"no end ON)\n", "option(B \"\" ON\n", "?\n", "[[\n", "option\n"}) {
    const Findings findings = read_cmake(std::string("option(A \"\" ON)\n") + bad);
    EXPECT_TRUE(option(findings, "A")) << bad;
    EXPECT_THAT(findings.notes, Contains(HasSubstr("CMakeLists.txt:4: "))) << bad;
  }
}

TEST_F(CMakeTest, Presets) {
  write("cmake/base.json", R"json({"version": 4, "configurePresets": [
  {"name": "base", "hidden": true, "inherits": ["base"], "cacheVariables": {"GPU": false, "KERNEL": "plain"}}]})json");
  write("CMakePresets.json",
        R"json({"version": 4, "include": ["cmake/base.json", "CMakePresets.json", "../../x.json"],
 "configurePresets": [
  {"name": "node", "inherits": "base", "description": "of our machine",
   "cacheVariables": {"GPU": {"type": "BOOL", "value": "ON"}, "KERNEL": "wide", "BAD": 7}},
  {"name": "laptop", "inherits": ["base", "none"]}, {"no": "name"}, 3]})json");
  const Findings findings = read_cmake("option(GPU \"\" OFF)\nset(KERNEL plain CACHE STRING \"\")\n"
                                       "set(OTHER a CACHE STRING \"\")\n");
  ASSERT_EQ(findings.presets.size(), 2u);
  EXPECT_EQ(findings.presets[0].name, "node");
  EXPECT_EQ(findings.presets[0].place, (Place{"CMakePresets.json", 3}));
  EXPECT_EQ(findings.presets[0].variables,
            (std::map<std::string, std::string>{{"GPU", "ON"}, {"KERNEL", "wide"}}));
  EXPECT_EQ(findings.presets[1].variables.at("KERNEL"), "plain");
  EXPECT_THAT(option(findings, "KERNEL")->values, ElementsAre("plain", "wide"));
  EXPECT_EQ(option(findings, "OTHER")->kind, Option::Kind::text);
  write("CMakePresets.json", "[");
  EXPECT_THAT(read().notes, Contains(HasSubstr("CMakePresets.json")));
}

TEST_F(CMakeTest, PresetsThatInheritEachOtherAreCompletedOnce) {
  // Each inherits all others; following every path would take forever.
  std::string presets;
  for (int i = 0; i < 40; ++i) {
    presets += std::string(i ? "," : "") + "{\"name\": \"p" + std::to_string(i) + "\", \"inherits\": [";
    for (int j = 0; j < 40; ++j)
      presets += std::string(j ? "," : "") + "\"p" + std::to_string(j) + "\"";
    presets += "], \"cacheVariables\": {\"V" + std::to_string(i) + "\": \"" + std::string(1000, 'x') + "\"}}";
  }
  write("CMakePresets.json", "{\"include\": [\"none.json\"], \"configurePresets\": [" + presets + "]}");
  Findings findings = read_cmake("");
  EXPECT_EQ(findings.presets.size(), 40u);
  EXPECT_THAT(findings.notes, Contains(HasSubstr("none.json")));

  write("CMakePresets.json", R"json({"configurePresets": [
  {"name": "base", "hidden": true, "cacheVariables": {"KIND": "${sourceDir}/a", "SIMD": "AVX2"}},
  {"name": "none", "inherits": "base", "cacheVariables": {"SIMD": null}},
  {"name": "never", "condition": false, "cacheVariables": {"SIMD": "SSE2"}},
  {"name": "wide", "cacheVariables": {"SIMD": "AVX_512"}}]})json");
  findings = read_cmake("set(SIMD AUTO CACHE STRING \"\")\nset(KIND a CACHE STRING \"\")\n");
  EXPECT_FALSE(findings.presets[0].variables.count("SIMD"));
  EXPECT_THAT(option(findings, "SIMD")->values, ElementsAre("AUTO", "AVX_512"));
  EXPECT_EQ(option(findings, "KIND")->kind, Option::Kind::text);
}

TEST_F(CMakeTest, LinksToDirectoriesOfTheTree) {
  write("core/sub/CMakeLists.txt", "option(IN_SUB \"\" ON)\n");
  fs::create_directory_symlink("core/sub", tree() / "sub");
  fs::create_directory_symlink("..", tree() / "core/up");
  fs::create_directory_symlink("/etc", tree() / "outside");
  const Findings findings = read_cmake("add_subdirectory(sub)\nadd_subdirectory(core/up/core/up)\n"
                                       "add_subdirectory(outside)\n");
  ASSERT_TRUE(option(findings, "IN_SUB"));
  EXPECT_EQ(option(findings, "IN_SUB")->place.file, "core/sub/CMakeLists.txt");
}

TEST_F(CMakeTest, ACallWithManyWordsAndManyOptions) {
  std::string words;
  for (int i = 0; i < 3000; ++i)
    words += " \"OPT_1 OPT_2\" w" + std::to_string(i);
  const Findings findings =
      read_cmake("function(all)\n  foreach(a RANGE 1 1)\n  endforeach()\n  foreach(a 1 2 3 4 5 6 7 8 9)\n"
                 "    foreach(b 1 2 3 4 5 6 7 8 9)\n      option(OPT_${a}${b} \"\" ON)\n    endforeach()\n"
                 "  endforeach()\nendfunction()\noption(OPT_1 \"\" ON)\nall(" +
                 words + ")\n");
  ASSERT_TRUE(option(findings, "OPT_99"));
  EXPECT_EQ(option(findings, "OPT_99")->conditions.size(), 8u);
}

TEST_F(CMakeTest, ConfiguringConfirmsWhatWasRead) {
  write("CMakeLists.txt", R"(cmake_minimum_required(VERSION 3.16)
project(solver NONE)
option(A "" ON)
if(A_MACHINE_THAT_NOBODY_HAS)
  option(B "" OFF)
endif()
set(KIND one CACHE STRING "")
set(KINDS "one;two")
set_property(CACHE KIND PROPERTY STRINGS ${KINDS})
string(MAKE_C_IDENTIFIER "with c" name)
option(${name} "made of parts" OFF)
execute_process(COMMAND ${CMAKE_COMMAND} -E echo later OUTPUT_VARIABLE later OUTPUT_STRIP_TRAILING_WHITESPACE)
set(WHEN ${later} CACHE STRING "")
)");
  Findings findings = read();
  ASSERT_TRUE(option(findings, "B"));
  EXPECT_FALSE(option(findings, "with_c"));
  const auto done = configure_tree(tree(), {"-DA=OFF"}, findings);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(option(findings, "A")->configured, "OFF");
  EXPECT_EQ(option(findings, "A")->initial, "ON"); // not the value given to this run
  EXPECT_FALSE(option(findings, "B")->configured);
  EXPECT_THAT(option(findings, "KIND")->values, ElementsAre("one", "two"));
  ASSERT_TRUE(option(findings, "with_c"));
  EXPECT_EQ(option(findings, "with_c")->place, (Place{"CMakeLists.txt", 11}));
  EXPECT_EQ(option(findings, "WHEN")->initial, "later");
  EXPECT_EQ(findings.configured->added, 1u);
  EXPECT_EQ(findings.configured->not_reached, 1u);
  EXPECT_EQ(findings.configured->confirmed, 3u);
  EXPECT_FALSE(fs::exists(tree() / "CMakeCache.txt"));

  write("CMakeLists.txt", "message(FATAL_ERROR \"no such machine\")\n");
  const auto failed = configure_tree(tree(), {}, findings);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::failed);
  EXPECT_THAT(failed.error().message, HasSubstr("no such machine"));
  findings.system = spec::BuildSystem::meson;
  EXPECT_EQ(configure_tree(tree(), {}, findings).error().kind, ErrorKind::usage);
}

TEST_F(CMakeTest, NoLoopIsEndless) {
  write("loop.cmake",
        "include(loop.cmake)\nmacro(again)\n  again()\nendmacro()\nagain()\noption(A \"\" ON)\n");
  write("part/CMakeLists.txt", "add_subdirectory(..)\nadd_subdirectory(.)\n");
  std::string nested;
  for (int i = 0; i < 20000; ++i)
    nested += "if(A)\n";
  write("deep.cmake", nested);
  std::string doubling = "set(x aaaaaaaaaa)\n";
  for (int i = 0; i < 60; ++i)
    doubling += "set(x \"${x}${x}\")\nlist(APPEND x ${x})\n";
  write("long.cmake", doubling);
  write("loops.cmake", "foreach(a RANGE 1 1000000000)\nendforeach()\nwhile(TRUE)\n  set(b 1)\nendwhile()\n");
  Limits limits;
  limits.commands = 100'000;
  write("CMakeLists.txt", "include(loop.cmake)\nadd_subdirectory(part)\ninclude(deep.cmake)\ninclude(long."
                          "cmake)\ninclude(loops.cmake)\noption(B \"\" ON)\n");
  const Findings findings = read(limits);
  EXPECT_TRUE(option(findings, "A"));
}

TEST_F(CMakeTest, AGuardAgainstASecondReadingIsEntered) {
  const Findings findings = read_cmake(R"(
if(NOT TARGET solver)
  option(SLV_PLAIN "" OFF)
  if(SLV_PLAIN)
    option(SLV_USE_CUDA "" OFF)
  else()
    option(SLV_USE_CUDA "" ON)
  endif()
  if(COMMAND pybind11_add_module)
    set(SLV_AVX ON CACHE BOOL "")
  else()
    set(SLV_AVX OFF CACHE BOOL "")
  endif()
endif()
)");
  EXPECT_EQ(option(findings, "SLV_USE_CUDA")->initial, "ON");
  EXPECT_EQ(option(findings, "SLV_AVX")->initial, "OFF");
}

TEST_F(CMakeTest, TheVersionThatADefaultBuildNeeds) {
  write("CMakeLists.txt", "option(NEW \"\" OFF)\n"
                          "if(NEW)\ncmake_minimum_required(VERSION 3.11)\nelse()\n"
                          "cmake_minimum_required(VERSION 3.7...3.20)\nendif()\nproject(s C)\n");
  EXPECT_EQ(read().minimum_version, "3.7");
}
} // namespace
} // namespace xaas::discover
