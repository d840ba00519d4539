// Everything that touches the machine runs in a child process: see watch.h. If the child hangs or dies while
// it accesses a file, another child starts over without that file or its file system.
#include "directories.h"
#include "gpus.h"
#include "machine.h"
#include "mounts.h"
#include "program_version.h"

#include <xaas/base/helper_process.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace xaas::system {
namespace {

void memory(const Machine& machine, SystemDescription& description) {
  for (const std::string& line : split(machine.text("/proc/meminfo"), '\n'))
    if (line.starts_with("MemTotal:"))
      description.memory_bytes = parse_number(trim(line.substr(9))).value_or(0) * 1024;
  if (description.memory_bytes)
    description.evidence["memory_bytes"] = "/proc/meminfo";
}

// A value of os-release(5): shell assignment syntax without expansions.
std::string unquote(const std::string& value) {
  if (value.size() < 2 || (value.front() != '"' && value.front() != '\'') || value.back() != value.front())
    return value;
  std::string text;
  for (size_t i = 1; i + 1 < value.size(); ++i) {
    if (value[i] == '\\' && value.front() == '"' && i + 2 < value.size())
      ++i;
    text += value[i];
  }
  return text;
}

void operating_system(const Machine& machine, SystemDescription& description) {
  const std::string release = "/proc/sys/kernel/osrelease";
  description.kernel = machine.text(release);
  if (!description.kernel.empty())
    description.evidence["kernel"] = release;
  for (const char* file : {"/etc/os-release", "/usr/lib/os-release"})
    for (const std::string& line : split(machine.text(file), '\n'))
      if (line.starts_with("PRETTY_NAME=") && description.os.empty()) {
        description.os = unquote(trim(line.substr(12)));
        description.evidence["os"] = file;
      }
}

// The version in glibc's banner, "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.", from the
// file, because this program may run with its own C library.
std::string glibc_version(const std::string& content) {
  for (size_t banner = content.find("GNU C Library ("); banner != std::string::npos;
       banner = content.find("GNU C Library (", banner + 1)) {
    const std::string line = content.substr(banner, 300).substr(0, content.substr(banner, 300).find('\n'));
    const size_t version = line.find("release version ");
    if (version == std::string::npos)
      continue;
    const std::string rest = line.substr(version + 16);
    const std::string number = rest.substr(0, rest.find_first_not_of("0123456789."));
    const size_t last = number.find_last_not_of('.');
    if (last != std::string::npos)
      return number.substr(0, last + 1);
  }
  return {};
}

void c_library(const Machine& machine, SystemDescription& description) {
  const std::string multiarch = description.arch + "-linux-gnu";
  for (const std::string& directory :
       {"/lib/" + multiarch, "/usr/lib/" + multiarch, std::string("/lib64"), std::string("/usr/lib64"),
        std::string("/lib"), std::string("/usr/lib")}) {
    const std::string file = directory + "/libc.so.6";
    description.glibc = glibc_version(machine.text(file));
    if (description.glibc.empty())
      continue;
    description.evidence["glibc"] = file;
    return;
  }
}

SystemDescription bare(const target::Cpu& cpu) {
  SystemDescription description;
  description.arch = cpu.arch;
  description.cpu.name = cpu.name;
  description.cpu.features = cpu.features;
  description.cpu.level = target::isa_level(cpu.arch, cpu.features);
  return description;
}

// Runs all probes, in the process that may hang. Starts concurrent work first and collects it last.
SystemDescription look(const Machine& machine, const Probes& probes, const target::Cpu& cpu) {
  SystemDescription description = bare(cpu);
  const std::vector<std::string> directories = library_directories(machine, cpu.arch);
  GpuProbe gpus(machine, probes, directories);
  if (probes.only_gpus) {
    gpus.finish(description);
    description.notes = machine.notes();
    return description;
  }
  ProgramVersions versions(probes.limits.programs);
  probe_programs(machine, probes.runtime_versions ? &versions : nullptr, description);
  if (!probes.cpu)
    description.evidence["cpu.features"] = cpu.arch == "x86_64" ? "cpuid" : "getauxval, /proc/cpuinfo";
  probe_cpu(machine, description);
  probe_allowed(machine, description);
  memory(machine, description);
  c_library(machine, description);
  operating_system(machine, description);
  probe_containers(machine, description);
  probe_batch(machine, description);
  probe_modules(machine, description);
  probe_libraries(machine, directories, probes.runtime_versions, description);
  gpus.finish(description);
  if (probes.runtime_versions) {
    const std::vector<std::string> found = versions.finish();
    for (size_t i = 0; i < found.size(); ++i) {
      const size_t runtimes = description.runtimes.size();
      (i < runtimes ? description.runtimes[i] : description.compilers[i - runtimes]).version = found[i];
    }
  }
  description.notes = machine.notes();
  return description;
}

bool sleeps(pid_t process) { // as while it waits for a file server
  const Result<std::string> text = read_file("/proc/" + std::to_string(process) + "/stat", 4096);
  const size_t state = text ? text->rfind(") ") : std::string::npos;
  return state == std::string::npos || (*text)[state + 2] != 'R';
}

// Waits for the helper. Returns an empty string if it ended, else why we stopped waiting.
std::string wait_for(HelperProcess& helper, const Watch& watch, const ProbeLimits& limits) {
  using Clock = std::chrono::steady_clock;
  // Each part has its own limit, which ends sooner.
  const Clock::time_point deadline =
      Clock::now() + limits.files + limits.drivers + limits.programs + limits.access;
  uint64_t steps = watch.steps();
  Clock::time_point since = Clock::now();
  while (!helper.ended()) {
    helper.wait(50);
    const Clock::time_point now = Clock::now();
    if (const uint64_t current = watch.steps(); current != steps) {
      steps = current;
      since = now;
    }
    if (interrupt_signal())
      return "interrupted";
    if (steps & 1 && now - since > limits.access && sleeps(helper.process()))
      return "no answer within " + std::to_string(limits.access.count() / 1000) + " s";
    if (now > deadline)
      return "it took too long";
  }
  return {};
}

} // namespace

