// GPUs by the files of their drivers and by what the drivers' libraries answer.
#include "system/testing.h"

#include <chrono>

namespace xaas::system {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DetectGpus : public Detect {
protected:
  void nvidia(const std::string& slot, const std::string& model) {
    file("/proc/driver/nvidia/version",
         "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 "
         "22:23:56 UTC 2024\nGCC version: 12\n");
    file("/proc/driver/nvidia/gpus/" + slot + "/information", "Model: \t\t " + model + "\nIRQ:   \t\t 152\n");
  }
  void intel(const std::string& card, const std::string& id, const std::string& slot) {
    file("/sys/class/drm/" + card + "/device/vendor", "0x8086\n");
    file("/sys/class/drm/" + card + "/device/device", id + "\n");
    file("/sys/class/drm/" + card + "/device/uevent", "DRIVER=i915\nPCI_SLOT_NAME=" + slot + "\n");
  }
};

TEST_F(DetectGpus, NvidiaByTheDriversFiles) {
  for (const char* slot : {"0000:1c:00.0", "0000:1e:00.0"})
    nvidia(slot, "NVIDIA A100-SXM4-40GB");
  const SystemDescription found = detect(probes_);
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[0], (Gpu{"nvidia", "NVIDIA A100-SXM4-40GB", "sm_80", 0, "550.54.15", "",
                                "/proc/driver/nvidia/gpus/0000:1c:00.0/information: model; its name: arch; "
                                "/proc/driver/nvidia/version: driver",
                                "0000:1c:00.0"}));
  for (const auto& [model, arch] :
       std::map<std::string, std::string>{{"NVIDIA GH200 120GB", "sm_90"},
                                          {"Tesla V100-PCIE-16GB", "sm_70"},
                                          {"NVIDIA A10", "sm_86"},
                                          {"NVIDIA GeForce RTX 4090", "sm_89"},
                                          {"NVIDIA H200", "sm_90"},
                                          {"NVIDIA T400", ""},
                                          {"Quadro RTX 5000", "sm_75"},
                                          {"NVIDIA RTX 5000 Ada Generation", "sm_89"},
                                          {"NVIDIA RTX A6000", "sm_86"}}) {
    nvidia("0000:1c:00.0", model);
    EXPECT_EQ(detect(probes_).gpus[0].arch, arch) << model;
  }
}

TEST_F(DetectGpus, NvmlSaysMoreOfTheSameGpus) {
  nvidia("0000:1c:00.0", "NVIDIA Graphics Device"); // a name that tells nothing
  nvidia("0001:1e:00.0", "NVIDIA H100 PCIe");
  probes_.nvml = XAAS_FAKE_NVML;
  variable("FAKE_NVML",
           "00000001:1E:00.0,NVIDIA H100 PCIe,9,0,85520809984;00000000:1C:00.0,NVIDIA X,10,3,1000");
  const SystemDescription found = detect(probes_);
  EXPECT_THAT(found.notes, IsEmpty());
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[0].arch, "sm_103");
  EXPECT_EQ(found.gpus[0].memory_bytes, 1000u);
  EXPECT_EQ(found.gpus[0].runtime, "12.4");
  EXPECT_EQ(found.gpus[0].model, "NVIDIA Graphics Device");
  EXPECT_EQ(found.gpus[1],
            (Gpu{"nvidia", "NVIDIA H100 PCIe", "sm_90", 85520809984, "550.54.15", "12.4",
                 "/proc/driver/nvidia/gpus/0001:1e:00.0/information: model; its name: arch; "
                 "/proc/driver/nvidia/version: driver; " XAAS_FAKE_NVML ": arch, runtime, memory_bytes",
                 "0001:1e:00.0"}));
}

// In a container, /proc may not have the driver's directory.
TEST_F(DetectGpus, NvmlAlone) {
  probes_.nvml = XAAS_FAKE_NVML;
  variable("FAKE_NVML", "00000000:1C:00.0,NVIDIA H200,9,0,150754820096");
  EXPECT_THAT(detect(probes_).gpus, IsEmpty()); // no device: the library is not asked
  file("/dev/nvidiactl", "");
  EXPECT_THAT(
      detect(probes_).gpus,
      ElementsAre(Gpu{"nvidia", "NVIDIA H200", "sm_90", 150754820096, "550.54.15", "12.4",
                      XAAS_FAKE_NVML ": model, arch, driver, runtime, pci, memory_bytes", "0000:1c:00.0"}));
}

