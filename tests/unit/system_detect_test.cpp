#include <xaas/system/system.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <unistd.h>

namespace xaas::system {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A machine in a temporary directory.
class Detect : public testing::Test {
protected:
  TemporaryDirectory directory_ = *TemporaryDirectory::create();
  Probes probes_;

  void SetUp() override {
    probes_.root = directory_.path() / "root";
    probes_.cpu = *target::cpu_by_name("x86_64", "znver3");
    probes_.path = {(directory_.path() / "bin").string()};
    probes_.environment = {{"HOME", "/root"}};
    ASSERT_TRUE(make_directories(probes_.root));
    ASSERT_TRUE(make_directories(probes_.path[0]));
  }

  void file(const std::string& absolute, const std::string& content) {
    const fs::path path = probes_.root / absolute.substr(1);
    ASSERT_TRUE(make_directories(path.parent_path()));
    ASSERT_TRUE(write_file(path, content, 0644, false));
  }

  void program(const std::string& name, const std::string& script) {
    ASSERT_TRUE(write_file(fs::path(probes_.path[0]) / name, "#!/bin/sh\n" + script + "\n", 0755, false));
  }

  // One processor of /sys with its second-level cache.
  void processor(unsigned number, const std::string& siblings, const std::string& socket,
                 const std::string& l3) {
    const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(number);
    file(cpu + "/topology/core_cpus_list", siblings + "\n");
    file(cpu + "/topology/physical_package_id", socket + "\n");
    file(cpu + "/cache/index0/level", "1\n");
    file(cpu + "/cache/index0/type", "Data\n");
    file(cpu + "/cache/index0/size", "32K\n");
    file(cpu + "/cache/index0/shared_cpu_list", siblings + "\n");
    file(cpu + "/cache/index3/level", "3\n");
    file(cpu + "/cache/index3/type", "Unified\n");
    file(cpu + "/cache/index3/size", "32M\n");
    file(cpu + "/cache/index3/shared_cpu_list", l3 + "\n");
  }
};

TEST_F(Detect, EmptyMachine) {
  probes_.environment = {{"PATH", "/nonexistent"}};
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.arch, "x86_64");
  EXPECT_EQ(found.cpu.name, "znver3");
  EXPECT_EQ(found.cpu.level, "x86-64-v3");
  EXPECT_EQ(found.cpu.features, probes_.cpu->features);
  EXPECT_EQ(found.cpu.vendor + found.cpu.model + found.glibc + found.kernel + found.os, "");
  EXPECT_EQ(found.cpu.cores + found.cpu.threads + found.cpu.sockets + found.cpu.numa_nodes, 0u);
  EXPECT_EQ(found.memory_bytes, 0u);
  EXPECT_THAT(found.cpu.caches, IsEmpty());
  EXPECT_THAT(found.runtimes, IsEmpty());
  EXPECT_EQ(found.user_namespaces, std::nullopt);
  EXPECT_EQ(found.fuse, std::nullopt);
  EXPECT_EQ(found.setuid, false);
  EXPECT_EQ(found.batch_system, "");
}

TEST_F(Detect, ProcessorsMemoryAndNames) {
  file("/proc/cpuinfo",
       "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC: 7A53\n\nprocessor\t: 1\n\n");
  file("/sys/devices/system/cpu/online", "0-3,6-7\n");
  // Two sockets, the first with two threads per core; processors 4 and 5 are off.
  processor(0, "0,2", "0", "0-3");
  processor(1, "1,3", "0", "0-3");
  processor(2, "0,2", "0", "0-3");
  processor(3, "1,3", "0", "0-3");
  processor(4, "4", "1", "4-7");
  processor(5, "5", "1", "4-7");
  processor(6, "6", "1", "6-7");
  processor(7, "7", "1", "6-7");
  file("/sys/devices/system/cpu/cpufreq/boost", "1");
  file("/sys/devices/system/node/node0/cpulist", "0-3");
  file("/sys/devices/system/node/node1/cpulist", "6-7");
  file("/sys/devices/system/node/online", "0-1");
  file("/proc/meminfo", "MemTotal:       16303428 kB\nMemFree: 1 kB\n");
  file("/proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
  file("/etc/os-release", "NAME=Debian\nPRETTY_NAME=\"Debian \\\"12\\\" (bookworm)\"\n");

  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.cpu.vendor, "AuthenticAMD");
  EXPECT_EQ(found.cpu.model, "AMD EPYC: 7A53");
  EXPECT_EQ(found.cpu.threads, 6u);
  EXPECT_EQ(found.cpu.cores, 4u);
  EXPECT_EQ(found.cpu.sockets, 2u);
  EXPECT_EQ(found.cpu.numa_nodes, 2u);
  EXPECT_THAT(found.cpu.caches, ElementsAre(CpuDescription::Cache{1, "data", 32768, 4},
                                            CpuDescription::Cache{3, "unified", uint64_t(32) << 20, 2}));
  EXPECT_EQ(found.memory_bytes, uint64_t(16303428) * 1024);
  EXPECT_EQ(found.kernel, "6.1.0-28-amd64");
  EXPECT_EQ(found.os, "Debian \"12\" (bookworm)");
}

