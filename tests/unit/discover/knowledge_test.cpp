#include "discover/testing.h"

namespace xaas::discover {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class KnowledgeTest : public TreeTest {
protected:
  Discovery of_cmake(const std::string& text) {
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(slv CXX)\n" + text);
    return classify(read());
  }
  static std::vector<std::string> names(const Discovery& discovery, Choice::Group group) {
    std::vector<std::string> list;
    for (const Choice& choice : discovery.choices)
      if (choice.group == group)
        list.push_back(choice.name);
    return list;
  }
};

// A switch of one extension says which, for the draft.
TEST_F(KnowledgeTest, SwitchesOfOneExtension) {
  const Discovery found = of_cmake(R"(
option(SLV_AVX512_VBMI "" OFF)
option(SLV_SSE42 "" ON)
option(SLV_BMI2 "" OFF)
option(SLV_SVE "" OFF)
option(SLV_LASX "" OFF)
option(SLV_MPI "" OFF)
)");
  ASSERT_TRUE(point(found, "avx512-vbmi"));
  EXPECT_THAT(point(found, "avx512-vbmi")->simd_features, ElementsAre("avx512vbmi"));
  EXPECT_EQ(point(found, "avx512-vbmi")->simd_arch, "x86_64");
  EXPECT_THAT(point(found, "avx512-vbmi")->point.find("on")->requires_.cpu, ElementsAre("avx512vbmi"));
  ASSERT_TRUE(point(found, "sse42"));
  EXPECT_THAT(point(found, "sse42")->simd_features, ElementsAre("sse4.2"));
  ASSERT_TRUE(point(found, "bmi2"));
  EXPECT_THAT(point(found, "bmi2")->simd_features, ElementsAre("bmi2"));
  ASSERT_TRUE(point(found, "sve"));
  EXPECT_EQ(point(found, "sve")->simd_arch, "aarch64");
  EXPECT_FALSE(point(found, "lasx")); // no spec can require it
  EXPECT_THAT(point(found, "mpi")->simd_features, IsEmpty());
  EXPECT_THAT(names(found, Choice::Group::simd), ElementsAre("AVX512-VBMI", "SSE4.2", "BMI2", "SVE", "LASX"));
}

TEST_F(KnowledgeTest, TheNameOfAnInstructionSetIsItsUsualOne) {
  const Discovery found = of_cmake(R"(
option(SLV_SSE4_1 "" OFF)
option(USE_ARM_NEON "" OFF)
option(SLV_POWER9 "" OFF)
)");
  EXPECT_THAT(names(found, Choice::Group::simd), ElementsAre("SSE4-1", "NEON", "POWER9"));
}

TEST_F(KnowledgeTest, CpusAsValues) {
  const Discovery found = of_cmake(R"(
set(SLV_TARGET haswell CACHE STRING "")
set_property(CACHE SLV_TARGET PROPERTY STRINGS haswell skylake-avx512)
option(ATOM "a kind of model" OFF)
)");
  EXPECT_THAT(names(found, Choice::Group::simd), ElementsAre("haswell", "skylake-avx512"));
  ASSERT_TRUE(point(found, "target"));
  EXPECT_THAT(point(found, "target")->point.find("haswell")->requires_.cpu, Contains("avx2"));
}

// "BMI" alone may be anything.
TEST_F(KnowledgeTest, OtherExtensionsNeedCompany) {
  const Discovery found = of_cmake("option(SLV_BMI \"body mass index\" ON)\noption(SLV_AES \"\" ON)\n");
  EXPECT_THAT(found.points, IsEmpty());
}

TEST_F(KnowledgeTest, ModelsForGpusAndHostsInOneOption) {
  const Discovery found = of_cmake(R"(
set(SLV_MODEL omp CACHE STRING "")
set_property(CACHE SLV_MODEL PROPERTY STRINGS serial omp tbb kokkos cuda hip ocl)
set(SLV_GPU cuda CACHE STRING "")
set_property(CACHE SLV_GPU PROPERTY STRINGS cuda openmp)
)");
  EXPECT_THAT(names(found, Choice::Group::parallel), ::testing::IsSupersetOf({"OpenMP", "TBB", "Kokkos"}));
  EXPECT_THAT(names(found, Choice::Group::gpu),
              ::testing::IsSupersetOf({"CUDA", "HIP", "OpenCL", "OpenMP_offload"}));
}

TEST_F(KnowledgeTest, InterfacesForGpus) {
  const Discovery found = of_cmake(R"(
option(SLV_VULKAN "" OFF)
option(SLV_METAL "" OFF)
option(SLV_MUSA "" OFF)
option(SLV_CANN "" OFF)
option(SLV_WEBGPU "" OFF)
option(SLV_KOMPUTE "" OFF)
option(SLV_LEVEL_ZERO "" OFF)
)");
  EXPECT_THAT(names(found, Choice::Group::gpu),
              ElementsAre("Vulkan", "Metal", "MUSA", "CANN", "WebGPU", "Kompute", "Level Zero"));
}

// An interface to other libraries is a point, but only a value beside others is a choice among models.
TEST_F(KnowledgeTest, Layers) {
  const Discovery found = of_cmake("option(SLV_KOKKOS \"\" OFF)\n");
  EXPECT_TRUE(point(found, "kokkos"));
  EXPECT_THAT(found.choices, IsEmpty());
}

// CMake's FindBLAS: BLA_VENDOR.
TEST_F(KnowledgeTest, VendorsOfLinearAlgebra) {
  const Discovery found = of_cmake(R"(
set(SLV_BLAS_VENDOR All CACHE STRING "")
set_property(CACHE SLV_BLAS_VENDOR PROPERTY STRINGS All OpenBLAS Apple Intel10_64lp_seq Arm_mp FLAME ATLAS
             IBMESSL FlexiBLAS Goto NVHPC SunPerf Fujitsu_SSL2)
)");
  const DiscoveredPoint* const vendor = point(found, "blas-vendor");
  ASSERT_TRUE(vendor);
  EXPECT_EQ(vendor->point.category, "linear-algebra");
  EXPECT_THAT(names(found, Choice::Group::linear_algebra),
              ::testing::IsSupersetOf({"OpenBLAS", "Accelerate", "MKL", "ArmPL", "libFLAME", "ATLAS", "ESSL",
                                       "FlexiBLAS", "GotoBLAS", "NVHPC", "SSL2"}));
}

// Words with several meanings are no names of vendors unless there is another one.
TEST_F(KnowledgeTest, AmbiguousValuesAlone) {
  const Discovery found = of_cmake(R"(
set(SLV_ARCH intel CACHE STRING "")
set_property(CACHE SLV_ARCH PROPERTY STRINGS intel arm)
)");
  EXPECT_THAT(found.points, IsEmpty());
}

// A language is a use of the GPU's toolkit.
TEST_F(KnowledgeTest, LanguagesOfGpus) {
  const Discovery always = of_cmake("enable_language(CUDA)\n");
  ASSERT_THAT(names(always, Choice::Group::gpu), ElementsAre("CUDA"));
  EXPECT_TRUE(always.choices[0].by_default);
  const Discovery asked =
      of_cmake("option(SLV_FAST \"\" OFF)\nif(SLV_FAST)\n  enable_language(CUDA)\nendif()\n");
  ASSERT_THAT(names(asked, Choice::Group::gpu), ElementsAre("CUDA"));
  EXPECT_FALSE(asked.choices[0].by_default);
  EXPECT_EQ(asked.choices[0].flag, "-DSLV_FAST");
}

// FindCUDA's variables; a library that is linked without a search.
TEST_F(KnowledgeTest, WhatTargetsLink) {
  const Discovery found = of_cmake(R"(
add_library(solve a.cpp)
target_link_libraries(solve ${CUDA_CUFFT_LIBRARIES} ${CUDA_cublas_LIBRARY} pthread)
)");
  EXPECT_THAT(names(found, Choice::Group::fft), ElementsAre("cuFFT"));
  EXPECT_THAT(names(found, Choice::Group::linear_algebra), ElementsAre("cuBLAS"));
  EXPECT_THAT(names(found, Choice::Group::parallel), ElementsAre("pthreads"));
}

TEST_F(KnowledgeTest, TheProjectIsNoChoiceOfItself) {
  write("CMakeLists.txt", "project(OpenBLAS C)\noption(USE_OPENBLAS \"\" ON)\noption(USE_MPI \"\" ON)\n");
  const Discovery found = classify(read());
  EXPECT_THAT(names(found, Choice::Group::linear_algebra), IsEmpty());
  EXPECT_TRUE(point(found, "mpi"));
}

// Names that say what they are, under any option's name.
TEST_F(KnowledgeTest, ValuesUnderAnyName) {
  const Discovery found = of_cmake(R"(
set(SLV_HIGHEST NONE CACHE STRING "")
if(SLV_ARM)
  set_property(CACHE SLV_HIGHEST PROPERTY STRINGS NONE NEON)
else()
  set_property(CACHE SLV_HIGHEST PROPERTY STRINGS NONE SSE2 AVX2)
endif()
set(SLV_TASKS TBB CACHE STRING "")
set_property(CACHE SLV_TASKS PROPERTY STRINGS TBB INTERNAL PPL)
option(SLV_LEVEL_OF_CODE "" "generic")
if(SLV_LEVEL_OF_CODE STREQUAL "avx2")
endif()
)");
  ASSERT_TRUE(point(found, "highest"));
  EXPECT_THAT(values(*point(found, "highest")), ElementsAre("NONE", "NEON", "SSE2", "AVX2"));
  EXPECT_THAT(names(found, Choice::Group::parallel), ElementsAre("TBB", "INTERNAL", "PPL"));
  ASSERT_TRUE(point(found, "level-of-code"));
  EXPECT_THAT(values(*point(found, "level-of-code")), ElementsAre("generic", "avx2"));
  EXPECT_EQ(point(found, "level-of-code")->point.default_, "generic");
}

TEST_F(KnowledgeTest, WhatMakefilesLink) {
  write("Makefile", R"make(
CC = mpicc
LIBS = -llapack -lblas -lpthread
# LIBS = -lmkl_intel_lp64 -lmkl_core
ifeq ($(FFT),yes)
LIBS += -lfftw3
endif
ifneq (,$(filter openblas atlas,$(VENDOR)))
endif
prog: a.o
	$(CC) -fopenmp -o $@ a.o $(LIBS)
)make");
  const Findings findings = read();
  EXPECT_THAT(option(findings, "VENDOR")->values, ElementsAre("openblas", "atlas"));
  const Discovery found = classify(findings);
  const auto is_default = [&](const std::string& name) {
    for (const Choice& choice : found.choices)
      if (choice.name == name)
        return choice.by_default;
    ADD_FAILURE() << name;
    return false;
  };
  EXPECT_TRUE(is_default("MPI"));
  EXPECT_TRUE(is_default("OpenMP"));
  EXPECT_TRUE(is_default("pthreads"));
  EXPECT_TRUE(is_default("BLAS/LAPACK"));
  EXPECT_FALSE(is_default("MKL"));
  EXPECT_FALSE(is_default("FFTW"));
}

TEST_F(KnowledgeTest, MacrosAndCasesOfConfigure) {
  write("configure.ac", R"m4(AC_INIT([solver], [1.0])
AX_CHECK_CUDA
dnl AX_MPI
AC_OPENMP
AC_ARG_WITH([hip], [AS_HELP_STRING([--with-hip=(DIR)], [Enable the use of HIP (default is guess)])])
AC_ARG_WITH([simd], AS_HELP_STRING([--with-simd=SET], [instruction set]),
  [case "$withval" in
     no) ;;
     sse2|avx2) simd=$withval ;;
     "neon") simd=neon ;;
     *) AC_MSG_ERROR([unknown]) ;;
   esac])
)m4");
  const Findings findings = read();
  ASSERT_EQ(findings.packages.size(), 2u);
  EXPECT_EQ(findings.packages[0].name, "cuda");
  EXPECT_EQ(findings.packages[0].place, (Place{"configure.ac", 2}));
  ASSERT_TRUE(option(findings, "enable-openmp"));
  EXPECT_EQ(option(findings, "enable-openmp")->initial, "ON");
  ASSERT_TRUE(option(findings, "with-hip"));
  EXPECT_FALSE(option(findings, "with-hip")->takes_place);
  ASSERT_TRUE(option(findings, "with-simd"));
  EXPECT_THAT(option(findings, "with-simd")->values, ElementsAre("sse2", "avx2", "neon"));
}

// Meson's features are switches.
TEST_F(KnowledgeTest, FeaturesOfMeson) {
  write("meson.build", "project('solver', 'c')\n");
  write("meson_options.txt", "option('avx2', type : 'feature', value : 'auto')\n");
  const Discovery found = classify(read());
  ASSERT_TRUE(point(found, "avx2"));
  EXPECT_THAT(point(found, "avx2")->simd_features, Contains("avx2"));
}

} // namespace
} // namespace xaas::discover
