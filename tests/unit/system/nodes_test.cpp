// Whole nodes: what a faked machine is described as, all of it but the CPU's features, which do not come from
// files.
#include "system/testing.h"

#include <functional>

namespace xaas::system {
namespace {

class DetectNode : public Detect {
protected:
  void base(const std::string& cpuinfo, const std::string& memory_kib, const std::string& os,
            const std::string& glibc) {
    file("/proc/cpuinfo", cpuinfo);
    file("/proc/meminfo", "MemTotal:       " + memory_kib + " kB\n");
    file("/proc/sys/kernel/osrelease", "5.14.21\n");
    file("/etc/os-release", "PRETTY_NAME=\"" + os + "\"\n");
    file("/lib64/libc.so.6",
         elf(probes_.cpu->arch) + "GNU C Library (GNU libc) stable release version " + glibc + ".\n");
    file("/sys/devices/system/cpu/online", "0-1\n");
    processor(0, "0", "0", "0-1");
    processor(1, "1", "0", "0-1");
    file("/sys/devices/system/node/node0/cpulist", "0-1\n");
    file("/proc/sys/user/max_user_namespaces", "100\n");
    file("/proc/self/status", "Cpus_allowed_list:\t0-1\n");
  }

  // The description without what base() always gives, and the paths of this test's own directory as BIN.
  Json described() {
    Json json = to_json(detect(probes_));
    EXPECT_EQ(json["cpu"]["features"], Json(probes_.cpu->features));
    json["cpu"].erase("features");
    json["cpu"].erase("caches");
    std::string text = json.dump();
    for (size_t at; (at = text.find(probes_.path[0])) != std::string::npos;)
      text.replace(at, probes_.path[0].size(), "BIN");
    return Json::parse(text);
  }