TEST_F(Detect, TopologyOfAVirtualMachineWithoutSys) {
  file("/proc/cpuinfo",
       "processor : 0\nvendor_id : GenuineIntel\nmodel name : QEMU\nphysical id : 0\ncore id : 0\n\n"
       "processor : 1\nphysical id : 1\ncore id : 0\n");
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.cpu.threads, 2u);
  EXPECT_EQ(found.cpu.cores, 2u);
  EXPECT_EQ(found.cpu.sockets, 2u);
  EXPECT_EQ(found.cpu.numa_nodes, 0u);
}

TEST_F(Detect, Aarch64WithoutTopology) {
  probes_.cpu = *target::cpu_by_name("aarch64", "neoverse-v2");
  file("/proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n\nprocessor\t: 1\n"
                        "CPU implementer\t: 0x41\n\n");
  file("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n");
  file("/usr/lib/os-release", "PRETTY_NAME='SUSE'\n");
  file("/lib64/libc.so.6", std::string("\x7f"
                                       "ELF\0GNU C Library (GNU libc) stable release version 2.31.\nmore",
                                       62));
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.arch, "aarch64");
  EXPECT_EQ(found.cpu.level, "armv9-a");
  EXPECT_EQ(found.cpu.vendor, "ARM");
  EXPECT_EQ(found.cpu.model, "");
  EXPECT_EQ(found.cpu.sockets, 0u);
  EXPECT_EQ(found.os, "SUSE");
  EXPECT_EQ(found.glibc, "2.31");
}

TEST_F(Detect, NonsenseFilesAreNothingFound) {
  file("/proc/cpuinfo", ":::\n\n\n: :\nprocessor");
  file("/proc/meminfo", "MemTotal: much\n");
  file("/sys/devices/system/cpu/online", "7-3,x,-,0-99999999999,99999999999999999999999\n");
  file("/sys/devices/system/cpu/cpu0/cache/index0/level", "one");
  file("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "");
  file("/etc/os-release", "PRETTY_NAME=\"");
  file("/lib64/libc.so.6", "GNU C Library (none) GNU C Library (x) release version .");
  file("/proc/sys/user/max_user_namespaces", "many");
  ASSERT_TRUE(make_directories(probes_.root / "proc/sys/kernel/osrelease"));
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.memory_bytes, 0u);
  EXPECT_EQ(found.cpu.sockets, 0u);
  EXPECT_EQ(found.cpu.threads, 1u); // the directory cpu0
  EXPECT_THAT(found.cpu.caches, IsEmpty());
  EXPECT_EQ(found.glibc + found.kernel, "");
  EXPECT_EQ(found.user_namespaces, std::nullopt);
}

