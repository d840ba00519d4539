#include "system/testing.h"

#include <chrono>
#include <unistd.h>

namespace xaas::system {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
  file("/proc/sys/abi/sve_default_vector_length", "16\n");
  file("/usr/lib/os-release", "PRETTY_NAME='SUSE'\n");
  file("/lib64/libc.so.6", std::string("\x7f"
                                       "ELF\0GNU C Library (GNU libc) stable release version 2.31.\nmore",
                                       62));
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.arch, "aarch64");
  EXPECT_EQ(found.cpu.level, "armv9-a");
  EXPECT_EQ(found.cpu.sve_bits, 128u);
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
  SystemDescription found = detect(probes_);
  EXPECT_EQ(found.user_namespaces, true);
  EXPECT_EQ(found.evidence["containers.user_namespaces"], "/proc/sys/user/max_user_namespaces is 96365");
  EXPECT_EQ(found.fuse, true);
  EXPECT_EQ(found.evidence["containers.fuse"], "/dev/fuse");
  fs::remove(probes_.root / "dev/fuse");
  EXPECT_EQ(detect(probes_).fuse, false);
  // Each of the switches.
  for (const auto& [name, on, off] :
       {std::tuple{"kernel/unprivileged_userns_clone", "1\n", "0\n"},
        std::tuple{"user/max_user_namespaces", "1\n", "0\n"},
        std::tuple{"kernel/apparmor_restrict_unprivileged_userns", "0\n", "1\n"}}) {
    const std::string path = std::string("/proc/sys/") + name;
    file(path, off);
    found = detect(probes_);
    EXPECT_EQ(found.user_namespaces, false) << name;
    EXPECT_EQ(found.evidence["containers.user_namespaces"], path + " is " + off[0]);
    file(path, on);
    EXPECT_EQ(detect(probes_).user_namespaces, true) << name;
  }
}

TEST_F(Detect, SetuidHelpers) {
  EXPECT_EQ(detect(probes_).setuid, false);
  // A container runtime with a starter of its own, which only counts if it is setuid.
  program("apptainer", "echo apptainer version 1.3.0");
  const fs::path starter = directory_.path() / "libexec/apptainer/bin/starter-suid";
  ASSERT_TRUE(make_directories(starter.parent_path()));
  ASSERT_TRUE(write_file(starter, "", 0755));
  EXPECT_EQ(detect(probes_).setuid, false);
  fs::permissions(starter, fs::perms::set_uid, fs::perm_options::add);
  SystemDescription found = detect(probes_);
  EXPECT_EQ(found.setuid, true);
  EXPECT_EQ(found.evidence["containers.setuid"], starter.string());
  program("newuidmap", "exit 0");
  found = detect(probes_);
  EXPECT_EQ(found.evidence["containers.setuid"], probes_.path[0] + "/newuidmap");
  file("/proc/self/status", "Name:\txaas\nNoNewPrivs:\t1\n");
  found = detect(probes_);
  EXPECT_EQ(found.setuid, false);
  EXPECT_EQ(found.evidence["containers.setuid"],
            probes_.path[0] + "/newuidmap exists, but no_new_privs is set");
}

TEST_F(Detect, BatchSystems) {
  file("/etc/pbs.conf", "");
  SystemDescription found = detect(probes_);
  EXPECT_EQ(found.batch_system, "pbs");
  EXPECT_EQ(found.evidence["batch.system"], "/etc/pbs.conf");
  program("sinfo", "exit 0");
  found = detect(probes_);
  EXPECT_EQ(found.batch_system, "slurm");
  EXPECT_EQ(found.evidence["batch.system"], probes_.path[0] + "/sinfo");
  EXPECT_EQ(found.batch_job + found.batch_partition, "");
  probes_.environment["FLUX_ENCLOSING_ID"] = "f2";
  found = detect(probes_);
  EXPECT_EQ(found.batch_system, "flux");
  EXPECT_EQ(found.batch_job, "f2");
  EXPECT_EQ(found.batch_partition, "");
  probes_.environment["PBS_JOBID"] = "12.server";
  probes_.environment["PBS_QUEUE"] = "workq";
  found = detect(probes_);
  EXPECT_EQ(found.batch_system, "pbs");
  EXPECT_EQ(found.batch_job, "12.server");
  EXPECT_EQ(found.batch_partition, "workq");
  probes_.environment["LSB_JOBID"] = "5";
  EXPECT_EQ(detect(probes_).batch_system, "lsf");
  probes_.environment["SLURM_JOB_ID"] = "77";
  probes_.environment["SLURM_JOB_PARTITION"] = "gpu";
  found = detect(probes_);
  EXPECT_EQ(found.batch_system, "slurm");
  EXPECT_EQ(found.batch_job, "77");
  EXPECT_EQ(found.batch_partition, "gpu");
  EXPECT_EQ(found.evidence["batch.job"], "$SLURM_JOB_ID");
  EXPECT_EQ(found.evidence["batch.partition"], "$SLURM_JOB_PARTITION");
}

TEST_F(Detect, AJobWhoseEnvironmentIsEmpty) {
  for (const char* group : {"0::/system.slice/slurmstepd.scope/job_77/step_0/user/task_0\n",
                            "4:memory:/slurm/uid_1000/job_77/step_batch\n3:cpuset:/\n"}) {
    file("/proc/self/cgroup", group);
    const SystemDescription found = detect(probes_);
    EXPECT_EQ(found.batch_system, "slurm") << group;
    EXPECT_EQ(found.batch_job, "77");
    EXPECT_EQ(found.evidence.at("batch.job"), "/proc/self/cgroup");
  }
  file("/proc/self/cgroup", "0::/user.slice/job_77\n");
  EXPECT_EQ(detect(probes_).batch_system, "");
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
