#include "discover/testing.h"

namespace xaas::discover {
namespace {

using ::testing::ElementsAre;

class ClassifyTest : public TreeTest {
protected:
  Discovery of_cmake(const std::string& text) {
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(solver)\n" + text);
    findings = read();
    return classify(findings);
  }
  Findings findings;
};

TEST_F(ClassifyTest, SwitchesByTheirNameWithoutPrefix) {
  const Discovery found = of_cmake(R"(
option(SLV_WITH_MPI "" OFF)
option(SLV_ENABLE_OPENMP "" ON)
option(SLV_USE_CUDA "" OFF)
option(SLV_DOUBLE "" OFF)
option(SLV_CUDA_AWARE_MPI "" OFF)
option(SLV_BUILD_TESTS "" ON)
option(SLV_MPI_DEBUG "" OFF)
)");
  ASSERT_EQ(found.points.size(), 4u);
  const DiscoveredPoint* const mpi = point(found, "mpi");
  ASSERT_TRUE(mpi);
  EXPECT_EQ(mpi->point.category, "communication");
  EXPECT_EQ(mpi->point.default_, "off");
  EXPECT_THAT(mpi->point.find("on")->arguments, ElementsAre("-DSLV_WITH_MPI=ON"));
  EXPECT_THAT(mpi->evidence, ElementsAre(Place{"CMakeLists.txt", 4}));
  EXPECT_EQ(point(found, "openmp")->point.default_, "on");
  EXPECT_EQ(point(found, "cuda")->point.find("on")->requires_.gpu->vendor, "nvidia");
  EXPECT_EQ(point(found, "double")->point.category, "precision");
}

TEST_F(ClassifyTest, ChoicesByTheirValues) {
  const Discovery found = of_cmake(R"(
set(SLV_SIMD AUTO CACHE STRING "")
set_property(CACHE SLV_SIMD PROPERTY STRINGS AUTO None SSE2 AVX2_256 AVX_512 ARM_NEON_ASIMD IBM_VSX)
set(SLV_FFT_LIBRARY fftw3 CACHE STRING "")
set_property(CACHE SLV_FFT_LIBRARY PROPERTY STRINGS fftw3 mkl kiss)
set(SLV_GPU OFF CACHE STRING "")
set_property(CACHE SLV_GPU PROPERTY STRINGS OFF CUDA HIP)
set(SLV_OUTPUT text CACHE STRING "")
set_property(CACHE SLV_OUTPUT PROPERTY STRINGS text binary)
)");
  ASSERT_EQ(found.points.size(), 3u);
  const DiscoveredPoint* const simd = point(found, "simd");
  ASSERT_TRUE(simd);
  EXPECT_EQ(simd->point.category, "cpu");
  EXPECT_EQ(simd->point.default_, "AUTO");
  EXPECT_THAT(values(*simd), ElementsAre("AUTO", "None", "SSE2", "AVX2_256", "AVX_512", "ARM_NEON_ASIMD"));
  EXPECT_THAT(simd->point.find("AVX2_256")->requires_.cpu, ElementsAre("avx2", "fma"));
  EXPECT_THAT(simd->point.find("SSE2")->arguments, ElementsAre("-DSLV_SIMD=SSE2"));
  EXPECT_EQ(point(found, "fft-library")->point.category, "fft");
  EXPECT_EQ(point(found, "gpu")->point.find("HIP")->requires_.gpu->vendor, "amd");
  EXPECT_EQ(found.gpu_flag, "-DSLV_GPU");
}

TEST_F(ClassifyTest, OfSeveralSwitchesTheOneThatTheSearchDependsOn) {
  const Discovery found = of_cmake(R"(
option(OPENMP "a part of that name" OFF)
option(BUILD_OMP "" ON)
if(BUILD_OMP)
  find_package(OpenMP REQUIRED)
endif()
)");
  EXPECT_EQ(point(found, "openmp")->option, "BUILD_OMP");
}

TEST_F(ClassifyTest, APrefixOfOneOptionAlone) {
  const Discovery found = of_cmake(R"(
option(XYZ_OPENMP "searched for" ON)
if(XYZ_OPENMP)
  find_package(OpenMP)
endif()
option(XYZ_CUDA "nobody knows" OFF)
)");
  EXPECT_EQ(point(found, "openmp")->option, "XYZ_OPENMP");
  EXPECT_FALSE(point(found, "cuda"));
}

TEST_F(ClassifyTest, TheOptionThatALibraryIsLookedForUnder) {
  const Discovery found = of_cmake(R"(
option(BUILD_DISTRIBUTED "" ON)
if(BUILD_DISTRIBUTED)
  find_package(MPI)
endif()
option(BUILD_TESTS "" OFF)
if(BUILD_TESTS)
  find_package(OpenMP)
endif()
find_package(Threads)
)");
  ASSERT_EQ(found.points.size(), 1u);
  EXPECT_EQ(point(found, "mpi")->option, "BUILD_DISTRIBUTED");
  EXPECT_EQ(point(found, "mpi")->point.default_, "on");
  ASSERT_EQ(found.choices.size(), 1u); // no target links the threads
  EXPECT_EQ(found.choices[0].flag, "-DBUILD_DISTRIBUTED");
}

TEST_F(ClassifyTest, ValuesOfOneOptionAreBetterThanSwitches) {
  const Discovery found = of_cmake(R"(
set(SLV_GPU OFF CACHE STRING "")
set_property(CACHE SLV_GPU PROPERTY STRINGS OFF CUDA SYCL)
option(SLV_SYCL_HIPSYCL "" OFF)
option(SLV_HIPSYCL "" OFF)
if(SLV_HIPSYCL)
  find_package(hipsycl)
endif()
set(SLV_MAGMA_BACKENDS CUDA CACHE STRING "of a library")
set_property(CACHE SLV_MAGMA_BACKENDS PROPERTY STRINGS CUDA HIP)
)");
  ASSERT_EQ(found.points.size(), 1u);
  std::map<std::string, std::string> flags;
  for (const Choice& choice : found.choices)
    flags[choice.name] = choice.flag;
  EXPECT_EQ(flags,
            (std::map<std::string, std::string>{{"CUDA", "-DSLV_GPU=CUDA"}, {"SYCL", "-DSLV_GPU=SYCL"}}));
}

TEST_F(ClassifyTest, ValuesThatOnlyTheHelpLists) {
  const Discovery found = of_cmake(R"cmake(
set(VEC avx CACHE STRING "Vectorization to use (scalar sse avx avxfma micavx512)")
set(KERNEL plain CACHE STRING "Kernel (see the manual)")
set(FFT fftw3 CACHE STRING "FFT library: kissfft, fftw3 or mkl. The default is good.")
)cmake");
  ASSERT_EQ(found.points.size(), 2u);
  ASSERT_TRUE(point(found, "vec")); // an option of instruction sets is a choice under any name
  EXPECT_THAT(values(*point(found, "vec")), ElementsAre("scalar", "sse", "avx", "avxfma"));
  ASSERT_TRUE(point(found, "fft"));
  EXPECT_THAT(values(*point(found, "fft")), ElementsAre("kissfft", "fftw3", "mkl"));
}

TEST_F(ClassifyTest, WhereEachValueAsksSomethingThereIsOneThatDoesNot) {
  const Discovery found = of_cmake(R"(
set(GPU_API opencl CACHE STRING "")
set_property(CACHE GPU_API PROPERTY STRINGS opencl cuda hip)
set(ARCH cpu CACHE STRING "")
set_property(CACHE ARCH PROPERTY STRINGS cpu knl)
option(TPL_BLAS_LIBRARIES "list of paths" OFF)
set(LONG a CACHE STRING ")" + std::string(100'000, '(') +
                                   R"(")
)");
  ASSERT_EQ(found.points.size(), 1u); // one value is not a choice, a list of paths not a switch
  EXPECT_THAT(values(*point(found, "gpu-api")), ElementsAre("default", "opencl", "cuda", "hip"));
  EXPECT_EQ(point(found, "gpu-api")->point.default_, "default");
  EXPECT_TRUE(point(found, "gpu-api")->point.values[0].arguments.empty());
}

TEST_F(ClassifyTest, VendorsOfOneInterfaceAndLibrariesForGpus) {
  const Discovery found = of_cmake(R"(
find_package(OpenBLAS)
option(SLV_CUDA "" ON)
option(SLV_OTHER "" ON)
option(SLV_MPI "" ON)
find_package(cuBLAS)
find_package(rocBLAS)
option(FAST "" OFF)
option(FORCE_OWN_TBB "" OFF)
if(FAST)
  if(NOT FORCE_OWN_TBB)
    find_package(TBB)
  endif()
endif()
)");
  std::map<std::string, bool> defaults;
  for (const Choice& choice : found.choices)
    defaults[choice.name] = choice.by_default;
  EXPECT_EQ(defaults, (std::map<std::string, bool>{{"CUDA", true},
                                                   {"MPI", true},
                                                   {"TBB", false},
                                                   {"OpenBLAS", true}, // the first that is searched for
                                                   {"cuBLAS", true},
                                                   {"rocBLAS", false}}));
  EXPECT_EQ(point(found, "tbb")->option, "FAST");
}

TEST_F(ClassifyTest, PrecisionsAndDataTypesAsValues) {
  const Discovery found = of_cmake(R"(
set(SLV_PRECISION double CACHE STRING "")
set_property(CACHE SLV_PRECISION PROPERTY STRINGS single double mixed)
set(SLV_DATATYPE float CACHE STRING "")
set_property(CACHE SLV_DATATYPE PROPERTY STRINGS float double int16_t simd)
option(SLV_OTHER "" OFF)
)");
  ASSERT_EQ(found.points.size(), 2u);
  EXPECT_EQ(point(found, "precision")->point.category, "precision");
  EXPECT_EQ(point(found, "precision")->point.default_, "double");
  ASSERT_EQ(found.choices.size(), 1u);
  EXPECT_EQ(found.choices[0].flag, "-DSLV_DATATYPE=simd");
}

TEST_F(ClassifyTest, InstructionSetsAreOrderedByStrength) {
  const Discovery found = of_cmake(R"(
set(SIMD AUTO CACHE STRING "")
set_property(CACHE SIMD PROPERTY STRINGS AUTO AVX_512 AVX2_256 AVX2_128 ARM_SVE SSE2 ARM_NEON_ASIMD AVX_512_KNL Reference)
)");
  ASSERT_TRUE(point(found, "simd"));
  EXPECT_THAT(values(*point(found, "simd")), ElementsAre("AUTO", "Reference", "SSE2", "AVX2_128", "AVX2_256",
                                                         "AVX_512", "ARM_NEON_ASIMD", "ARM_SVE"));
}

TEST_F(ClassifyTest, GpusByWayOfALibrary) {
  write("configure.ac",
        "AC_INIT([s],[1])\nAC_ARG_WITH([beagle], [AS_HELP_STRING([--with-beagle],[likelihoods, "
        "default is yes])])\n");
  const Findings configure = read();
  const Json document = paper_document(configure, classify(configure));
  EXPECT_EQ(document["gpu_build"], (Json{{"value", true}, {"build_flag", "--with-beagle"}}));
  EXPECT_EQ(document["gpu_backends"]["CUDA"]["build_flag"], "--with-beagle");
}

TEST_F(ClassifyTest, WhatOnlySourcesSayOfGpus) {
  write("a.c", "#include <CL/cl.h>\n");
  const Discovery found = of_cmake("");
  EXPECT_TRUE(found.uses_gpus);
  ASSERT_EQ(found.choices.size(), 1u);
  EXPECT_TRUE(found.choices[0].by_default);
  EXPECT_EQ(found.choices[0].place, (Place{"a.c", 1}));
}

TEST_F(ClassifyTest, ThePaperDocument) {
  const Discovery found = of_cmake(R"(
option(SLV_MPI "" OFF)
option(SLV_OPENMP "" ON)
option(SLV_BUILD_OWN_FFTW "" OFF)
option(SLV_HIP "" OFF)
find_package(LAPACK)
)");
  const Json document = paper_document(findings, found);
  EXPECT_EQ(document["build_system"], (Json{{"type", "cmake"}, {"minimum_version", "3.16"}}));
  EXPECT_EQ(document["gpu_build"], (Json{{"value", true}, {"build_flag", "-DSLV_HIP"}}));
  EXPECT_EQ(document["parallel_programming_libraries"]["MPI"],
            (Json{{"used_as_default", false}, {"build_flag", "-DSLV_MPI"}, {"minimum_version", nullptr}}));
  EXPECT_EQ(document["linear_algebra_libraries"]["BLAS/LAPACK"]["used_as_default"], true);
  EXPECT_EQ(document["internal_build"],
            (Json{{"library_name", "FFTW"}, {"build_flag", "-DSLV_BUILD_OWN_FFTW"}}));
}

TEST_F(ClassifyTest, NeutralWordsAreNoPartOfAnInstructionSetsName) {
  const Discovery found = of_cmake("option(USE_AVX_INSTRUCTIONS \"\" OFF)\noption(GENERIC_CODE \"\" OFF)\n");
  const Json sets = paper_document(findings, found)["simd_vectorization"];
  EXPECT_EQ(sets, (Json{{"AVX", {{"build_flag", "-DUSE_AVX_INSTRUCTIONS"}, {"default", false}}}}));
}

TEST_F(ClassifyTest, SwitchesOfAssembly) {
  write("configure.ac",
        "AC_INIT([s],[1])\n"
        "AC_ARG_ENABLE(assembly, AS_HELP_STRING([--enable-assembly],[use it [default=yes]]))\n"
        "AC_ARG_ENABLE(arm4-asm, [  --enable-arm4-asm  Make use of ARM4 assembly])\n"
        "AC_ARG_ENABLE(fat, AS_HELP_STRING([--enable-fat],[several CPUs [default=no]]))\n");
  const Findings configure = read();
  const Json sets = paper_document(configure, classify(configure))["simd_vectorization"];
  EXPECT_EQ(sets["ASSEMBLY"], (Json{{"build_flag", "--enable-assembly"}, {"default", true}}));
  EXPECT_EQ(sets["ARM4-ASM"], (Json{{"build_flag", "--enable-arm4-asm"}, {"default", false}}));
  EXPECT_EQ(sets["FAT"], (Json{{"build_flag", "--enable-fat"}, {"default", false}}));
}

TEST_F(ClassifyTest, FatAloneIsNoInstructionSet) {
  EXPECT_EQ(of_cmake("option(ENABLE_FAT \"\" OFF)\noption(ENABLE_AVX2 \"\" OFF)\n").choices.size(), 1u);
}

TEST_F(ClassifyTest, SearchesOfExamplesInMeson) {
  write("meson.build", "project('s', 'c')\n");
  write("examples/meson.build", "vulkan = dependency('vulkan', required: false)\n");
  EXPECT_TRUE(classify(read()).choices.empty());
}

TEST_F(ClassifyTest, WordsThatAConfigureScriptComparesItsOptionWith) {
  write("configure.ac", R"(AC_INIT([s],[1])
FFT=smallft
AC_ARG_WITH([fft], [AS_HELP_STRING([--with-fft=choice],[use an alternate FFT])], [FFT=$withval])
AS_CASE([$FFT],
 [kiss], [AC_DEFINE([USE_KISS], [], [a])],
 [smallft], [AC_DEFINE([USE_SMALLFT], [], [b])],
 [gpl-fftw3], [AC_DEFINE([USE_FFTW3], [], [c])],
 [AC_MSG_FAILURE([Unknown])])
)");
  const Findings configure = read();
  const Json ffts = paper_document(configure, classify(configure))["FFT_libraries"];
  EXPECT_EQ(ffts["smallft"]["used_as_default"], true);
  EXPECT_EQ(ffts["smallft"]["built-in"], true);
  EXPECT_EQ(ffts["FFTW"]["build_flag"], "--with-fft=gpl-fftw3");
  EXPECT_EQ(ffts["FFTW"]["used_as_default"], false);
}

TEST_F(ClassifyTest, OptionsOfTheProjectsOwnMacros) {
  write("configure.ac", R"(AC_INIT([s],[1])
has_neon=no
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([])], [
has_neon=yes
])
AC_ARG_ENABLE(neon, [  --enable-neon  Enable NEON], [
has_neon=yes
])
)");
  write("config/m4/cpu.m4", R"(AC_DEFUN([CPU_OPTIMIZATION], [
  AC_ARG_WITH([$1], [AC_HELP_STRING([--with-$1], [Use $2.])], [], [with_$1=no])
])
AS_IF([true], [CPU_OPTIMIZATION([sse41], [SSE 4.1])])
)");
  const Findings configure = read();
  const Json sets = paper_document(configure, classify(configure))["simd_vectorization"];
  EXPECT_EQ(sets["SSE4.1"], (Json{{"build_flag", "--with-sse41"}, {"default", false}}));
  EXPECT_EQ(sets["NEON"], (Json{{"build_flag", "--enable-neon"}, {"default", true}})); // a test decides
  ASSERT_TRUE(option(configure, "with-sse41"));
  EXPECT_EQ(option(configure, "with-sse41")->place, (Place{"config/m4/cpu.m4", 4}));
}

