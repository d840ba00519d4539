// Sources: bwrap(1); ch-run(1) of Charliecloud 0.31; apptainer-exec(1) and Apptainer's user guide ("Network
// Virtualization": ordinary users may ask for `--network none`); podman-run(1).
#include "enclosing.h"

#include <xaas/runtimes/environment.h>
#include <xaas/runtimes/knowledge.h>

#include <algorithm>
#include <unistd.h>

namespace xaas::enclose {

namespace {

using Arguments = std::vector<std::string>;

void append(Arguments& arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

bool is_for_loader(const std::string& name) {
  return runtimes::matches(name, runtimes::Knowledge::get().loader);
}

std::string with_mode(const BuildMount& mount) {
  return mount.source.string() + ":" + mount.destination + (mount.writable ? "" : ":ro");
}

// The runtime's own C library obeys some variables of its environment, so those are set for the step only.
std::map<std::string, std::string> plain_environment(const Step& step) {
  std::map<std::string, std::string> plain;
  for (const auto& [name, value] : step.environment)
    if (!is_for_loader(name))
      plain[name] = value;
  return plain;
}

Arguments bwrap_spaces(const fs::path& program, const Arguments& options) {
  Arguments arguments = {program};
  append(arguments, options);
  append(arguments,
         {"--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
          "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "localhost"});
  // An ordinary user needs no such option: bwrap's setuid form is used where there are no user namespaces.
  append(arguments, {geteuid() == 0 ? "--unshare-user" : "--unshare-user-try"});
  if (geteuid() == 0)
    append(arguments, {"--uid", std::to_string(inner_user()), "--gid", std::to_string(inner_group())});
  return arguments;
}

Enclosed bwrap(const Enclosure& enclosure, const Step& step) {
  Arguments arguments = bwrap_spaces(enclosure.program, enclosure.options);
  append(arguments, {"--ro-bind", enclosure.tree, "/", "--proc", "/proc", "--dev", "/dev"});
  if (geteuid() == 0) // it leaves writable directories below read-only ones: /proc/sys
    for (const std::string& name : settings_of_proc("/proc"))
      append(arguments, {"--ro-bind-try", "/proc/" + name, "/proc/" + name});
  for (const BuildMount& mount : enclosure.mounts)
    append(arguments, {mount.writable ? "--bind" : "--ro-bind", mount.source, mount.destination});
  append(arguments, {"--remount-ro", "/dev"});
  for (const auto& [name, value] : step.environment)
    if (is_for_loader(name))
      append(arguments, {"--setenv", name, value});
  append(arguments, {"--chdir", step.directory, "--"});
  append(arguments, step.arguments);
  return {{arguments, plain_environment(step)}, std::nullopt};
}

Enclosed namespaces(const Enclosure& enclosure, const Step& step) {
  return {{step.arguments, step.environment}, Cage{enclosure.tree, {}, enclosure.mounts, step.directory}};
}

Enclosed host(const Enclosure& enclosure, const Step& step) {
  return {{step.arguments, step.environment},
          Cage{{}, hidden_directories(), enclosure.mounts, step.directory}};
}

// ch-run sees the machine as the cage leaves it, with the tree and its mounts below one directory. It takes
// /dev, /proc and /tmp from the machine.
Enclosed charliecloud(const Enclosure& enclosure, const Step& step) {
  const std::string places = "/.xaas";
  Cage cage{{}, hidden_directories(), {}, "/"};
  cage.mounts.push_back({enclosure.tree, places + "/tree", false});
  Arguments arguments = {enclosure.program};
  append(arguments, enclosure.options);
  arguments.emplace_back("--no-passwd");
  for (size_t i = 0; i < enclosure.mounts.size(); ++i) {
    const BuildMount& mount = enclosure.mounts[i];
    const bool of_cage = mount.destination == "/tmp" || mount.destination == "/dev/shm";
    const std::string place = of_cage ? mount.destination : places + "/" + std::to_string(i);
    cage.mounts.push_back({mount.source, place, mount.writable});
    if (!of_cage)
      append(arguments, {"--bind", place + ":" + mount.destination});
  }
  bool literal = true;
  for (const auto& [name, value] : step.environment) {
    literal = literal && value.find('$') == std::string::npos;
    arguments.push_back("--set-env=" + name + "=" + value); // otherwise it sets its own HOME and PATH
  }
  if (!literal)
    arguments.insert(arguments.begin() + 1, "--env-no-expand");
  append(arguments, {"--cd", step.directory, places + "/tree", "--"});
  append(arguments, step.arguments);
  // ch-run does not start without USER.
  return {{arguments, {{"USER", std::to_string(inner_user())}, {"PATH", "/usr/bin:/bin"}}}, cage};
}

// The variables of this process that a runtime needs itself: where it keeps its state, and for whom.
std::map<std::string, std::string> runtime_environment() {
  std::map<std::string, std::string> kept;
  for (const char* name : {"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
                           "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS"})
    if (const char* value = std::getenv(name))
      kept[name] = value;
  return kept;
}

Enclosed apptainer(const Enclosure& enclosure, const Step& step) {
  Arguments arguments = {enclosure.program, "exec"};
  append(arguments, enclosure.options);
  append(arguments, {"--containall", "--cleanenv", "--no-home", "--no-mount", "home,cwd,hostfs", "--net",
                     "--network", "none", "--uts", "--hostname", "localhost", "--no-privs"});
  for (const BuildMount& mount : enclosure.mounts)
    append(arguments, {"--bind", with_mode(mount)});
  append(arguments, {"--pwd", step.directory, enclosure.tree});
  append(arguments, step.arguments);
  std::map<std::string, std::string> environment = runtime_environment();
  const bool singularity = enclosure.program.filename() == "singularity";
  for (const auto& [name, value] : step.environment)
    environment[(singularity ? "SINGULARITYENV_" : "APPTAINERENV_") + name] = value;
  return {{arguments, environment}, std::nullopt};
}

Enclosed podman(const Enclosure& enclosure, const Step& step) {
  Arguments arguments = {enclosure.program, "run", "--rm"};
  append(arguments, enclosure.options);
  append(arguments, {"--network=none", "--pid=private", "--ipc=private", "--uts=private",
                     "--hostname=localhost", "--cap-drop=ALL", "--security-opt=no-new-privileges",
                     "--read-only", "--read-only-tmpfs=false", "--no-hosts", "--passwd=false",
                     "--unsetenv-all", "--pids-limit=-1", "--log-driver=none", "--stop-timeout=0"});
  if (geteuid() != 0)
    arguments.emplace_back("--userns=keep-id");
  for (const BuildMount& mount : enclosure.mounts)
    append(arguments, {"--volume", with_mode(mount)});
  for (const auto& [name, value] : step.environment)
    append(arguments, {"--env", name + "=" + value});
  append(arguments, {"--workdir", step.directory, "--rootfs", enclosure.tree});
  append(arguments, step.arguments);
  return {{arguments, runtime_environment()}, std::nullopt};
}

} // namespace

const std::vector<Builder>& builders() {
  static const std::vector<Builder> all = {
      {"bwrap", "bwrap: ", false, 3, {}, {}, {}},
      {"namespaces", "", false, 3, {}, {}, {}},
      {"podman",
       "Error: ",
       true,
       2,
       {"the step is process 1, which ignores signals without a handler",
        "Podman sets the variable HOSTNAME, and HOME if none is given",
        "/dev is writable, up to 64 MiB in memory", "the machine's /sys is readable"},
       {"/sys", "/run"},
       {"/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/run/.containerenv"}},
      {"charliecloud",
       "ch-run[",
       false,
       3,
       {"/etc/hosts and /etc/resolv.conf are the machine's", "ch-run sets the variables CH_RUNNING and USER"},
       {"/sys"},
       {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf"}},
      {"apptainer",
       "FATAL: ",
       false,
       1,
       {"/etc/passwd, /etc/group, /etc/hosts and /etc/resolv.conf are not the tree's",
        "the binds of the administrator's apptainer.conf are there", "Apptainer sets variables of its own",
        "HOME is Apptainer's", "the machine's /sys is readable"},
       {"/sys", "/var/tmp"},
       {"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/resolv.conf", "/etc/localtime"}},
      {"host",
       "",
       false,
       3,
       {"the machine's files that this user may read are there, except homes, /run, /tmp and /var",
        "services of the machine that listen on a socket file elsewhere can be reached"},
       {},
       {}}};
  return all;
}

const Builder* find_builder(const std::string& name) {
  for (const Builder& each : builders())
    if (each.name == name)
      return &each;
  return nullptr;
}

std::string mount_obstacle(const Enclosure& enclosure) {
  if (enclosure.runtime == "bwrap" || enclosure.runtime == "namespaces" || enclosure.runtime == "host")
    return {};
  for (const BuildMount& mount : enclosure.mounts)
    for (const std::string& path : {mount.source.string(), mount.destination})
      if (path.find_first_of(":, \n") != std::string::npos)
        return enclosure.runtime + " cannot mount " + path + ": there is a blank, comma or colon in its path";
  return {};
}

Enclosed enclosed(const Enclosure& enclosure, const Step& step) {
  if (enclosure.runtime == "bwrap")
    return bwrap(enclosure, step);
  if (enclosure.runtime == "namespaces")
    return namespaces(enclosure, step);
  if (enclosure.runtime == "charliecloud")
    return charliecloud(enclosure, step);
  if (enclosure.runtime == "apptainer")
    return apptainer(enclosure, step);
  if (enclosure.runtime == "podman")
    return podman(enclosure, step);
  return host(enclosure, step);
}

Start bwrap_trial(const fs::path& program) {
  Arguments arguments = bwrap_spaces(program, {});
  append(arguments, {"--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", program, "--version"});
  return {arguments, {}};
}

} // namespace xaas::enclose