  // `changes` to what base() gives, as a merge patch of JSON.
  void expect(const std::string& changes) {
    Json want = Json::parse(R"json({
      "version": 1, "arch": "x86_64",
      "cpu": {"vendor": null, "model": null, "name": "", "level": "", "cores": 2, "threads": 2, "sockets": 1, "numa_nodes": 1, "sve_bits": 0},
      "memory_bytes": 0, "gpus": [], "mpi": [], "fabrics": [], "compilers": [], "libraries": [],
      "glibc": "", "kernel": "5.14.21", "os": "", "modules": [], "runtimes": [],
      "containers": {"user_namespaces": true, "fuse": null, "setuid": false},
      "batch": null, "allowed": {"threads": 2, "memory_bytes": 0}, "module_system": null,
      "evidence": {"allowed.threads": "/proc/self/status",
        "containers.user_namespaces": "/proc/sys/user/max_user_namespaces is 100",
        "cpu.caches": "/sys/devices/system/cpu/*/cache", "cpu.cores": "/sys/devices/system/cpu",
        "cpu.model": "/proc/cpuinfo", "cpu.numa_nodes": "/sys/devices/system/node", "glibc": "/lib64/libc.so.6",
        "kernel": "/proc/sys/kernel/osrelease", "memory_bytes": "/proc/meminfo", "os": "/etc/os-release"},
      "notes": []})json");
    const Json patch = Json::parse(changes);
    const std::function<void(Json&, const Json&)> merge = [&](Json& into, const Json& from) {
      for (const auto& [key, value] : from.items())
        if (value.is_object() && into[key].is_object())
          merge(into[key], value); // null is a value here
        else
          into[key] = value;
    };
    merge(want, patch);
    const Json got = described();
    EXPECT_EQ(Json::diff(want, got), Json::array()) << got.dump(1);
  }
};

TEST_F(DetectNode, NvidiaNode) {
  probes_.cpu = *target::cpu_by_name("x86_64", "sapphirerapids");
  base("processor : 0\nvendor_id : GenuineIntel\nmodel name : Intel(R) Xeon(R) Platinum 8460Y+\n",
       "527952880", "Red Hat Enterprise Linux 9.2 (Plow)", "2.34");
  file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n");
  file("/proc/driver/nvidia/gpus/0000:1b:00.0/information", "Model: NVIDIA H100 64GB\n");
  probes_.nvml = XAAS_FAKE_NVML;
  variable("FAKE_NVML", "00000000:1B:00.0,NVIDIA H100 64GB,9,0,68702699520");
  file("/apps/ompi/lib/libmpi.so.40", elf());
  file("/apps/ompi/lib/pkgconfig/ompi-c.pc", "Version: 4.1.5\n");
  file("/sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
  probes_.environment = {{"LD_LIBRARY_PATH", "/apps/ompi/lib"},
                         {"LOADEDMODULES", "openmpi/4.1.5"},
                         {"LMOD_CMD", "/apps/lmod/libexec/lmod"},
                         {"LMOD_VERSION", "8.7"},
                         {"SLURM_JOB_ID", "123"},
                         {"SLURM_JOB_PARTITION", "acc"}};
  program("apptainer", "echo apptainer version 1.3.4");
  program("nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.131'");
  expect(R"json({
    "cpu": {"vendor": "GenuineIntel", "model": "Intel(R) Xeon(R) Platinum 8460Y+", "name": "sapphirerapids", "level": "x86-64-v4"},
    "memory_bytes": 540623749120, "glibc": "2.34", "os": "Red Hat Enterprise Linux 9.2 (Plow)",
    "gpus": [{"vendor": "nvidia", "model": "NVIDIA H100 64GB", "arch": "sm_90", "memory_bytes": 68702699520, "driver": "550.54.15",
      "runtime": "12.4", "evidence": "/proc/driver/nvidia/gpus/0000:1b:00.0/information: model; its name: arch; /proc/driver/nvidia/version: driver; )json" XAAS_FAKE_NVML
         R"json(: arch, runtime, memory_bytes", "pci": "0000:1b:00.0"}],
    "mpi": [{"implementation": "openmpi", "version": "4.1.5", "abi": "openmpi-40", "libdir": "/apps/ompi/lib",
      "evidence": "/apps/ompi/lib/libmpi.so.40; version: /apps/ompi/lib/pkgconfig/ompi-c.pc"}],
    "fabrics": [{"name": "infiniband", "version": null, "path": "/sys/class/infiniband/mlx5_0", "evidence": null}],
    "compilers": [{"name": "nvcc", "version": "12.4", "path": "BIN/nvcc", "evidence": null}],
    "modules": ["openmpi/4.1.5"],
    "runtimes": [{"name": "apptainer", "version": "1.3.4", "path": "BIN/apptainer", "evidence": null}],
    "batch": {"system": "slurm", "job": "123", "partition": "acc"},
    "module_system": {"name": "lmod", "version": "8.7", "path": "/apps/lmod/libexec/lmod", "evidence": "$LMOD_CMD"},
    "evidence": {"batch.job": "$SLURM_JOB_ID", "batch.partition": "$SLURM_JOB_PARTITION", "modules": "$LOADEDMODULES"}})json");
}

TEST_F(DetectNode, AmdNode) {
  probes_.cpu = *target::cpu_by_name("x86_64", "znver3");
  base("processor : 0\nvendor_id : AuthenticAMD\nmodel name : AMD EPYC 7A53 64-Core Processor\n", "527952880",
       "SUSE Linux Enterprise Server 15 SP5", "2.31");
  const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";
  file(nodes + "0/properties", "cpu_cores_count 64\ngfx_target_version 0\n");
  for (const auto& [node, place] : std::map<std::string, std::string>{{"4", "49408"}, {"5", "50688"}}) {
    file(nodes + node + "/properties",
         "simd_count 440\ngfx_target_version 90010\nlocation_id " + place + "\ndomain 0\n");
    file(nodes + node + "/name", "\n");
    file(nodes + node + "/mem_banks/0/properties", "heap_type 1\nsize_in_bytes 68702699520\n");
  }
  for (const char* address : {"0000:c1:00.0", "0000:c6:00.0"})
    file(std::string("/sys/bus/pci/devices/") + address + "/product_name", "AMD INSTINCT MI250X\n");
  file("/opt/rocm-6.0.3/.info/version", "6.0.3-102\n");
  file("/opt/cray/pe/mpich/8.1.29/ofi/cray/17.0/lib/libmpi_cray.so.12", elf());
  file("/sys/class/cxi/cxi0/device/properties", "");
  file("/dev/fuse", "");
  program("sinfo", "exit 0");
  program("newuidmap", "exit 0");
  expect(R"json({
    "cpu": {"vendor": "AuthenticAMD", "model": "AMD EPYC 7A53 64-Core Processor", "name": "znver3", "level": "x86-64-v3"},
    "memory_bytes": 540623749120, "glibc": "2.31", "os": "SUSE Linux Enterprise Server 15 SP5",
    "gpus": [
      {"vendor": "amd", "model": "AMD INSTINCT MI250X", "arch": "gfx90a", "memory_bytes": 68702699520, "driver": null, "runtime": "6.0.3",
       "evidence": "/sys/class/kfd/kfd/topology/nodes/4: arch, memory_bytes; /sys/bus/pci/devices/0000:c1:00.0/product_name: model; /opt/rocm-6.0.3/.info/version: runtime",
       "pci": "0000:c1:00.0"},
      {"vendor": "amd", "model": "AMD INSTINCT MI250X", "arch": "gfx90a", "memory_bytes": 68702699520, "driver": null, "runtime": "6.0.3",
       "evidence": "/sys/class/kfd/kfd/topology/nodes/5: arch, memory_bytes; /sys/bus/pci/devices/0000:c6:00.0/product_name: model; /opt/rocm-6.0.3/.info/version: runtime",
       "pci": "0000:c6:00.0"}],
    "mpi": [{"implementation": "mpich", "version": "8.1.29", "abi": "mpich-12", "libdir": "/opt/cray/pe/mpich/8.1.29/ofi/cray/17.0/lib",
      "evidence": "/opt/cray/pe/mpich/8.1.29/ofi/cray/17.0/lib/libmpi_cray.so.12; version: /opt/cray/pe/mpich/8.1.29/ofi/cray/17.0/lib/libmpi_cray.so.12"}],
    "fabrics": [{"name": "cxi", "version": null, "path": "/sys/class/cxi/cxi0", "evidence": null}],
    "containers": {"fuse": true, "setuid": true},
    "batch": {"system": "slurm", "job": null, "partition": null},
    "evidence": {"batch.system": "BIN/sinfo", "containers.fuse": "/dev/fuse", "containers.setuid": "BIN/newuidmap"}})json");
}

