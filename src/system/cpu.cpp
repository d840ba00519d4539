// The processors according to /proc/cpuinfo and /sys/devices/system.
//
// /sys has the best counts, but virtual machines and containers hide parts of it, and AArch64's cpuinfo has
// no topology at all. Unknown numbers stay 0.
#include "machine.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <set>
#include <sys/prctl.h>
#include <tuple>

namespace xaas::system {
namespace {

const std::string cpus = "/sys/devices/system/cpu";

// One processor of /proc/cpuinfo: its "key : value" lines.
using Block = std::map<std::string, std::string>;

std::vector<Block> read_cpuinfo(const Machine& machine) {
  std::vector<Block> blocks(1);
  for (const std::string& line : split(machine.text("/proc/cpuinfo"), '\n')) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos)
      blocks.back()[trim(line.substr(0, colon))] = trim(line.substr(colon + 1));
    else if (trim(line).empty() && !blocks.back().empty())
      blocks.emplace_back();
  }
  if (blocks.back().empty())
    blocks.pop_back();
  return blocks;
}

std::string value(const Block& block, const std::string& key) {
  const auto found = block.find(key);
  return found == block.end() ? "" : found->second;
}

// AArch64 kernels print the implementer's number (MIDR_EL1) instead of a name.
std::string arm_vendor(const std::string& implementer) {
  static const std::map<std::string, std::string> names = {
      {"0x41", "ARM"}, {"0x43", "Cavium"},   {"0x46", "Fujitsu"}, {"0x48", "HiSilicon"}, {"0x4e", "NVIDIA"},
      {"0x50", "APM"}, {"0x51", "Qualcomm"}, {"0x61", "Apple"},   {"0x6d", "Microsoft"}, {"0xc0", "Ampere"}};
  const auto found = names.find(implementer);
  return found == names.end() ? implementer : found->second;
}

bool is_numbered(const std::string& name, const std::string& prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
}

// The online processors from the kernel's list, else those with a directory that does not say otherwise.
std::vector<std::string> online(const Machine& machine) {
  std::vector<std::string> names;
  for (const uint64_t number : parse_number_list(machine.text(cpus + "/online")))
    names.push_back("cpu" + std::to_string(number));
  if (names.empty())
    for (const std::string& name : machine.entries(cpus))
      if (is_numbered(name, "cpu") && machine.text(cpus + "/" + name + "/online") != "0")
        names.push_back(name);
  return names;
}

unsigned count(size_t number) {
  return static_cast<unsigned>(number);
}

// The content of the first of these files that has any. Kernels have lists and masks of processors, and
// renamed them.
std::string first_text(const Machine& machine, const std::string& directory,
                       std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (std::string text = machine.text(directory + name); !text.empty())
      return text;
  return {};
}

void topology_from_sys(const Machine& machine, const std::vector<std::string>& names,
                       CpuDescription& description) {
  std::set<std::string> cores;
  std::set<uint64_t> sockets;
  for (const std::string& name : names) {
    const std::string directory = cpus + "/" + name + "/topology/";
    const std::string siblings = first_text(
        machine, directory, {"core_cpus_list", "core_cpus", "thread_siblings_list", "thread_siblings"});
    // Siblings with different core numbers share a front end and count as cores: AMD family 15h.
    if (!siblings.empty())
      cores.insert(siblings + " " + machine.text(directory + "core_id"));
    // -1 if the firmware does not say
    if (const std::optional<uint64_t> socket = machine.number(directory + "physical_package_id"))
      sockets.insert(*socket);
  }
  description.threads = count(names.size());
  description.cores = count(cores.size());
  description.sockets = count(sockets.size());
}

void topology_from_cpuinfo(const std::vector<Block>& blocks, CpuDescription& description) {
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  unsigned threads = 0;
  for (const Block& block : blocks) {
    threads += block.contains("processor") ? 1 : 0;
    const std::string socket = value(block, "physical id");
    if (!socket.empty())
      sockets.insert(socket);
    if (!socket.empty() && block.contains("core id"))
      cores.emplace(socket, value(block, "core id"));
  }
  if (!description.threads)
    description.threads = threads;
  if (!description.cores)
    description.cores = count(cores.size());
  if (!description.sockets)
    description.sockets = count(sockets.size());
}

// "48K", "260M"
uint64_t cache_size(const std::string& text) {
  const uint64_t number = parse_number(text).value_or(0);
  const char unit = text.empty() ? ' ' : text.back();
  return number << (unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0);
}

