#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/target/gpu.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace xaas::target {
namespace {

using testing::HasSubstr;

using Vendor = GpuArch::Vendor;
using Features = GpuArch::Features;

TEST(Gpu, NamesHaveVersionAndFeatures) {
  EXPECT_EQ(*parse_gpu_arch("sm_90"), (GpuArch{Vendor::nvidia, 9, 0, 0, Features::common}));
  EXPECT_EQ(*parse_gpu_arch("sm_90a"), (GpuArch{Vendor::nvidia, 9, 0, 0, Features::specific}));
  EXPECT_EQ(*parse_gpu_arch("sm_103f"), (GpuArch{Vendor::nvidia, 10, 3, 0, Features::family}));
  EXPECT_EQ(*parse_gpu_arch("sm_121"), (GpuArch{Vendor::nvidia, 12, 1, 0, Features::common}));
  EXPECT_EQ(*parse_gpu_arch("gfx90a"), (GpuArch{Vendor::amd, 9, 0, 10, Features::common}));
  EXPECT_EQ(*parse_gpu_arch("gfx1030"), (GpuArch{Vendor::amd, 10, 3, 0, Features::common}));
  EXPECT_EQ(*parse_gpu_arch("gfx942"), (GpuArch{Vendor::amd, 9, 4, 2, Features::common}));
}

// Names as text would rise otherwise.
TEST(Gpu, ArchitecturesRiseByNumberAndThenByFeatures) {
  const std::vector<std::string> rising = {"sm_75",   "sm_90",   "sm_90a", "sm_100",
                                           "sm_100f", "sm_100a", "sm_103", "sm_120a"};
  for (size_t i = 1; i < rising.size(); ++i)
    EXPECT_LT(*parse_gpu_arch(rising[i - 1]), *parse_gpu_arch(rising[i])) << rising[i];
}

TEST(Gpu, OtherTextIsNoName) {
  for (const char* name :
       {"",       "sm_",          "sm_9",          "sm_90b", "sm_90aa",    "sm_a",   "sm_090",
        "sm_90 ", "sm_99999",     "sm90",          "SM_90",  "compute_90", "-arch",  "gfx",
        "gfx9",   "gfx9-generic", "gfx90a:xnack+", "gfx90g", "gfx90A",     "gfxa0a", "sm_90\n",
        "90"}) {
    const Result<GpuArch> arch = parse_gpu_arch(name);
    ASSERT_FALSE(arch) << name;
    EXPECT_EQ(arch.error().kind, ErrorKind::usage);
    EXPECT_THAT(arch.error().message, HasSubstr("is not a GPU architecture"));
  }
}

TEST(Gpu, AGpuThatLlvmDoesNotKnowHasANameButNoCode) {
  EXPECT_EQ(parse_gpu_arch("sm_133")->minor, 3u);
  for (const char* name : {"sm_133", "sm_35", "sm_90f", "sm_80a", "gfx1399"}) {
    const Result<GpuArch> arch = gpu_arch(name);
    ASSERT_FALSE(arch) << name;
    EXPECT_EQ(arch.error().kind, ErrorKind::usage);
    EXPECT_THAT(arch.error().message, HasSubstr(name));
  }
  EXPECT_THAT(gpu_arch("sm_133").error().hint, HasSubstr("sm_89, sm_90, sm_90a, sm_100, sm_100f, sm_100a"));
  EXPECT_THAT(gpu_arch("gfx1399").error().hint, HasSubstr("gfx90a"));
}

TEST(Gpu, EveryArchitectureIsWhatItsNameSays) {
  std::set<std::string> names;
  for (const GpuArch& arch : gpu_archs()) {
    const std::string name = to_string(arch);
    EXPECT_TRUE(names.insert(name).second) << name << " twice";
    EXPECT_EQ(*gpu_arch(name), arch) << name;
  }
  for (const char* name : {"sm_50", "sm_121a", "gfx900", "gfx90a", "gfx942", "gfx1100"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Gpu, NvidiasAreThoseOfLlvm) {
  const Result<ProcessResult> said =
      run_process({.arguments = {XAAS_TEST_CLANG, "--target=nvptx64-nvidia-cuda", "--print-supported-cpus"}});
  ASSERT_TRUE(said) << said.error().message;
  std::set<std::string> llvm, ours;
  for (const std::string& line : split(said->output, '\n'))
    if (const std::string name = trim(line); name.starts_with("sm_") && parse_gpu_arch(name)->major >= 5)
      llvm.insert(name);
  for (const GpuArch& arch : gpu_archs())
    if (arch.vendor == Vendor::nvidia)
      ours.insert(to_string(arch));
  EXPECT_EQ(ours, llvm);
}

} // namespace
} // namespace xaas::target