TEST_F(DetectNode, IntelGpuNode) {
  probes_.cpu = *target::cpu_by_name("x86_64", "sapphirerapids");
  base("processor : 0\nvendor_id : GenuineIntel\nmodel name : Intel(R) Xeon(R) CPU Max 9470C\n", "1056764452",
       "SUSE Linux Enterprise Server 15 SP4", "2.31");
  file("/sys/class/drm/card0/device/vendor", "0x8086\n");
  file("/sys/class/drm/card0/device/device", "0x0bd5\n");
  file("/sys/class/drm/card0/device/uevent", "PCI_SLOT_NAME=0000:29:00.0\n");
  file("/sys/module/i915/version", "1.23.7\n");
  probes_.level_zero = XAAS_FAKE_LEVEL_ZERO;
  variable("FAKE_LEVEL_ZERO", "29,Intel(R) Data Center GPU Max 1550,0bd5,137438953472,0");
  file("/usr/lib64/libze_loader.so.1.17.6", elf());
  probes_.environment = {{"PBS_JOBID", "9.head"}, {"PBS_QUEUE", "prod"}};
  file("/spack/mpich/lib/libmpi.so.12", elf());
  file("/opt/spack/.spack-db/index.json",
       R"({"database": {"installs": {"h": {"spec": {"name": "mpich", "version": "4.2.3"},
    "path": "/spack/mpich", "installed": true}}}})");
  file("/etc/spack/config.yaml", "config:\n  install_tree: {root: /opt/spack}\n");
  expect(R"json({
    "cpu": {"vendor": "GenuineIntel", "model": "Intel(R) Xeon(R) CPU Max 9470C", "name": "sapphirerapids", "level": "x86-64-v4"},
    "memory_bytes": 1082126798848, "glibc": "2.31", "os": "SUSE Linux Enterprise Server 15 SP4",
    "gpus": [{"vendor": "intel", "model": "Intel(R) Data Center GPU Max 1550", "arch": "pvc", "memory_bytes": 137438953472, "driver": "1.23.7",
      "runtime": null, "evidence": "/sys/class/drm/card0/device/device: model, arch; /sys/module/i915/version: driver; )json" XAAS_FAKE_LEVEL_ZERO
         R"json(: model, memory_bytes", "pci": "0000:29:00.0"}],
    "mpi": [{"implementation": "mpich", "version": "4.2.3", "abi": "mpich-12", "libdir": "/spack/mpich/lib",
      "evidence": "/spack/mpich/lib/libmpi.so.12; version: /opt/spack/.spack-db/index.json"}],
    "libraries": [{"name": "ze_loader", "version": "1.17.6", "path": "/usr/lib64/libze_loader.so.1.17.6", "evidence": "/usr/lib64/libze_loader.so.1.17.6"}],
    "batch": {"system": "pbs", "job": "9.head", "partition": "prod"},
    "evidence": {"batch.job": "$PBS_JOBID", "batch.partition": "$PBS_QUEUE"}})json");
}