TEST_F(Detect, RuntimesAndTheirVersions) {
  program("podman", "echo podman version 4.3.1");
  program("docker", "echo 'Docker version 24.0.5, build ced0996'");
  program("ch-run", "echo 0.26 >&2");
  program("apptainer", "echo apptainer version 1.1.9-1.el8");
  program("enroot", "[ \"$1\" = version ] && echo 3.4.1");
  program("runc", "echo 1.2.3; exit 1");
  program("newuidmap", "exit 0");
  ASSERT_TRUE(write_file(fs::path(probes_.path[0]) / "bwrap", "not executable", 0644));
  const std::string bin = probes_.path[0] + "/";
  SystemDescription found = detect(probes_);
  EXPECT_THAT(found.runtimes,
              ElementsAre(Named{"podman", "4.3.1", bin + "podman"}, Named{"docker", "24.0.5", bin + "docker"},
                          Named{"apptainer", "1.1.9-1.el8", bin + "apptainer"},
                          Named{"ch-run", "0.26", bin + "ch-run"}, Named{"enroot", "3.4.1", bin + "enroot"},
                          Named{"runc", "", bin + "runc"}));
  EXPECT_EQ(found.setuid, true);

  program("podman", "touch " + bin + "was-run");
  probes_.runtime_versions = false;
  found = detect(probes_);
  EXPECT_EQ(found.runtimes.at(0), (Named{"podman", "", bin + "podman"}));
  EXPECT_FALSE(fs::exists(bin + "was-run"));
}

TEST_F(Detect, HangingRuntimesCostALimitedTime) {
  program("podman", "sleep 60");
  program("docker", "trap '' TERM; exec >&- 2>&-; while :; do sleep 60; done");
  program("apptainer", "sleep 61 & echo $! >" + probes_.path[0] +
                           "/pid; echo apptainer version 1.3.0"); // a child keeps the pipe open
  program("singularity", "while :; do echo no version here; done");
  program("runc", "echo runc version 1.1.5");
  const auto start = std::chrono::steady_clock::now();
  const SystemDescription found = detect(probes_);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  std::vector<std::string> versions;
  for (const Named& runtime : found.runtimes)
    versions.push_back(runtime.version);
  EXPECT_THAT(versions, ElementsAre("", "", "1.3.0", "", "1.1.5"));
  const pid_t left = static_cast<pid_t>(std::stol(*read_file(fs::path(probes_.path[0]) / "pid")));
  const auto runs = [&] { // gone, or not yet reaped by init
    const Result<std::string> status = read_file("/proc/" + std::to_string(left) + "/stat");
    return status && status->find(") Z ") == std::string::npos;
  };
  for (int i = 0; i < 1000 && runs(); ++i) // a signal takes its time
    usleep(1000);
  EXPECT_FALSE(runs());
}

TEST_F(Detect, ContainerFacilities) {
  file("/proc/sys/user/max_user_namespaces", "96365\n");
  file("/dev/fuse", "");
  EXPECT_EQ(detect(probes_).user_namespaces, true);
  EXPECT_EQ(detect(probes_).fuse, true);
  file("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
  fs::remove(probes_.root / "dev/fuse");
  EXPECT_EQ(detect(probes_).user_namespaces, false);
  EXPECT_EQ(detect(probes_).fuse, false);
  file("/proc/sys/kernel/unprivileged_userns_clone", "1\n");
  file("/proc/sys/user/max_user_namespaces", "0\n");
  EXPECT_EQ(detect(probes_).user_namespaces, false);
}

TEST_F(Detect, BatchSystems) {
  program("qsub", "exit 0");
  EXPECT_EQ(detect(probes_).batch_system, "pbs");
  program("sinfo", "exit 0");
  EXPECT_EQ(detect(probes_).batch_system, "slurm");
  EXPECT_EQ(detect(probes_).batch_job, "");
  probes_.environment["PBS_JOBID"] = "12.server";
  EXPECT_EQ(detect(probes_).batch_system, "pbs");
  EXPECT_EQ(detect(probes_).batch_job, "12.server");
  probes_.environment["SLURM_JOB_ID"] = "77";
  EXPECT_EQ(detect(probes_).batch_system, "slurm");
  EXPECT_EQ(detect(probes_).batch_job, "77");
}

TEST_F(Detect, NvidiaByTheDriversFiles) {
  file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 "
                                      "22:23:56 UTC 2024\nGCC version: 12\n");
  for (const char* slot : {"0000:1c:00.0", "0000:1e:00.0"})
    file(std::string("/proc/driver/nvidia/gpus/") + slot + "/information",
         "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 152\n");
  const SystemDescription found = detect(probes_);
  ASSERT_EQ(found.gpus.size(), 2u);
  EXPECT_EQ(found.gpus[0], (Gpu{"nvidia", "NVIDIA A100-SXM4-40GB", "sm_80", 0, "550.54.15", "",
                                "/proc/driver/nvidia/gpus/0000:1c:00.0/information"}));
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
    file("/proc/driver/nvidia/gpus/0000:1c:00.0/information", "Model: " + model + "\n");
    EXPECT_EQ(detect(probes_).gpus[0].arch, arch) << model;
  }
}

