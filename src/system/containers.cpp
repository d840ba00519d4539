// What the machine can run containers with.
#include "machine.h"
#include "program_version.h"

#include <unistd.h>

namespace xaas::system {
namespace {

struct Runtime {
  const char* program;
  const char* version_argument;
};

constexpr Runtime runtimes[] = {{"podman", "--version"},    {"docker", "--version"},
                                {"apptainer", "--version"}, {"singularity", "--version"},
                                {"ch-run", "--version"},    {"bwrap", "--version"},
                                {"enroot", "version"},      {"runc", "--version"}};

// Debian's kernels have a switch of their own; every kernel has the limit, unless it has no namespaces or
// /proc hides it.
std::optional<bool> user_namespaces(const Machine& machine) {
  if (machine.number("/proc/sys/kernel/unprivileged_userns_clone") == uint64_t(0))
    return false;
  if (const std::optional<uint64_t> most = machine.number("/proc/sys/user/max_user_namespaces"))
    return *most > 0;
  return std::nullopt;
}

std::optional<bool> fuse(const Machine& machine) {
  if (!machine.has("/dev"))
    return std::nullopt;
  return access(machine.path("/dev/fuse").c_str(), R_OK | W_OK) == 0;
}

} // namespace

void probe_containers(const Machine& machine, bool versions, SystemDescription& description) {
  std::vector<std::vector<std::string>> commands;
  for (const Runtime& runtime : runtimes)
    if (const std::optional<fs::path> path = machine.find_program(runtime.program)) {
      description.runtimes.push_back({runtime.program, "", path->string()});
      commands.push_back({path->string(), runtime.version_argument});
    }
  if (versions) {
    const std::vector<std::string> found = program_versions(commands);
    for (size_t i = 0; i < found.size(); ++i)
      description.runtimes[i].version = found[i];
  }
  description.user_namespaces = user_namespaces(machine);
  description.fuse = fuse(machine);
  description.setuid = machine.find_program("newuidmap").has_value();
}

} // namespace xaas::system
