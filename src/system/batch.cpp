// Batch systems, whether this is a job of one, and environment modules.
//
// A job's environment identifies it; if that was cleared, its control group may. Outside a job, the programs
// or files of a batch system show that it exists. Sources: sbatch(1), bsub(1), qsub(1B), flux-environment(7);
// environment modules and Lmod (LOADEDMODULES).
#include "machine.h"
#include "names.h"

#include <xaas/base/text.h>

namespace xaas::system {

namespace {

// "0::/system.slice/slurmstepd.scope/job_77/step_0/user/task_0"
std::string job_of_cgroup(const Machine& machine, const Batch& batch) {
  if (batch.cgroup.empty())
    return {};
  for (const std::string& line : split(machine.text("/proc/self/cgroup"), '\n')) {
    const size_t at = line.find(batch.cgroup);
    if (at == std::string::npos || line.find(batch.system) == std::string::npos)
      continue;
    const std::string rest = line.substr(at + batch.cgroup.size());
    return rest.substr(0, rest.find_first_not_of("0123456789"));
  }
  return {};
}

bool probe_job(const Machine& machine, const Batch& batch, SystemDescription& description) {
  std::string job = machine.environment(batch.job), evidence = "$" + batch.job;
  if (job.empty()) {
    job = job_of_cgroup(machine, batch);
    evidence = "/proc/self/cgroup";
  }
  if (job.empty())
    return false;
  description.batch_system = batch.system;
  description.batch_job = job;
  description.evidence["batch.job"] = evidence;
  if (const std::string partition = machine.environment(batch.partition); !partition.empty()) {
    description.batch_partition = partition;
    description.evidence["batch.partition"] = "$" + batch.partition;
  }
  return true;
}

bool probe_system(const Machine& machine, const Batch& batch, SystemDescription& description) {
  std::string evidence;
  for (const std::string& program : batch.programs)
    if (const std::optional<fs::path> path = machine.find_program(program); path && evidence.empty())
      evidence = path->string();
  for (const std::string& file : batch.files)
    if (evidence.empty() && machine.has(file))
      evidence = file;
  if (evidence.empty())
    return false;
  description.batch_system = batch.system;
  description.evidence["batch.system"] = evidence;
  return true;
}

} // namespace

void probe_batch(const Machine& machine, SystemDescription& description) {
  for (const auto probe : {probe_job, probe_system})
    for (const Batch& batch : Names::get().batch)
      if (probe(machine, batch, description))
        return;
}

void probe_modules(const Machine& machine, SystemDescription& description) {
  for (const std::string& module : split(machine.environment("LOADEDMODULES"), ':'))
    if (!module.empty())
      description.modules.push_back(module);
  if (!description.modules.empty())
    description.evidence["modules"] = "$LOADEDMODULES";
  for (const ModuleSystem& known : Names::get().module_systems)
    if (const std::string program = machine.environment(known.program); !program.empty()) {
      description.module_system =
          Named{known.name, machine.environment(known.version), program, "$" + known.program};
      return;
    }
  for (const ModuleSystem& known : Names::get().module_systems)
    for (const std::string& file : known.files)
      if (machine.has(file)) {
        description.module_system = Named{known.name, "", file, ""};
        return;
      }
}

} // namespace xaas::system
