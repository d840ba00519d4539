#include "discover/testing.h"

namespace xaas::discover {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GuessTest : public TreeTest {
protected:
  Findings read_cmake(const std::string& text) {
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(solver CXX)\n" + text);
    return read();
  }
};

// The modules that define these commands are not in the tree.
TEST_F(GuessTest, CallsWithThePartsOfADeclaration) {
  const Findings findings = read_cmake(R"(
include(not_here)
slv_switch(SLV_MPI "Use MPI for messages" ON)
slv_add(SLV_GPU "Framework for GPUs" OFF OFF CUDA HIP)
slv_choice(SLV_FFT "FFT library" "fftw3" fftw3 mkl "fftpack[built-in]")
slv_dependent(SLV_OWN_FFTW "Build a FFTW" ON "SLV_FFT STREQUAL fftw3")
slv_entry(SLV_WIDTH "Width of vectors" STRING "4" "SLV_MPI")
slv_entry(SLV_ROOT "Where it is" PATH "/opt")
slv_add_option_and_define(Slv_ENABLE_OpenMP HAVE_OPENMP "Use OpenMP for loops" OFF)
slv_option(CUDA_LAMBDA BOOL OFF "Whether lambdas are used")
slv_add_option(FEATURE THREADS DEFAULT ON DESCRIPTION "Use threads" CONDITION "SLV_MPI")
slv_add_option(NAME SLV_LEVEL DEFAULT low DESCRIPTION "How much" VALUES low high)
)");
  const auto get = [&](const char* name) {
    const Option* const found = option(findings, name);
    EXPECT_TRUE(found) << name;
    EXPECT_TRUE(!found || found->guessed) << name;
    return found ? *found : Option();
  };
  EXPECT_EQ(get("SLV_MPI").initial, "ON");
  EXPECT_EQ(get("SLV_MPI").help, "Use MPI for messages");
  EXPECT_EQ(get("SLV_MPI").place, (Place{"CMakeLists.txt", 5}));
  EXPECT_THAT(get("SLV_GPU").values, ElementsAre("OFF", "CUDA", "HIP"));
  EXPECT_EQ(get("SLV_GPU").initial, "OFF");
  EXPECT_THAT(get("SLV_FFT").values, ElementsAre("fftw3", "mkl", "fftpack[built-in]"));
  EXPECT_EQ(get("SLV_OWN_FFTW").kind, Option::Kind::boolean);
  EXPECT_EQ(get("SLV_OWN_FFTW").initial, "ON");
  EXPECT_THAT(get("SLV_OWN_FFTW").conditions, ElementsAre("SLV_FFT STREQUAL fftw3"));
  EXPECT_EQ(get("SLV_WIDTH").kind, Option::Kind::text);
  EXPECT_EQ(get("SLV_WIDTH").initial, "4");
  EXPECT_TRUE(get("SLV_ROOT").takes_place);
  EXPECT_EQ(get("Slv_ENABLE_OpenMP").initial, "OFF");
  EXPECT_EQ(get("CUDA_LAMBDA").initial, "OFF");
  EXPECT_EQ(get("ENABLE_THREADS").initial, "ON");
  EXPECT_THAT(get("SLV_LEVEL").values, ElementsAre("low", "high"));
  EXPECT_THAT(findings.notes, ElementsAre(HasSubstr("10 options are guessed")));
}

TEST_F(GuessTest, OtherCallsAreNotDeclarations) {
  const Findings findings = read_cmake(R"(
set(SLV_TEXT "a b")
message(STATUS "a b" ON)
list(APPEND SLV_LIST "a b" ON)
install(FILES "a b" OFF)
slv_print(STATUS "a text")
slv_sources(SLV_SOURCES "a.cpp b.cpp")
slv_sources(SLV_MORE "The files" a.cpp b.cpp c.cpp)
slv_test(solve "Runs it once" ON)
add_feature_info(SLV_X SLV_X_FOUND "a text of it")
find_package_handle_standard_args(SLV "not found here" SLV_LIBRARY)
)");
  EXPECT_THAT(findings.options, IsEmpty());
  EXPECT_THAT(findings.notes, IsEmpty());
}

// What is defined in the tree is followed, not guessed.
TEST_F(GuessTest, CommandsOfTheTreeAreNotGuessed) {
  const Findings findings = read_cmake(R"(
macro(slv_switch name text value)
  option(WITH_${name} "${text}" ${value})
endmacro()
slv_switch(MPI "Use MPI for messages" ON)
function(slv_show NAME)
endfunction()
slv_show(SLV_X "What it is" ON)
)");
  ASSERT_EQ(findings.options.size(), 1u);
  EXPECT_EQ(findings.options[0].name, "WITH_MPI");
  EXPECT_FALSE(findings.options[0].guessed);
}

TEST_F(GuessTest, AVariableWithoutWhichConfiguringFails) {
  const Findings findings = read_cmake(R"(
macro(model NAME)
  list(APPEND MODELS ${NAME})
endmacro()
model(serial)
model(omp)
model(cuda)
model(tbb)
if(NOT DEFINED MODEL)
  message(FATAL_ERROR "MODEL is undefined, there are ${MODELS}")
endif()
set(LEVEL "" CACHE STRING "how much")
set_property(CACHE LEVEL PROPERTY STRINGS low high)
if(LEVEL STREQUAL "")
  message(SEND_ERROR "choose a level")
endif()
option(A "a switch" ON)
if(NOT A)
  message(FATAL_ERROR "without A, B must be given")
endif()
find_package(Found)
if(NOT Found_FOUND)
  message(FATAL_ERROR "FOUND is missing")
endif()
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_BINARY_DIR)
  message(FATAL_ERROR "not in the tree")
endif()
)");
  const Option* const model = option(findings, "MODEL");
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->required);
  EXPECT_THAT(model->values, ElementsAre("serial", "omp", "cuda", "tbb"));
  ASSERT_TRUE(option(findings, "LEVEL"));
  EXPECT_TRUE(option(findings, "LEVEL")->required);
  ASSERT_TRUE(option(findings, "A"));
  EXPECT_FALSE(option(findings, "A")->required);
  EXPECT_EQ(findings.options.size(), 3u);

  const Discovery found = classify(findings);
  const DiscoveredPoint* const point_of_model = point(found, "model");
  ASSERT_TRUE(point_of_model);
  EXPECT_THAT(values(*point_of_model), ElementsAre("serial", "omp", "cuda", "tbb"));
  EXPECT_THAT(point_of_model->point.find("cuda")->arguments, ElementsAre("-DMODEL=cuda"));
}

