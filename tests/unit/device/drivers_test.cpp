#include <xaas/device/drivers.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace xaas::device {
namespace {

using target::GpuArch;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

GpuArch arch(const std::string& name) {
  return *target::parse_gpu_arch(name);
}

std::vector<GpuArch> archs(const std::vector<std::string>& names) {
  std::vector<GpuArch> all;
  for (const std::string& name : names)
    all.push_back(arch(name));
  return all;
}

DriverVersion driver(const std::string& text) {
  return *parse_driver_version(text);
}

std::string newest(const std::string& text) {
  const Result<PtxVersion> version = newest_ptx(driver(text));
  return version ? to_string(*version) : version.error().message;
}

TEST(Versions, AreReadAndWritten) {
  for (const char* text : {"450.51.05", "455.23", "535.104.05", "570.26", "580.65.06"})
    EXPECT_EQ(to_string(driver(text)), text);
  EXPECT_LT(driver("535.54.03"), driver("535.104.05"));
  EXPECT_LT(driver("570.26"), driver("570.26.01"));
  EXPECT_EQ(to_string(*parse_cuda_release("12.4")), "12.4");
  EXPECT_EQ(*parse_cuda_release("13.0.88"), (CudaRelease{13, 0}));
  EXPECT_LT(*parse_cuda_release("12.9"), *parse_cuda_release("12.10"));
  EXPECT_EQ(feature({8, 7}), "ptx87");
  EXPECT_EQ(driver("580"), driver("580.65.06")); // a branch: the driver that it began with
  EXPECT_EQ(to_string(driver("999")), "999.00");
  for (const char* text : {"", "550.", "550.x", ".54", "550.54.14.1", "550 .54", "-550.54", "5500000000.1"}) {
    ASSERT_FALSE(parse_driver_version(text)) << text;
    EXPECT_EQ(parse_driver_version(text).error().kind, ErrorKind::usage);
    EXPECT_FALSE(parse_cuda_release(text)) << text;
  }
}

TEST(Releases, RiseInEverything) {
  const ReleaseFacts* before = nullptr;
  for (const ReleaseFacts& each : cuda_releases()) {
    if (before) {
      EXPECT_LT(before->release, each.release);
      EXPECT_LT(before->driver, each.driver);
      EXPECT_LE(before->ptx, each.ptx);
    }
    before = &each;
    // A release's driver accepts what its tools write: two tables that must agree.
    EXPECT_EQ(*newest_ptx(each.driver), each.ptx) << to_string(each.release);
    EXPECT_TRUE(check_driver(each.release, each.driver)) << to_string(each.release);
  }
}

TEST(Ptx, ADriverTakesTheVersionsOfItsTime) {
  EXPECT_EQ(newest("450.80.02"), "7.0");
  EXPECT_EQ(newest("470.256.02"), "7.4");
  EXPECT_EQ(newest("525.60.13"), "8.0");
  EXPECT_EQ(newest("540.4.0"), "8.2");
  EXPECT_EQ(newest("550.54.15"), "8.4");
  EXPECT_EQ(newest("560.35.03"), "8.5");
  EXPECT_EQ(newest("565.57.01"), "8.6");
  EXPECT_EQ(newest("580.126.09"), "9.0");
  EXPECT_EQ(newest("999.1"), "9.2"); // the newest that the table has
  const Result<PtxVersion> old = newest_ptx(driver("440.33.01"));
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(old.error().message, HasSubstr("440.33.01"));
}

TEST(Ptx, EveryNvidiaArchitectureHasAFirstVersion) {
  for (const GpuArch& each : target::gpu_archs()) {
    const Result<PtxVersion> first = first_ptx(each);
    EXPECT_EQ(static_cast<bool>(first), each.vendor == GpuArch::Vendor::nvidia) << target::to_string(each);
  }
  EXPECT_EQ(to_string(*first_ptx(arch("sm_70"))), "6.0");
  EXPECT_EQ(to_string(*first_ptx(arch("sm_90"))), "7.8");
  EXPECT_EQ(to_string(*first_ptx(arch("sm_90a"))), "8.0");
  EXPECT_EQ(to_string(*first_ptx(arch("sm_100a"))), "8.6");
  EXPECT_EQ(to_string(*first_ptx(arch("sm_100f"))), "8.8");
  EXPECT_EQ(to_string(*first_ptx(arch("sm_110"))), "9.0");
  for (const char* name : {"sm_90f", "sm_133", "gfx90a"})
    EXPECT_EQ(first_ptx(arch(name)).error().kind, ErrorKind::usage) << name;
}

TEST(Ptx, IsWrittenAsTheDriverTakesIt) {
  EXPECT_EQ(to_string(*ptx_version_for(arch("sm_90"), driver("550.54.15"))), "8.4");
  const Result<PtxVersion> version = ptx_version_for(arch("sm_100"), driver("550.54.15"));
  ASSERT_FALSE(version);
  EXPECT_EQ(version.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(version.error().message, AllOf(HasSubstr("sm_100"), HasSubstr("8.6"), HasSubstr("550.54.15"),
                                             HasSubstr("takes up to 8.4")));
  EXPECT_THAT(version.error().hint, HasSubstr("565"));
  EXPECT_FALSE(ptx_version_for(arch("sm_70"), driver("440.33.01")));
}

TEST(MachineCode, NeedsTheDriverOfItsGeneration) {
  const auto runs = [](const char* release, const char* version) {
    return static_cast<bool>(check_driver(*parse_cuda_release(release), driver(version)));
  };
  EXPECT_TRUE(runs("12.9", "525.60.13")); // minor version compatibility
  EXPECT_FALSE(runs("12.0", "520.61.05"));
  EXPECT_FALSE(runs("12.0", "525.53"));
  EXPECT_TRUE(runs("11.8", "450.80.02"));
  EXPECT_FALSE(runs("11.1", "450.51.06"));
  EXPECT_TRUE(runs("11.0", "450.51.05")); // its own driver is older than its generation's
  EXPECT_FALSE(runs("11.0", "440.33"));
  EXPECT_TRUE(runs("11.0", "580.65.06"));
  EXPECT_TRUE(runs("13.2", "580.65.06"));
  EXPECT_FALSE(runs("13.0", "575.57.08"));
}

TEST(MachineCode, ThatADriverIsTooOldForSaysTheWaysOut) {
  const Result<void> old = check_driver({13, 0}, driver("550.54.15"));
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(old.error().message,
              AllOf(HasSubstr("CUDA 13.0"), HasSubstr("580.65.06"), HasSubstr("550.54.15")));
  EXPECT_THAT(old.error().hint, AllOf(HasSubstr("install driver 580.65.06"), HasSubstr("CUDA 12"),
                                      HasSubstr("PTX of version 8.4")));
  const Result<void> very_old = check_driver({12, 4}, driver("440.33.01"));
  EXPECT_THAT(very_old.error().hint,
              AllOf(HasSubstr("525.60.13"), Not(HasSubstr("PTX")), Not(HasSubstr("CUDA 11"))));
  for (const CudaRelease unknown : {CudaRelease{10, 2}, CudaRelease{14, 0}})
    EXPECT_EQ(check_driver(unknown, driver("580.65.06")).error().kind, ErrorKind::usage);
}

TEST(MachineCode, RunsOnGpusOfItsMajorVersion) {
  const auto runs = [](const char* code, const char* device) {
    return machine_code_runs(arch(code), arch(device));
  };
  EXPECT_TRUE(runs("sm_86", "sm_86"));
  EXPECT_TRUE(runs("sm_86", "sm_89"));
  EXPECT_FALSE(runs("sm_89", "sm_86"));
  EXPECT_FALSE(runs("sm_86", "sm_90"));
  EXPECT_TRUE(runs("sm_90a", "sm_90"));
  EXPECT_TRUE(runs("sm_100", "sm_103"));
  EXPECT_FALSE(runs("sm_100a", "sm_103"));
  EXPECT_TRUE(runs("sm_100f", "sm_103"));
  EXPECT_FALSE(runs("sm_103f", "sm_100"));
  EXPECT_FALSE(runs("sm_100f", "sm_110"));
  EXPECT_FALSE(runs("sm_100f", "sm_120"));
  EXPECT_TRUE(runs("sm_120f", "sm_121"));
  EXPECT_TRUE(runs("sm_120", "sm_122")); // a GPU that LLVM does not know
  // Tegra's GPUs only run their own code, and no other GPU runs it.
  EXPECT_TRUE(runs("sm_87", "sm_87"));
  EXPECT_FALSE(runs("sm_80", "sm_87"));
  EXPECT_FALSE(runs("sm_87", "sm_89"));
  EXPECT_FALSE(runs("sm_101f", "sm_103"));
  EXPECT_TRUE(runs("gfx90a", "gfx90a"));
  EXPECT_FALSE(runs("gfx90a", "gfx90c"));
  EXPECT_FALSE(runs("gfx900", "sm_90"));
}

TEST(DeviceCode, ServesLaterGpus) {
  const auto serves = [](const char* code, const char* device) {
    return device_code_serves(arch(code), arch(device));
  };
  EXPECT_TRUE(serves("sm_70", "sm_70"));
  EXPECT_TRUE(serves("sm_70", "sm_121"));
  EXPECT_TRUE(serves("sm_80", "sm_87"));
  EXPECT_FALSE(serves("sm_80", "sm_75"));
  EXPECT_TRUE(serves("sm_90a", "sm_90"));
  EXPECT_FALSE(serves("sm_90a", "sm_100"));
  EXPECT_TRUE(serves("sm_100f", "sm_103"));
  EXPECT_FALSE(serves("sm_100f", "sm_120"));
  EXPECT_TRUE(serves("sm_101f", "sm_110")); // the same GPU
  EXPECT_FALSE(serves("sm_101f", "sm_103"));
  EXPECT_FALSE(serves("gfx90a", "gfx942"));
  EXPECT_FALSE(serves("gfx600", "sm_90"));
}

TEST(DeviceCode, TheHighestThatServesIsBest) {
  const auto best = [](const std::vector<std::string>& code, const char* device) {
    const Result<GpuArch> found = best_device_code(archs(code), arch(device));
    return found ? target::to_string(*found) : "none";
  };
  EXPECT_EQ(best({"sm_90", "sm_70", "sm_80"}, "sm_89"), "sm_80");
  EXPECT_EQ(best({"sm_70", "sm_90", "sm_90a"}, "sm_90"), "sm_90a");
  EXPECT_EQ(best({"sm_70", "sm_90", "sm_90a"}, "sm_100"), "sm_90");
  EXPECT_EQ(best({"sm_100", "sm_100f", "sm_100a"}, "sm_103"), "sm_100f");
  EXPECT_EQ(best({"sm_100f", "sm_103"}, "sm_103"), "sm_103");
  EXPECT_EQ(best({"sm_80", "gfx90a"}, "gfx90a"), "gfx90a");
  EXPECT_EQ(best({"sm_80"}, "sm_75"), "none");
  const Result<GpuArch> none = best_device_code(archs({"sm_80", "sm_90a"}), arch("sm_75"));
  EXPECT_EQ(none.error().kind, ErrorKind::unsatisfied);
  EXPECT_THAT(none.error().message, AllOf(HasSubstr("sm_75"), HasSubstr("sm_80, sm_90a")));
  EXPECT_THAT(best_device_code({}, arch("sm_75")).error().message, HasSubstr("none"));
}

TEST(DeviceCode, BecomesMachineCodeOfTheHighestTarget) {
  const auto best = [](const char* ir, const char* device, const std::vector<std::string>& targets) {
    const Result<GpuArch> found = best_target(arch(ir), arch(device), archs(targets));
    return found ? target::to_string(*found) : "none";
  };
  std::vector<std::string> known;
  for (const GpuArch& each : target::gpu_archs())
    known.push_back(target::to_string(each));
  EXPECT_EQ(best("sm_70", "sm_90", known), "sm_90"); // without features that the IR was not compiled for
  EXPECT_EQ(best("sm_90a", "sm_90", known), "sm_90a");
  EXPECT_EQ(best("sm_90a", "sm_100", known), "none");
  EXPECT_EQ(best("sm_100f", "sm_103", known), "sm_103f");
  EXPECT_EQ(best("sm_120", "sm_122", known), "sm_121"); // an unknown GPU runs the code of an older one
  EXPECT_EQ(best("sm_80", "sm_89", {"sm_75", "sm_80", "sm_86", "sm_90"}), "sm_86");
  EXPECT_EQ(best("sm_86", "sm_89", {"sm_75", "sm_80", "sm_90"}),
            "none"); // below the architecture that the IR was compiled for
  EXPECT_EQ(best("sm_80", "sm_87", {"sm_80", "sm_86"}), "none");
  EXPECT_EQ(best("gfx90a", "gfx90a", known), "gfx90a");
  EXPECT_EQ(best_target(arch("sm_90"), arch("sm_80"), archs(known)).error().kind, ErrorKind::unsatisfied);
}

} // namespace
} // namespace xaas::device