std::vector<CpuDescription::Cache> read_caches(const Machine& machine,
                                               const std::vector<std::string>& names) {
  using Kind = std::tuple<uint64_t, std::string, uint64_t>; // level, type, bytes
  std::map<Kind, std::set<std::string>> instances;          // the processors that share each one
  for (const std::string& name : names)
    for (const std::string& index : machine.entries(cpus + "/" + name + "/cache")) {
      if (!is_numbered(index, "index"))
        continue;
      const std::string directory = cpus + "/" + name + "/cache/" + index + "/";
      const std::optional<uint64_t> level = machine.number(directory + "level");
      const uint64_t bytes = cache_size(machine.text(directory + "size"));
      std::string type = machine.text(directory + "type");
      std::transform(type.begin(), type.end(), type.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
      const std::string shared = first_text(machine, directory, {"shared_cpu_list", "shared_cpu_map"});
      if (level && bytes)
        instances[{*level, type, bytes}].insert(shared.empty() ? name : shared);
    }
  std::vector<CpuDescription::Cache> caches;
  for (const auto& [kind, shared] : instances)
    caches.push_back({count(std::get<0>(kind)), std::get<1>(kind), std::get<2>(kind), count(shared.size())});
  return caches;
}

// NUMA nodes with processors. The others are memory only: GPU memory of a Grace Hopper, HBM, CXL.
unsigned numa_nodes(const Machine& machine) {
  const std::string nodes = "/sys/devices/system/node";
  unsigned all = 0, with_cpus = 0;
  for (const std::string& name : machine.entries(nodes))
    if (is_numbered(name, "node")) {
      ++all;
      const std::string directory = nodes + "/" + name + "/";
      const bool some = !machine.text(directory + "cpulist").empty() ||
                        machine.text(directory + "cpumap").find_first_not_of("0,") != std::string::npos;
      with_cpus += some ? 1 : 0;
    }
  return with_cpus ? with_cpus : all;
}

// The length that new processes get. Source: Linux, Documentation/arch/arm64/sve.rst.
void sve_length(const Machine& machine, SystemDescription& system) {
  const std::string file = "/proc/sys/abi/sve_default_vector_length"; // in bytes
  if (const std::optional<uint64_t> bytes = machine.number(file); bytes && *bytes) {
    system.cpu.sve_bits = count(*bytes * 8);
    system.evidence["cpu.sve_bits"] = file;
    return;
  }
#if defined(__aarch64__) && defined(PR_SVE_GET_VL)
  const int length = machine.real() ? prctl(PR_SVE_GET_VL) : 0; // an emulator shows the files of its host
  if (length > 0) {
    system.cpu.sve_bits = count(static_cast<size_t>(length & PR_SVE_VL_LEN_MASK) * 8);
    system.evidence["cpu.sve_bits"] = "prctl(PR_SVE_GET_VL)";
  }
#endif
}

// The lowest limit of a control group and its ancestors. Version 2 has one tree, version 1 one per
// controller.
uint64_t memory_limit_of(const Machine& machine, const std::string& tree, std::string group,
                         const std::string& file, std::string& evidence) {
  uint64_t least = 0;
  for (;;) {
    const std::string path = tree + (group == "/" ? "" : group) + "/" + file;
    // "max", and in version 1 a number near 2^63, mean no limit
    if (const std::optional<uint64_t> limit = machine.number(path);
        limit && *limit < (uint64_t(1) << 62) && (!least || *limit < least)) {
      least = *limit;
      evidence = path;
    }
    if (group.size() < 2)
      return least;
    group.resize(group.rfind('/'));
  }
}

} // namespace

// The part of the machine that this process may use. Source: proc(5), cgroups(7).
void probe_allowed(const Machine& machine, SystemDescription& description) {
  for (const std::string& line : split(machine.text("/proc/self/status"), '\n'))
    if (line.starts_with("Cpus_allowed_list:")) {
      description.allowed_threads = count(parse_number_list(trim(line.substr(18))).size());
      description.evidence["allowed.threads"] = "/proc/self/status";
    }
  for (const std::string& line : split(machine.text("/proc/self/cgroup"), '\n')) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos || line.find('/', second) != second + 1)
      continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      group = line.substr(second + 1);
    std::string evidence;
    const uint64_t limit =
        controllers.empty() ? memory_limit_of(machine, "/sys/fs/cgroup", group, "memory.max", evidence)
        : ("," + controllers + ",").find(",memory,") != std::string::npos
            ? memory_limit_of(machine, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes", evidence)
            : 0;
    if (limit && (!description.allowed_memory_bytes || limit < description.allowed_memory_bytes)) {
      description.allowed_memory_bytes = limit;
      description.evidence["allowed.memory_bytes"] = evidence;
    }
  }
}

void probe_cpu(const Machine& machine, SystemDescription& system) {
  CpuDescription& description = system.cpu;
  const std::vector<Block> blocks = read_cpuinfo(machine);
  if (!blocks.empty()) {
    description.vendor = value(blocks.front(), "vendor_id");
    if (description.vendor.empty())
      description.vendor = arm_vendor(value(blocks.front(), "CPU implementer"));
    description.model = value(blocks.front(), "model name");
    system.evidence["cpu.model"] = "/proc/cpuinfo";
  }
  const std::vector<std::string> names = online(machine);
  topology_from_sys(machine, names, description);
  if (description.cores)
    system.evidence["cpu.cores"] = cpus;
  else if (!blocks.empty())
    system.evidence["cpu.cores"] = "/proc/cpuinfo";
  topology_from_cpuinfo(blocks, description);
  description.numa_nodes = numa_nodes(machine);
  if (description.numa_nodes)
    system.evidence["cpu.numa_nodes"] = "/sys/devices/system/node";
  description.caches = read_caches(machine, names);
  if (!description.caches.empty())
    system.evidence["cpu.caches"] = cpus + "/*/cache";
  if (std::binary_search(description.features.begin(), description.features.end(), "sve"))
    sve_length(machine, system);
}

} // namespace xaas::system