TEST_F(Detect, AmdByTheKernelsTopology) {
  file("/sys/class/kfd/kfd/topology/nodes/0/properties", "cpu_cores_count 64\ngfx_target_version 0\n");
  file("/sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 440\ngfx_target_version 90010\n");
  file("/sys/class/kfd/kfd/topology/nodes/1/name", "aldebaran\n");
  file("/sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/properties",
       "heap_type 1\nsize_in_bytes 68702699520\n");
  file("/sys/module/amdgpu/version", "6.3.6\n");
  file("/opt/rocm/.info/version", "6.0.3-102\n");
  const SystemDescription found = detect(probes_);
  ASSERT_EQ(found.gpus.size(), 1u);
  EXPECT_EQ(found.gpus[0], (Gpu{"amd", "aldebaran", "gfx90a", 68702699520, "6.3.6", "6.0.3",
                                "/sys/class/kfd/kfd/topology/nodes/1/properties"}));
  file("/sys/class/kfd/kfd/topology/nodes/1/properties", "gfx_target_version 110001\n");
  EXPECT_EQ(detect(probes_).gpus[0].arch, "gfx1101");
}

TEST_F(Detect, IntelByItsDevices) {
  for (const char* card : {"card0", "card1"}) {
    file(std::string("/sys/class/drm/") + card + "/device/vendor", "0x8086\n");
    file(std::string("/sys/class/drm/") + card + "/device/device",
         card == std::string("card1") ? "0x0bd5\n" : "0x4680\n");
  }
  file("/sys/class/drm/card1-HDMI-A-1/status", "connected\n");
  const SystemDescription found = detect(probes_);
  ASSERT_EQ(found.gpus.size(), 1u); // the other is part of a processor
  EXPECT_EQ(found.gpus[0].arch, "pvc");
  EXPECT_EQ(found.gpus[0].evidence, "/sys/class/drm/card1/device/device");
}

TEST_F(Detect, MpiLibrariesFabricsAndModules) {
  file("/opt/mpich/lib/libmpi.so.12", "...MPICH Version:\t4.1.2\n...");
  file("/usr/lib/x86_64-linux-gnu/libmpi.so.40", "Open MPI v4.1.4, package");
  file("/usr/lib/x86_64-linux-gnu/libfftw3.so.3", "");
  file("/usr/lib/x86_64-linux-gnu/libfftw3.so.3.6.9", "");
  file("/usr/lib/x86_64-linux-gnu/libfftw3_threads.so.3", "");
  file("/opt/fabric/libfabric.so.1", "");
  file("/etc/ld.so.conf.d/fabric.conf", "# where it is\n/opt/fabric\n");
  probes_.environment["LD_LIBRARY_PATH"] = "/opt/mpich/lib:relative";
  probes_.environment["LOADEDMODULES"] = "gcc/13.2:cray-mpich/8.1.29";
  const SystemDescription found = detect(probes_);
  EXPECT_THAT(found.mpi, ElementsAre(Mpi{"mpich", "4.1.2", "mpich-12", "/opt/mpich/lib"},
                                     Mpi{"openmpi", "4.1.4", "openmpi-40", "/usr/lib/x86_64-linux-gnu"}));
  EXPECT_THAT(found.libraries,
              ElementsAre(Named{"fftw3", "", "/usr/lib/x86_64-linux-gnu/libfftw3.so.3.6.9"}));
  EXPECT_THAT(found.fabrics, ElementsAre(Named{"libfabric", "", "/opt/fabric/libfabric.so.1"}));
  EXPECT_THAT(found.modules, ElementsAre("gcc/13.2", "cray-mpich/8.1.29"));
}

TEST_F(Detect, CompilersOnTheSearchPath) {
  program("gcc", "echo 'gcc (Debian 12.2.0-14) 12.2.0'");
  program("nvcc", "sleep 100");
  const SystemDescription found = detect(probes_);
  ASSERT_EQ(found.compilers.size(), 2u);
  EXPECT_EQ(found.compilers[0].name, "gcc");
  EXPECT_EQ(found.compilers[1], (Named{"nvcc", "", probes_.path[0] + "/nvcc"}));
}

