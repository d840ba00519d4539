// Container runtimes of the machine, and the kernel features that unprivileged containers need.
//
// Sources: user_namespaces(7); Linux Documentation/admin-guide/sysctl/user.rst and the patches of Debian
// (unprivileged_userns_clone) and Ubuntu (apparmor_restrict_unprivileged_userns); prctl(2),
// PR_SET_NO_NEW_PRIVS.
#include "machine.h"
#include "names.h"
#include "program_version.h"

#include <xaas/base/helper_process.h>
#include <xaas/base/text.h>
#include <xaas/system/containers.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <unistd.h>

namespace xaas::system {
namespace {

// In the helper: makes a user namespace and maps its own user. The errno, or 0.
int make_user_namespace(uid_t user) {
  if (unshare(CLONE_NEWUSER) != 0)
    return errno == EINVAL ? 0 : errno; // an emulator's process has threads: no evidence either way
  const std::string map = "0 " + std::to_string(user) + " 1\n";
  FILE* file = std::fopen("/proc/self/uid_map", "w");
  const bool mapped =
      file && std::fwrite(map.data(), 1, map.size(), file) == map.size() && std::fclose(file) == 0;
  return mapped ? 0 : errno;
}

// Restrictions of a security module or a seccomp filter show nowhere but in an attempt. The errno, or 0.
int try_user_namespace() {
  const uid_t user = geteuid();
  HelperProcess helper([user] { return std::to_string(make_user_namespace(user)); });
  while (!helper.ended())
    helper.wait(1000);
  if (helper.succeeded())
    return std::atoi(helper.text().c_str());
  return helper.process() > 0 ? EPERM : 0; // a helper that did not start proves nothing
}

// Checks the switches of distributions, then the kernel's limit, then tries. Every kernel has the limit,
// unless it lacks namespaces or /proc hides it.
void user_namespaces(const Machine& machine, SystemDescription& description) {
  std::string& evidence = description.evidence["containers.user_namespaces"];
  std::optional<bool>& result = description.user_namespaces;
  struct Switch {
    const char* file;
    uint64_t off;
  };
  for (const Switch& known : {Switch{"/proc/sys/kernel/unprivileged_userns_clone", 0},
                              Switch{"/proc/sys/user/max_user_namespaces", 0},
                              Switch{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1}}) {
    const std::optional<uint64_t> number = machine.number(known.file);
    if (!number)
      continue;
    evidence = std::string(known.file) + " is " + std::to_string(*number);
    result = *number != known.off;
    if (!*result)
      return;
  }
  if (machine.real() && result) {
    const int error = try_user_namespace();
    result = error == 0;
    evidence = error == 0 ? "one could be created" : std::string("creating one: ") + std::strerror(error);
  }
  if (!result)
    description.evidence.erase("containers.user_namespaces");
}

void fuse(const Machine& machine, SystemDescription& description) {
  if (!machine.has("/dev"))
    return;
  description.fuse = machine.may_use("/dev/fuse");
  description.evidence["containers.fuse"] = *description.fuse          ? "/dev/fuse"
                                            : machine.has("/dev/fuse") ? "/dev/fuse cannot be opened"
                                                                       : "no /dev/fuse";
}

// A set-user-ID program: newuidmap, or a runtime's own starter.
void setuid_helpers(const Machine& machine, SystemDescription& description) {
  std::string found;
  for (const std::string& program : Names::get().setuid_programs)
    if (const std::optional<fs::path> path = machine.find_program(program); path && found.empty())
      found = path->string();
  for (const RuntimeHelper& known : Names::get().setuid_helpers)
    if (const std::optional<fs::path> program = machine.find_program(known.program); program && found.empty())
      if (const fs::path helper = program->parent_path().parent_path() / known.helper;
          machine.is_setuid(helper))
        found = helper.string();
  description.setuid = !found.empty();
  if (found.empty())
    return;
  description.evidence["containers.setuid"] = found;
  for (const std::string& line : split(machine.text("/proc/self/status"), '\n'))
    if (line.starts_with("NoNewPrivs:") && trim(line.substr(11)) == "1") {
      description.setuid = false;
      description.evidence["containers.setuid"] = found + " exists, but no_new_privs is set";
    }
}

} // namespace

UserNamespaces user_namespaces() {
  SystemDescription description;
  user_namespaces(Machine(Probes{}), description);
  return {description.user_namespaces, description.evidence["containers.user_namespaces"]};
}

void probe_containers(const Machine& machine, SystemDescription& description) {
  user_namespaces(machine, description);
  fuse(machine, description);
  setuid_helpers(machine, description);
}

void probe_programs(const Machine& machine, ProgramVersions* versions, SystemDescription& description) {
  const auto add = [&](const std::string& name, const std::string& argument, std::vector<Named>& list) {
    const std::optional<fs::path> path = machine.find_program(name);
    if (!path)
      return;
    list.push_back({name, "", path->string(), ""});
    if (versions)
      versions->ask({path->string(), argument});
  };
  for (const Runtime& runtime : Names::get().container_runtimes)
    add(runtime.program, runtime.version_argument, description.runtimes);
  for (const std::string& compiler : Names::get().compilers)
    add(compiler, "--version", description.compilers);
}

} // namespace xaas::system
