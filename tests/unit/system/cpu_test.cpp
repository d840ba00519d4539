// Processors, caches and memory: what the machine has, and what this process may use.
#include "system/testing.h"

namespace xaas::system {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Cache = CpuDescription::Cache;

constexpr uint64_t KiB = 1024, MiB = 1024 * KiB;

class DetectCpu : public Detect {
protected:
  void cache(unsigned cpu, unsigned index, unsigned level, const std::string& type, const std::string& size,
             const std::string& shared) {
    const std::string directory =
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
    file(directory + "level", std::to_string(level) + "\n");
    file(directory + "type", type + "\n");
    if (!size.empty())
      file(directory + "size", size + "\n");
    file(directory + "shared_cpu_list", shared + "\n");
  }
  void core(unsigned cpu, const std::string& siblings, const std::string& socket = "0") {
    const std::string directory = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    file(directory + "core_cpus_list", siblings + "\n");
    file(directory + "physical_package_id", socket + "\n");
  }
};

// Two performance cores with two threads, four efficient ones with one, that share a cache.
TEST_F(DetectCpu, HybridCores) {
  file("/sys/devices/system/cpu/online", "0-7\n");
  for (const unsigned cpu : {0u, 1u, 2u, 3u}) {
    const std::string siblings = cpu < 2 ? "0-1" : "2-3";
    core(cpu, siblings);
    cache(cpu, 0, 1, "Data", "48K", siblings);
    cache(cpu, 2, 2, "Unified", "1280K", siblings);
    cache(cpu, 3, 3, "Unified", "12M", "0-7");
  }
  for (const unsigned cpu : {4u, 5u, 6u, 7u}) {
    core(cpu, std::to_string(cpu));
    cache(cpu, 0, 1, "Data", "32K", std::to_string(cpu));
    cache(cpu, 2, 2, "Unified", "2048K", "4-7");
    cache(cpu, 3, 3, "Unified", "12M", "0-7");
  }
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.cpu.threads, 8u);
  EXPECT_EQ(found.cpu.cores, 6u);
  EXPECT_EQ(found.cpu.sockets, 1u);
  EXPECT_THAT(found.cpu.caches,
              ElementsAre(Cache{1, "data", 32 * KiB, 4}, Cache{1, "data", 48 * KiB, 2},
                          Cache{2, "unified", 1280 * KiB, 2}, Cache{2, "unified", 2 * MiB, 1},
                          Cache{3, "unified", 12 * MiB, 1}));
}

// SMT is off: the second threads keep directories without topology. An older kernel's names.
TEST_F(DetectCpu, SmtOffAndOldKernel) {
  file("/sys/devices/system/cpu/online", "0-1\n");
  file("/sys/devices/system/cpu/offline", "2-3\n");
  file("/sys/devices/system/cpu/cpu2/online", "0\n");
  for (const char* cpu : {"0", "1"}) {
    const std::string directory = std::string("/sys/devices/system/cpu/cpu") + cpu + "/topology/";
    file(directory + "thread_siblings_list", std::string(cpu) + "\n");
    file(directory + "physical_package_id", "0\n");
  }
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.cpu.threads, 2u);
  EXPECT_EQ(found.cpu.cores, 2u);
  EXPECT_EQ(found.evidence.at("cpu.cores"), "/sys/devices/system/cpu");
}

// Masks in place of lists, no list of those that are on, and siblings that are cores of their own.
TEST_F(DetectCpu, MasksAndCoresThatShareAFrontEnd) {
  for (unsigned cpu = 0; cpu < 6; ++cpu) {
    const std::string directory = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
    if (cpu == 5) { // off
      file(directory + "online", "0\n");
      continue;
    }
    file(directory + "topology/thread_siblings", cpu < 2   ? "00000003\n"
                                                 : cpu < 4 ? "0000000c\n"
                                                           : "00000010\n");
    file(directory + "topology/core_id", cpu == 1 ? "1\n" : "0\n");
    file(directory + "topology/physical_package_id", "0\n");
    file(directory + "cache/index2/level", "2\n");
    file(directory + "cache/index2/type", "Unified\n");
    file(directory + "cache/index2/size", "2048K\n");
    file(directory + "cache/index2/shared_cpu_map", cpu < 2   ? "00000003\n"
                                                    : cpu < 4 ? "0000000c\n"
                                                              : "00000010\n");
  }
  file("/sys/devices/system/node/node0/cpumap", "0000001f\n");
  file("/sys/devices/system/node/node1/cpumap", "00000000\n");
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.cpu.threads, 5u);
  EXPECT_EQ(found.cpu.cores, 4u); // 0 and 1 are two, 2 and 3 are one
  EXPECT_EQ(found.cpu.numa_nodes, 1u);
  EXPECT_THAT(found.cpu.caches, ElementsAre(Cache{2, "unified", 2 * MiB, 3}));
}