TEST_F(DetectNode, GraceHopperNode) {
  probes_.cpu = *target::cpu_by_name("aarch64", "neoverse-v2");
  base("processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd sve sve2\nCPU implementer\t: 0x41\nCPU "
       "architecture: 8\n"
       "CPU variant\t: 0x0\nCPU part\t: 0xd4f\nCPU revision\t: 0\n",
       "886923776", "SUSE Linux Enterprise Server 15 SP5", "2.31");
  file("/proc/sys/abi/sve_default_vector_length", "16\n");
  file("/sys/devices/system/node/node1/cpulist", "\n"); // the GPU's memory
  file("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX aarch64 Kernel Module  550.54.15  Tue\n");
  file("/proc/driver/nvidia/gpus/0009:01:00.0/information", "Model: NVIDIA GH200 120GB\n");
  probes_.nvml = XAAS_FAKE_NVML;
  variable("FAKE_NVML", "00000009:01:00.0,NVIDIA GH200 120GB,9,0,102625181696");
  file("/usr/lib64/libcudart.so.12.6.77", elf("x86_64")); // of a tree for another machine
  file("/usr/local/cuda/lib64/libcudart.so.12.6.77", elf("aarch64"));
  expect(R"json({
    "arch": "aarch64",
    "cpu": {"vendor": "ARM", "model": null, "name": "neoverse-v2", "level": "armv9-a", "sve_bits": 128},
    "memory_bytes": 908209946624, "glibc": "2.31", "os": "SUSE Linux Enterprise Server 15 SP5",
    "gpus": [{"vendor": "nvidia", "model": "NVIDIA GH200 120GB", "arch": "sm_90", "memory_bytes": 102625181696, "driver": "550.54.15",
      "runtime": "12.4", "evidence": "/proc/driver/nvidia/gpus/0009:01:00.0/information: model; its name: arch; /proc/driver/nvidia/version: driver; )json" XAAS_FAKE_NVML
         R"json(: arch, runtime, memory_bytes", "pci": "0009:01:00.0"}],
    "libraries": [{"name": "cudart", "version": "12.6.77", "path": "/usr/local/cuda/lib64/libcudart.so.12.6.77",
      "evidence": "/usr/local/cuda/lib64/libcudart.so.12.6.77"}],
    "evidence": {"cpu.sve_bits": "/proc/sys/abi/sve_default_vector_length"}})json");
}

// The processor's own word counts, not its name and not /proc/cpuinfo: a hypervisor hides one feature, and
// all that is built on it and the level are gone.
TEST_F(DetectNode, VirtualMachineThatHidesAFeature) {
  std::map<std::string, bool> detected;
  const std::vector<std::string> features = *target::features_of("x86_64", "skylake-avx512");
  for (const std::string& feature : features)
    detected[feature] = true;
  detected["avx2"] = false;
  probes_.cpu = target::cpu_from_detection("x86_64", "skylake-avx512", detected);
  base("processor : 0\nvendor_id : GenuineIntel\nmodel name : Intel Core Processor (Skylake)\nflags : avx2 "
       "avx512f\n",
       "2031616", "Debian GNU/Linux 12 (bookworm)", "2.36");
  for (const char* gone : {"avx2", "avx512f", "avx512vl"})
    EXPECT_THAT(probes_.cpu->features, testing::Not(testing::Contains(gone)));
  expect(R"json({
    "cpu": {"vendor": "GenuineIntel", "model": "Intel Core Processor (Skylake)", "name": "skylake-avx512", "level": "x86-64-v2"},
    "memory_bytes": 2080374784, "glibc": "2.36", "os": "Debian GNU/Linux 12 (bookworm)"})json");
}

} // namespace
} // namespace xaas::system