TEST_F(ClassifyTest, ParallelMeansMpiIfTheSourcesUseNothingElse) {
  write("configure.ac", "AC_INIT([s],[1])\n"
                        "AC_ARG_ENABLE([parallel], AS_HELP_STRING([--enable-parallel],[default=no]))\n");
  write("solver.c", "#include <mpi.h>\n");
  const Findings configure = read();
  EXPECT_EQ(
      paper_document(configure, classify(configure))["parallel_programming_libraries"]["MPI"],
      (Json{{"used_as_default", false}, {"build_flag", "--enable-parallel"}, {"minimum_version", nullptr}}));
  write("loop.c", "#pragma omp parallel\n");
  EXPECT_TRUE(classify(read()).choices.empty());
}

TEST_F(ClassifyTest, OtherBuildSystems) {
  write("configure.ac", "AC_INIT([s],[1])\nAC_ARG_ENABLE([avx2], [AS_HELP_STRING([--enable-avx2],[AVX2])])\n"
                        "AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi],[MPI])])\n");
  const Findings configure = read();
  const Discovery found = classify(configure);
  EXPECT_THAT(point(found, "avx2")->point.find("off")->arguments, ElementsAre("--disable-avx2"));
  EXPECT_THAT(point(found, "avx2")->point.find("on")->requires_.cpu, ElementsAre("avx2", "fma"));
  EXPECT_THAT(point(found, "mpi")->point.find("on")->arguments, ElementsAre("--with-mpi"));
  EXPECT_EQ(paper_document(configure, found)["simd_vectorization"]["AVX2"]["build_flag"], "--enable-avx2");
}

