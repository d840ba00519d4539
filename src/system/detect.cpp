#include "machine.h"

#include <xaas/base/text.h>

namespace xaas::system {
namespace {

uint64_t memory_bytes(const Machine& machine) {
  for (const std::string& line : split(machine.text("/proc/meminfo"), '\n'))
    if (line.starts_with("MemTotal:"))
      return parse_number(trim(line.substr(9))).value_or(0) * 1024;
  return 0;
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

std::string operating_system(const Machine& machine) {
  for (const char* file : {"/etc/os-release", "/usr/lib/os-release"})
    for (const std::string& line : split(machine.text(file), '\n'))
      if (line.starts_with("PRETTY_NAME="))
        return unquote(trim(line.substr(12)));
  return {};
}

// The version in glibc's banner, "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.", from the
// file: this program may run with a C library of its own.
std::string glibc_version(const Machine& machine, const std::string& arch) {
  const std::string multiarch = arch + "-linux-gnu";
  for (const std::string& directory :
       {"/lib/" + multiarch, "/usr/lib/" + multiarch, std::string("/lib64"), std::string("/usr/lib64"),
        std::string("/lib"), std::string("/usr/lib")}) {
    const std::string content = machine.text(directory + "/libc.so.6");
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
  }
  return {};
}

// A job says so in its environment; outside of one, a system's programs tell it.
void probe_batch(const Machine& machine, SystemDescription& description) {
  struct Batch {
    const char *system, *variable, *program;
  };
  constexpr Batch known[] = {
      {"slurm", "SLURM_JOB_ID", "sinfo"}, {"lsf", "LSB_JOBID", "bsub"}, {"pbs", "PBS_JOBID", "qsub"}};
  for (const Batch& batch : known)
    if (const std::string job = machine.environment(batch.variable); !job.empty()) {
      description.batch_system = batch.system;
      description.batch_job = job;
      return;
    }
  for (const Batch& batch : known)
    if (machine.find_program(batch.program)) {
      description.batch_system = batch.system;
      return;
    }
}

} // namespace

SystemDescription detect(const Probes& probes) {
  const Machine machine(probes);
  const target::Cpu cpu = probes.cpu ? *probes.cpu : target::host_cpu();
  SystemDescription description;
  description.arch = cpu.arch;
  probe_cpu(machine, cpu, description.cpu);
  description.memory_bytes = memory_bytes(machine);
  description.glibc = glibc_version(machine, cpu.arch);
  description.kernel = machine.text("/proc/sys/kernel/osrelease");
  description.os = operating_system(machine);
  probe_containers(machine, probes.runtime_versions, description);
  probe_batch(machine, description);
  probe_gpus(machine, description.gpus);
  probe_libraries(machine, probes.runtime_versions, description);
  probe_compilers(machine, probes.runtime_versions, description);
  return description;
}

} // namespace xaas::system