TEST_F(GuessTest, WordsThatConditionsCompareWith) {
  const Findings findings = read_cmake(R"(
set(VENDOR "openblas" CACHE STRING "which BLAS")
if(VENDOR STREQUAL "openblas")
elseif("${VENDOR}" STREQUAL "mkl")
endif()
set(BACKEND "none" CACHE STRING "for GPUs")
string(TOUPPER "${BACKEND}" backend)
if(backend STREQUAL "CUDA")
elseif(backend STREQUAL "HIP")
endif()
set(KIND "a" CACHE STRING "one of a list")
set(kinds a b c)
if(NOT KIND IN_LIST kinds)
  message(FATAL_ERROR "no such kind")
endif()
set(TITLE "my solver" CACHE STRING "free text")
if(TITLE STREQUAL "x")
elseif(TITLE STREQUAL "y")
endif()
)");
  EXPECT_THAT(option(findings, "VENDOR")->values, ElementsAre("openblas", "mkl"));
  EXPECT_THAT(option(findings, "BACKEND")->values, ElementsAre("none", "CUDA", "HIP"));
  EXPECT_THAT(option(findings, "KIND")->values, ElementsAre("a", "b", "c"));
  EXPECT_EQ(option(findings, "TITLE")->kind, Option::Kind::text);
}

} // namespace
} // namespace xaas::discover