TEST_F(ClassifyTest, ASwitchForGpusIsThatOfItsBackend) {
  write("Makefile", "GPU=0\n"
                    "ifeq ($(GPU), 1)\n"
                    "LDLIBS += -lcuda -lcudart -lcublas\n"
                    "endif\n"
                    "solver: solver.o\n\t$(CC) -o $@ $^ $(LDLIBS)\n");
  write("solver.c", "#ifdef GPU\n#include <cuda_runtime.h>\n#endif\n");
  const Discovery found = classify(read());
  const DiscoveredPoint* const cuda = point(found, "cuda");
  ASSERT_NE(cuda, nullptr);
  EXPECT_THAT(values(*cuda), ElementsAre("off", "on"));
  EXPECT_EQ(cuda->point.find("on")->arguments, std::vector<std::string>{"GPU=1"});
  EXPECT_EQ(cuda->point.find("on")->requires_.gpu->vendor, "nvidia");
  EXPECT_EQ(cuda->point.default_, "off");
}

TEST_F(ClassifyTest, AnOptionWithoutSomethingIsTheOppositeOfIt) {
  write("CMakeLists.txt", "project(s CXX)\n"
                          "option(SLV_NO_CUDA \"\" OFF)\n"
                          "option(DISABLE_OPENMP \"\" ON)\n"
                          "option(A_LONG_PREFIX_NO_MPI \"\" ON)\n"
                          "if(NOT SLV_NO_CUDA)\nfind_package(CUDAToolkit)\nendif()\n");
  const Findings findings = read();
  const Discovery found = classify(findings);
  const DiscoveredPoint *const cuda = point(found, "cuda"), *const openmp = point(found, "openmp");
  ASSERT_NE(cuda, nullptr);
  EXPECT_EQ(cuda->point.find("on")->arguments, std::vector<std::string>{"-DSLV_NO_CUDA=OFF"});
  EXPECT_EQ(cuda->point.find("off")->arguments, std::vector<std::string>{"-DSLV_NO_CUDA=ON"});
  EXPECT_EQ(cuda->point.default_, "on");
  ASSERT_NE(openmp, nullptr);
  EXPECT_EQ(openmp->point.find("on")->arguments, std::vector<std::string>{"-DDISABLE_OPENMP=OFF"});
  EXPECT_EQ(openmp->point.default_, "off");
  ASSERT_NE(point(found, "mpi"), nullptr);
  EXPECT_EQ(point(found, "mpi")->point.default_, "off");
  EXPECT_EQ(paper_document(findings, found)["gpu_backends"]["CUDA"]["build_flag"], "-DSLV_NO_CUDA=OFF");
}

TEST_F(ClassifyTest, OneSwitchForAllVectorCode) {
  write("CMakeLists.txt", "project(s C)\noption(WITH_SIMD \"\" ON)\noption(WITH_SIMD_TEST \"\" ON)\n");
  const Findings findings = read();
  const Json sets = paper_document(findings, classify(findings))["simd_vectorization"];
  EXPECT_EQ(sets, Json::parse(R"({"SIMD": {"build_flag": "-DWITH_SIMD", "default": true}})"));
}

TEST_F(ClassifyTest, TheOptionWithTheLibrarysNameIsItsSwitch) {
  write("configure.ac", "AC_INIT([s],[1])\n"
                        "AC_ARG_ENABLE([threads], [AS_HELP_STRING([--enable-threads],[threads])])\n"
                        "AC_ARG_ENABLE([pthreads], [AS_HELP_STRING([--enable-pthreads],[POSIX threads])])\n");
  const Findings findings = read();
  const Json found = paper_document(findings, classify(findings))["parallel_programming_libraries"];
  EXPECT_EQ(found["pthreads"]["build_flag"], "--enable-pthreads");
}
} // namespace
} // namespace xaas::discover
