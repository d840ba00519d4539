#include "gpu_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::check {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> problems(const std::vector<image::GpuCode>& code, const std::string& arch,
                                  const std::string& driver = {}) {
  system::Gpu gpu;
  gpu.vendor = "nvidia";
  gpu.arch = arch;
  gpu.driver = driver;
  const auto found = check_gpu_code(code, {gpu});
  EXPECT_TRUE(found) << found.error().message;
  return found ? found->problems : std::vector<std::string>{"error"};
}

const image::GpuCode machine_code{"sm_80", "sm_80", "", "12.4.99", "", ""};
const image::GpuCode ptx{"sm_80", "sm_80", "8.4", "", "", ""};

TEST(GpuCode, MachineCodeRunsOnItsGeneration) {
  EXPECT_THAT(problems({machine_code}, "sm_80"), IsEmpty());
  EXPECT_THAT(problems({machine_code}, "sm_86"), IsEmpty());
  EXPECT_THAT(problems({machine_code}, "sm_75"), ElementsAre(HasSubstr("sm_75")));
  EXPECT_THAT(problems({machine_code}, "sm_90"), ElementsAre(HasSubstr("machine code by ptxas 12.4.99")));
  EXPECT_THAT(problems({machine_code}, "sm_80", "535.54.03"), IsEmpty());
  EXPECT_THAT(problems({machine_code}, "sm_80", "470.57.02"), ElementsAre(HasSubstr("470.57")));
}

TEST(GpuCode, PtxRunsOnLaterGpusWithALaterDriver) {
  EXPECT_THAT(problems({ptx}, "sm_90"), IsEmpty());
  EXPECT_THAT(problems({ptx}, "sm_75"), ElementsAre(HasSubstr("sm_75")));
  EXPECT_THAT(problems({ptx}, "sm_90", "550.54.14"), IsEmpty());
  EXPECT_THAT(problems({ptx}, "sm_90", "535.54.03"), ElementsAre(HasSubstr("8.4")));
  EXPECT_THAT(problems({machine_code, ptx}, "sm_90", "550.54.14"), IsEmpty()); // one that serves is enough
}

TEST(GpuCode, TheRunTimeLibraryNeedsItsDriver) {
  image::GpuCode code = ptx;
  code.runtime = "13.0";
  EXPECT_THAT(problems({code}, "sm_80", "570.26"), ElementsAre(HasSubstr("run-time library of CUDA 13.0")));
  EXPECT_THAT(problems({code}, "sm_80", "580.65.06"), IsEmpty());
}

TEST(GpuCode, CodeObjectsAreForOneGpu) {
  const image::GpuCode code{"gfx90a", "gfx90a", "", "", "", "5"};
  const auto found = [&](const std::vector<image::GpuCode>& codes, const std::string& vendor,
                         const std::string& arch) {
    system::Gpu gpu;
    gpu.vendor = vendor;
    gpu.arch = arch;
    gpu.driver = "6.3.6"; // irrelevant
    return check_gpu_code(codes, {gpu})->problems;
  };
  EXPECT_THAT(found({code}, "amd", "gfx90a"), IsEmpty());
  EXPECT_THAT(found({code}, "amd", "gfx90a:sramecc+:xnack-"), IsEmpty());
  EXPECT_THAT(found({code}, "amd", "gfx908"), ElementsAre(HasSubstr("gfx90a: code object version 5")));
  EXPECT_THAT(found({code}, "nvidia", "sm_80"), ElementsAre(HasSubstr("AMD GPUs")));
  // 6.3.6 is not a driver version.
  EXPECT_THAT(found({code, ptx}, "nvidia", "sm_80"), ElementsAre(HasSubstr("driver")));
  EXPECT_THAT(found({code, ptx}, "amd", "gfx90a"), IsEmpty());
}

TEST(GpuCode, EachFileMustServe) {
  image::GpuCode in_file = machine_code;
  in_file.in_file = true;
  EXPECT_THAT(problems({ptx, in_file}, "sm_80"), IsEmpty());
  EXPECT_THAT(problems({ptx, in_file}, "sm_90"), ElementsAre(HasSubstr("in files")));
  image::GpuCode text = ptx;
  text.in_file = true;
  EXPECT_THAT(problems({machine_code, text, in_file}, "sm_75").size(), 3u);
  EXPECT_THAT(problems({text}, "sm_90"), IsEmpty());
}

TEST(GpuCode, WithoutDeviceCodeThereIsNothingToCheck) {
  EXPECT_THAT(check_gpu_code({}, {})->problems, IsEmpty());
  EXPECT_THAT(check_gpu_code({ptx}, {})->problems, ElementsAre(HasSubstr("has none")));
}

TEST(GpuCode, WhatTheDescriptionLacksIsNotKnown) {
  const auto unknown = [](const std::string& arch, const std::string& driver) {
    return check_gpu_code({ptx}, {{.vendor = "nvidia", .model = "H100", .arch = arch, .driver = driver}})
        ->unknown;
  };
  EXPECT_THAT(problems({ptx}, ""), IsEmpty());
  EXPECT_THAT(unknown("", "550.54.14"), ElementsAre(HasSubstr("H100")));
  EXPECT_THAT(unknown("sm_90", ""), ElementsAre(HasSubstr("driver")));
  EXPECT_THAT(unknown("sm_90", "550.54.14"), IsEmpty());
  EXPECT_THAT(check_gpu_code({}, {{.vendor = "nvidia"}})->unknown, IsEmpty());
}

TEST(GpuCode, ADriverThatIsNoneIsNamed) {
  const auto found = check_gpu_code({ptx}, {{.vendor = "nvidia", .arch = "sm_90", .driver = "new"}});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::usage);
  EXPECT_THAT(found.error().message,
              testing::AllOf(HasSubstr("driver of the system's sm_90"), HasSubstr("new")));
  EXPECT_THAT(problems({ptx}, "sm_90", "550"), IsEmpty());
}

} // namespace

} // namespace xaas::check