TEST_F(DetectGpus, GpusThatAreNotForThisProcess) {
  nvidia("0000:1c:00.0", "NVIDIA H100");
  nvidia("0000:1e:00.0", "NVIDIA H100");
  probes_.nvml = XAAS_FAKE_NVML;
  variable("FAKE_NVML", "hidden,,0,0,0;00000000:1E:00.0,NVIDIA H100,9,0,1000");
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[1].memory_bytes, 1000u);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("shows this process 1 of 2 GPUs")));
}

TEST_F(DetectGpus, ADriverThatIsOutOfOrder) {
  nvidia("0000:1c:00.0", "NVIDIA H100");
  probes_.nvml = XAAS_FAKE_NVML;
  probes_.limits.drivers = std::chrono::milliseconds(1000);
  variable("FAKE_NVML", "00000000:1C:00.0,NVIDIA H100,9,0,1000");
  for (const auto& [behavior, words] :
       std::map<std::string, std::string>{{"hang", "no answer within 1 s"},
                                          {"crash", "was ended by signal Segmentation fault"},
                                          {"crash-on-load", "was ended by signal Segmentation fault"},
                                          {"exit", "ended without an answer"},
                                          {"error", "nvmlInit_v2 failed with error 9"}}) {
    variable("FAKE_DRIVER", behavior);
    const auto start = std::chrono::steady_clock::now();
    const SystemDescription found = detect(probes_);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << behavior;
    ASSERT_EQ(found.gpus.size(), 1u) << behavior; // what the files say stays
    EXPECT_EQ(found.gpus[0].arch, "sm_90");
    EXPECT_EQ(found.gpus[0].memory_bytes, 0u);
    EXPECT_THAT(found.notes, ElementsAre(HasSubstr(words))) << behavior;
  }
}

TEST_F(DetectGpus, ALibraryThatIsNotThereIsNoTrouble) {
  nvidia("0000:1c:00.0", "NVIDIA H100");
  probes_.nvml = "/nonexistent/libnvidia-ml.so.1";
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.gpus.size(), 1u);
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST_F(DetectGpus, ALibraryThatCannotBeLoaded) {
  nvidia("0000:1c:00.0", "NVIDIA H100");
  const TemporaryDirectory directory = *TemporaryDirectory::create();
  probes_.nvml = directory.path() / "libnvidia-ml.so.1";
  ASSERT_TRUE(write_file(probes_.nvml, "no library"));
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.gpus.size(), 1u);
  EXPECT_THAT(found.notes, ElementsAre(HasSubstr("libnvidia-ml.so.1: file too short")));
}

TEST_F(DetectGpus, AmdByTheKernelsTopology) {
  file("/sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 64\ngfx_target_version 0\n");
  const std::string node = "/sys/class/kfd/kfd/topology/nodes/1";
  file(node + "/properties", "simd_count 440\ngfx_target_version 90010\nlocation_id 49408\ndomain 0\n");
  file(node + "/name", "aldebaran\n");
  file(node + "/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 68702699520\n");
  file("/sys/module/amdgpu/version", "6.3.6\n");
  file("/opt/rocm-6.0.3/.info/version", "6.0.3-102\n");
  file("/opt/rocm-5.7.0/.info/version", "5.7.0-1\n");
  SystemDescription found = detect(probes_);
  ASSERT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.gpus[0], (Gpu{"amd", "aldebaran", "gfx90a", 68702699520, "6.3.6", "6.0.3",
                                node + ": arch, memory_bytes; " + node +
                                    "/name: model; /sys/module/amdgpu/version: driver; "
                                    "/opt/rocm-6.0.3/.info/version: runtime",
                                "0000:c1:00.0"}));
  file("/sys/bus/pci/devices/0000:c1:00.0/product_name", "AMD INSTINCT MI250X OAM\n");
  file("/opt/rocm/.info/version", "6.2.0-66\n");
  found = detect(probes_);
  EXPECT_EQ(found.gpus[0].model, "AMD INSTINCT MI250X OAM");
  EXPECT_EQ(found.gpus[0].runtime, "6.2.0");
  probes_.environment["ROCM_PATH"] = "/opt/rocm-5.7.0"; // of a module
  EXPECT_EQ(detect(probes_).gpus[0].runtime, "5.7.0");
  file(node + "/properties", "gfx_target_version 110001\n");
  EXPECT_EQ(detect(probes_).gpus[0].arch, "gfx1101");
}

TEST_F(DetectGpus, AloneWithoutTheRest) {
  const std::string node = "/sys/class/kfd/kfd/topology/nodes/1";
  file(node + "/properties", "simd_count 440\ngfx_target_version 90010\nlocation_id 49408\ndomain 0\n");
  file("/proc/meminfo", "MemTotal: 1000 kB\n");
  const SystemDescription all = detect(probes_);
  EXPECT_EQ(all.memory_bytes, 1'024'000u);
  probes_.only_gpus = true;
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.gpus, all.gpus);
  EXPECT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.cpu, all.cpu);
  EXPECT_EQ(found.memory_bytes, 0u);
  EXPECT_THAT(found.runtimes, IsEmpty());
}