TEST_F(Detect, ImportOfThePrototypesFiles) {
  file("/amd.json",
       R"({"CPU Info": {"Architecture": "x86_64", "Model Name": "AMD EPYC 7A53", "Supported Vectorizations":
    ["avx2", "avx", "sse4_2", "sse4_1", "ssse3", "sse2", "sse"]}, "Accelerators": {"Accelerators": {"amd": [{"name": "gfx90a",
    "marketing_name": "AMD Instinct MI250X", "runtime_version": "1.1"}]}, "Driver Versions": {}}, "GPU Backends": {"ROCm":
    {"version": "6.0.3"}}, "Loaded Modules": {"cce": "17.0.1"}, "Parallel Libraries": {"No MPI Found": {"None": "No MPI"}}})");
  auto found = import_prototype(probes_.root / "amd.json");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->cpu.level, "x86-64-v3");
  EXPECT_THAT(found->cpu.features, testing::Contains("fma"));
  EXPECT_THAT(found->cpu.features, testing::Not(testing::Contains("fma4")));
  EXPECT_EQ(found->gpus[0], (Gpu{"amd", "AMD Instinct MI250X", "gfx90a", 0, "", "6.0.3", "rocminfo"}));
  EXPECT_THAT(found->mpi, IsEmpty());
  EXPECT_THAT(found->modules, ElementsAre("cce/17.0.1"));

  file(
      "/arm.json",
      R"({"CPU Info": {"Architecture": "aarch64", "Model Name": null, "Supported Vectorizations": ["asimd", "sve"]},
    "Accelerators": {"Accelerators": {"nvidia": [{"gpu": "NVIDIA GH200 120GB", "compute_cap": "9.0", "driver": "550.54.15"}]}},
    "GPU Backends": {"CUDA": {"version": "12.6"}}, "Parallel Libraries": {"OpenMPI": {"libmpi.so.40": "/opt/ompi/lib/libmpi.so.40",
    "libmpi.so.40.30.1": "/opt/ompi/lib/libmpi.so.40.30.1"}}, "FFT Libraries": {"cufft": {"path": "/opt/libcufft.so.11", "version":
    "11.3.0.4"}, "MKL": {"path": "/opt/libmkl.so", "version": "Unknown Version"}}})");
  found = import_prototype(probes_.root / "arm.json");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->arch, "aarch64");
  EXPECT_THAT(found->cpu.features, testing::IsSupersetOf({"neon", "sve"}));
  EXPECT_EQ(found->gpus[0].arch, "sm_90");
  EXPECT_EQ(found->gpus[0].runtime, "12.6");
  EXPECT_THAT(found->mpi, ElementsAre(Mpi{"openmpi", "", "openmpi-40", "/opt/ompi/lib"}));
  EXPECT_THAT(found->libraries, ElementsAre(Named{"cufft", "11.3.0.4", "/opt/libcufft.so.11"},
                                            Named{"MKL", "", "/opt/libmkl.so"}));

  // AVX-512 is a level only where all of it is there.
  file("/part.json",
       R"({"CPU Info": {"Architecture": "x86_64", "Supported Vectorizations": ["avx512f", "avx2", "avx"]}})");
  found = import_prototype(probes_.root / "part.json");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->cpu.level, "x86-64-v3");

  for (const char* bad :
       {"{}", "[]", "{\"CPU Info\": {\"Architecture\": \"vax\"}}", "{", "{\"CPU Info\": 3}"}) {
    file("/bad.json", bad);
    EXPECT_EQ(import_prototype(probes_.root / "bad.json").error().kind, ErrorKind::usage) << bad;
  }
  EXPECT_EQ(import_prototype(probes_.root / "none.json").error().kind, ErrorKind::not_found);
}

TEST(DetectHere, ThisMachine) {
  Probes probes;
  probes.runtime_versions = false;
  const SystemDescription found = detect(probes);
  EXPECT_EQ(found.arch, target::host_arch());
  EXPECT_GE(found.cpu.threads, 1u);
  EXPECT_GT(found.memory_bytes, uint64_t(1) << 26);
  EXPECT_NE(found.kernel, "");
  const Result<SystemDescription> again = parse_system(to_json(found), "here");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, found);
}

} // namespace
} // namespace xaas::system