// Firmware of many AArch64 machines says nothing about caches, or all but their size.
TEST_F(DetectCpu, Aarch64WithoutCacheSizes) {
  probes_.cpu = *target::cpu_by_name("aarch64", "neoverse-n1");
  file("/sys/devices/system/cpu/online", "0-1\n");
  for (const unsigned cpu : {0u, 1u}) {
    core(cpu, std::to_string(cpu), "36"); // a number of the firmware's own
    cache(cpu, 0, 1, "Data", "", std::to_string(cpu));
  }
  const SystemDescription found = detect(probes_);
  EXPECT_EQ(found.cpu.cores, 2u);
  EXPECT_EQ(found.cpu.sockets, 1u);
  EXPECT_THAT(found.cpu.caches, IsEmpty());
  EXPECT_EQ(found.evidence.count("cpu.caches"), 0u);
}

TEST_F(DetectCpu, NodesWithMemoryOnlyAreNotCounted) {
  for (const auto& [node, cpus] : std::map<std::string, std::string>{
           {"node0", "0-35"}, {"node1", "36-71"}, {"node2", ""}, {"node10", ""}})
    file("/sys/devices/system/node/" + node + "/cpulist", cpus + "\n");
  EXPECT_EQ(detect(probes_).cpu.numa_nodes, 2u);
}

// A job's part of a node: the figures of the machine stay; `allowed` has those of this process.
TEST_F(DetectCpu, WhatThisProcessMayUse) {
  file("/sys/devices/system/cpu/online", "0-7\n");
  for (unsigned cpu = 0; cpu < 8; ++cpu)
    core(cpu, std::to_string(cpu));
  SystemDescription found = detect(probes_);
  EXPECT_EQ(found.allowed_threads, 0u);
  file("/proc/self/status",
       "Name:\txaas\nCpus_allowed:\tff\nCpus_allowed_list:\t2-3,6\nMems_allowed_list:\t0\n");
  file("/proc/self/cgroup", "0::/system.slice/job_7/step_0\n");
  file("/sys/fs/cgroup/system.slice/job_7/step_0/memory.max", "max\n");
  file("/sys/fs/cgroup/system.slice/job_7/memory.max", "4294967296\n");
  file("/sys/fs/cgroup/system.slice/memory.max", "8589934592\n");
  found = detect(probes_);
  EXPECT_EQ(found.cpu.threads, 8u);
  EXPECT_EQ(found.allowed_threads, 3u);
  EXPECT_EQ(found.allowed_memory_bytes, 4096 * MiB);
  EXPECT_EQ(found.evidence.at("allowed.threads"), "/proc/self/status");
  EXPECT_EQ(found.evidence.at("allowed.memory_bytes"), "/sys/fs/cgroup/system.slice/job_7/memory.max");
}

TEST_F(DetectCpu, ControlGroupsOfVersion1) {
  file("/proc/self/cgroup", "11:cpuset:/x\n4:cpu,memory:/slurm/job_7\n1:name=systemd:/\n0::/\n");
  file("/sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "9223372036854771712\n"); // none
  EXPECT_EQ(detect(probes_).allowed_memory_bytes, 0u);
  file("/sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", "1073741824\n");
  EXPECT_EQ(detect(probes_).allowed_memory_bytes, 1024 * MiB);
  for (const char* nonsense : {"::\n", "4:memory\n", "4:memory:\n", ":::::\n", "0:::\n"}) {
    file("/proc/self/cgroup", nonsense);
    EXPECT_EQ(detect(probes_).allowed_memory_bytes, 0u) << nonsense;
  }
}

} // namespace
} // namespace xaas::system