SystemDescription detect(const Probes& probes) {
  constexpr int most_attempts = 4; // each without one more file system, the last one without any remote one
  const target::Cpu cpu = probes.cpu ? *probes.cpu : target::host_cpu();
  SystemDescription description = bare(cpu);
  void* memory = mmap(nullptr, sizeof(Watch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    description.notes = {"not enough memory to examine the machine"};
    return description;
  }
  std::vector<std::string> skipped, notes, remote;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (attempt + 1 == most_attempts)
      for (const std::string& mount : remote)
        if (std::find(skipped.begin(), skipped.end(), mount) == skipped.end()) {
          skipped.push_back(mount);
          notes.push_back(mount + " was left out, because other remote file systems did not answer");
        }
    const Watch& watch = *new (memory) Watch();
    HelperProcess helper([&] {
      const Machine machine(probes, static_cast<Watch*>(memory), skipped);
      return to_json(look(machine, probes, cpu)).dump(-1, ' ', false, Json::error_handler_t::replace);
    });
    std::string trouble = wait_for(helper, watch, probes.limits);
    if (interrupt_signal())
      break;
    if (trouble.empty() && helper.succeeded()) {
      const Result<Json> json = parse_json(helper.text(), "what was detected");
      Result<SystemDescription> parsed = json ? parse_system(*json, "what was detected") : json.error();
      if (parsed) {
        description = std::move(*parsed);
        // As they were detected: parsing checks names more strictly.
        description.cpu.name = cpu.name;
        description.cpu.features = cpu.features;
        description.cpu.level = target::isa_level(cpu.arch, cpu.features);
        break;
      }
      trouble = parsed.error().message;
    } else if (trouble.empty()) {
      trouble = "the process that examined it " + helper.trouble();
    }
    if (remote.empty())
      if (const Result<std::string> mounts = read_file("/proc/self/mountinfo", uint64_t(16) << 20); mounts)
        remote = remote_mounts(*mounts);
    const std::string path = watch.current(), place = place_of(path, remote).value_or(path);
    notes.push_back(path.empty() ? "examining this machine: " + trouble
                                 : place + " was left out: " + trouble);
    if (path.empty())
      break;
    skipped.push_back(place);
  }
  munmap(memory, sizeof(Watch));
  description.notes.insert(description.notes.begin(), notes.begin(), notes.end());
  return description;
}

} // namespace xaas::system