TEST(TargetGpus, ThoseThatHaveDeviceCode) {
  SystemDescription system;
  system.gpus = {Gpu{"nvidia", "H100", "sm_90", 0, "", "", ""}, Gpu{"intel", "Max", "pvc", 0, "", "", ""},
                 Gpu{"amd", "MI250X", "gfx90a:xnack+", 0, "", "", ""}, Gpu{"nvidia", "", "", 0, "", "", ""}};
  const std::vector<target::Gpu> gpus = target_gpus(system);
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(to_string(*gpus[0].arch), "sm_90");
  EXPECT_EQ(to_string(*gpus[1].arch), "gfx90a");
  EXPECT_EQ(gpus[2].vendor, target::GpuArch::Vendor::nvidia);
  EXPECT_FALSE(gpus[2].arch);
}

TEST_F(DetectGpus, IntelByItsDevices) {
  intel("card0", "0x4680", "0000:00:02.0");
  intel("card1", "0x0bd5", "0000:29:00.0");
  file("/sys/class/drm/card1-HDMI-A-1/status", "connected\n");
  const SystemDescription found = detect(probes_);
  EXPECT_THAT(found.gpus, // the other is part of a processor
              ElementsAre(Gpu{"intel", "Intel Data Center GPU Max", "pvc", 0, "", "",
                              "/sys/class/drm/card1/device/device: model, arch", "0000:29:00.0"}));
}

TEST_F(DetectGpus, LevelZeroSaysMoreOfTheSameGpus) {
  intel("card0", "0x4680", "0000:00:02.0");
  intel("card1", "0x0bd5", "0000:29:00.0");
  intel("card2", "0x0bd5", "0000:3a:00.0");
  probes_.level_zero = XAAS_FAKE_LEVEL_ZERO;
  variable("FAKE_LEVEL_ZERO", "0,Intel UHD,4680,1000,1;3a,Intel Data Center GPU Max 1550,0bd5,137438953472,0;"
                              "29,Intel Data Center GPU Max 1550,0bd5,2000,0");
  const SystemDescription found = detect(probes_);
  EXPECT_THAT(found.notes, IsEmpty());
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[0].memory_bytes, 2000u);
  EXPECT_EQ(found.gpus[1], (Gpu{"intel", "Intel Data Center GPU Max 1550", "pvc", 137438953472, "", "",
                                "/sys/class/drm/card2/device/device: model, arch; " XAAS_FAKE_LEVEL_ZERO
                                ": model, memory_bytes",
                                "0000:3a:00.0"}));
}

TEST_F(DetectGpus, AnIntelGpuThatOnlyLevelZeroNames) {
  intel("card1", "0x0bdb", "0000:29:00.0");
  intel("card2", "0xffff", "0000:3a:00.0");
  probes_.level_zero = XAAS_FAKE_LEVEL_ZERO;
  variable("FAKE_LEVEL_ZERO", "3a,Intel Someday,ffff,1000,0;29,Intel Max,0bdb,1000,0");
  const SystemDescription found = detect(probes_);
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[0].arch, "pvc");
  EXPECT_EQ(found.gpus[1].model, "Intel Someday");
  EXPECT_EQ(found.gpus[1].arch, "");
}

TEST_F(DetectGpus, OpenClWhereLevelZeroIsOutOfOrder) {
  intel("card1", "0x56c0", "0000:29:00.0");
  probes_.level_zero = XAAS_FAKE_LEVEL_ZERO;
  probes_.opencl = XAAS_FAKE_OPENCL;
  variable("FAKE_LEVEL_ZERO", "");
  variable("FAKE_OPENCL", "Other,10de,5;Intel Data Center GPU Flex 170,8086,15000000000");
  EXPECT_EQ(detect(probes_).gpus[0].memory_bytes, 0u); // no implementation: the loader is not asked
  file("/etc/OpenCL/vendors/intel.icd", "libigdrcl.so\n");
  const SystemDescription found = detect(probes_);
  ASSERT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.gpus[0],
            (Gpu{"intel", "Intel Data Center GPU Flex 170", "acm-g10", 15000000000, "23.43.27642", "",
                 "/sys/class/drm/card1/device/device: model, arch; " XAAS_FAKE_OPENCL
                 ": model, driver, memory_bytes",
                 "0000:29:00.0"}));
}

} // namespace
} // namespace xaas::system
