// Sources: bwrap(1); ch-run(1) of Charliecloud 0.31; apptainer-exec(1), and "Environment and Metadata" in
// Apptainer's user guide; enroot's doc/cmd/start.md and doc/image-format.md; podman-run(1).
#include "adapters.h"

#include <xaas/runtimes/environment.h>
#include <xaas/runtimes/tree_paths.h>

#include <xaas/base/text.h>

#include <algorithm>
#include <unistd.h>

namespace xaas::run {

namespace {

using Arguments = std::vector<std::string>;

void append(Arguments& arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

bool provides(const runtimes::Runtime& runtime, const std::string& place) {
  return std::find(runtime.provides.begin(), runtime.provides.end(), place) != runtime.provides.end();
}

// The device nodes that the runtime does not make by itself.
std::vector<Bind> binds_for(const runtimes::Runtime& runtime, const Program& program) {
  std::vector<Bind> binds;
  for (const Bind& bind : program.binds)
    if (bind.asked || bind.source != bind.destination || !provides(runtime, bind.destination))
      binds.push_back(bind);
  return binds;
}

std::string with_mode(const Bind& bind, const char* otherwise = "") {
  return bind.source.string() + ":" + bind.destination + (bind.read_only ? ":ro" : otherwise);
}

// A runtime is started with our own environment, because what an image sets (LD_PRELOAD, a runtime's own
// settings) is meant for the program. For runtimes that give programs a separate environment, these are the
// differences, so values that the host has already do not appear where others can read them.
struct Changes {
  std::vector<std::string> unset;
  std::map<std::string, std::string> set;
};
Changes changes(const std::map<std::string, std::string>& host,
                const std::map<std::string, std::string>& program) {
  Changes changes;
  for (const auto& [name, value] : host)
    if (!program.count(name))
      changes.unset.push_back(name);
  for (const auto& [name, value] : program)
    if (const auto known = host.find(name); known == host.end() || known->second != value)
      changes.set.emplace(name, value);
  return changes;
}

Invocation bwrap(const Found& found, const Program& program, const Arguments& options,
                 const std::map<std::string, std::string>& host) {
  Arguments arguments = {found.program};
  append(arguments, options);
  if (program.inherits) // nobody stays with bwrap to pass signals on
    arguments.emplace_back("--die-with-parent");
  append(arguments, {"--ro-bind", program.tree, "/"});
  for (const Bind& bind : program.binds) {
    const char* const how = bind.read_only               ? "--ro-bind"
                            : bind.destination == "/dev" ? "--dev-bind"
                                                         : "--bind";
    append(arguments, {how, bind.source, bind.destination});
  }
  const Changes environment = changes(host, program.environment);
  for (const std::string& name : environment.unset)
    append(arguments, {"--unsetenv", name});
  for (const auto& [name, value] : environment.set)
    append(arguments, {"--setenv", name, value});
  append(arguments, {"--chdir", program.directory, "--"});
  append(arguments, program.command);
  return {arguments, host, true};
}

// A name as a glob(7) pattern that matches nothing else.
std::string as_pattern(const std::string& name) {
  std::string pattern;
  for (const char c : name)
    pattern += (c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))
                   ? std::string(1, c)
                   : std::string("\\") + c;
  return pattern;
}

Invocation charliecloud(const Found& found, const Program& program, const Arguments& options,
                        std::map<std::string, std::string> host) {
  Arguments arguments = {found.program};
  append(arguments, options);
  for (const Bind& bind : binds_for(*found.runtime, program))
    append(arguments, {"--bind", bind.source.string() + ":" + bind.destination});
  host.erase("TMPDIR"); // it would mount that directory as /tmp
  const Changes environment = changes(host, program.environment);
  for (const std::string& name : environment.unset)
    arguments.push_back("--unset-env=" + as_pattern(name));
  const auto has_dollar = [](const auto& each) { return each.second.find('$') != std::string::npos; };
  if (std::any_of(environment.set.begin(), environment.set.end(), has_dollar))
    arguments.emplace_back("--env-no-expand");
  for (const auto& [name, value] : environment.set)
    arguments.push_back("--set-env=" + name + "=" + value);
  append(arguments, {"--cd", program.directory, program.tree, "--"});
  append(arguments, program.command);
  Invocation invocation{arguments, std::move(host), false};
  invocation.environment.try_emplace("USER", std::to_string(geteuid())); // ch-run does not start without it
  return invocation;
}

// Apptainer takes the program's variables with a prefix; without it, APPTAINER_... would be its own settings.
// It sets HOME itself.
Invocation apptainer(const Found& found, const Program& program, const Arguments& options,
                     const std::map<std::string, std::string>& host) {
  Arguments arguments = {found.program, "exec"};
  append(arguments, options);
  if (!program.inherits)
    arguments.emplace_back("--cleanenv");
  append(arguments, {"--no-mount", "home,cwd,tmp"}); // with tmp, it warns of a missing /var/tmp
  for (const runtimes::GpuKind* gpu : program.gpus)
    if (!gpu->apptainer.empty())
      arguments.push_back(gpu->apptainer);
  for (const Bind& bind : binds_for(*found.runtime, program))
    append(arguments, {"--bind", with_mode(bind)});
  append(arguments, {"--pwd", program.directory, program.tree});
  append(arguments, program.command);
  Invocation invocation{arguments, host, false};
  const std::string prefix = found.program.filename() == "singularity" ? "SINGULARITYENV_" : "APPTAINERENV_";
  for (const auto& [name, value] : program.environment)
    if (name != "HOME")
      invocation.environment[prefix + name] = value;
  return invocation;
}

// The options that set a program's environment, for a runtime that keeps its own. A value that the runtime
// has already does not appear where others can read it.
void add_environment(Arguments& arguments, const Program& program,
                     const std::map<std::string, std::string>& host) {
  for (const auto& [name, value] : program.environment) {
    const auto known = host.find(name);
    const bool same = known != host.end() && known->second == value;
    append(arguments, {"--env", same ? name : name + "=" + value});
  }
}

Invocation enroot(const Found& found, const Program& program, const Arguments& options,
                  const std::map<std::string, std::string>& host) {
  Arguments arguments = {found.program, "start"};
  append(arguments, options);
  for (const Bind& bind : binds_for(*found.runtime, program))
    append(arguments, {"--mount", bind.source.string() + ":" + bind.destination + ":none:rbind," +
                                      (bind.read_only ? "ro" : "rw")});
  add_environment(arguments, program, host);
  arguments.push_back(program.tree.filename());
  if (program.directory != "/") // ch-run always starts in the root
    append(arguments, {"/bin/sh", "-c", R"(cd "$0" && exec "$@")", program.directory});
  append(arguments, program.command);
  Invocation invocation{arguments, host, false};
  invocation.environment["ENROOT_DATA_PATH"] =
      program.tree.parent_path(); // it finds trees by name in this directory
  return invocation;
}

Invocation podman(const Found& found, const Program& program, const Arguments& options,
                  const std::map<std::string, std::string>& host) {
  Arguments arguments = {found.program, "run", "--rm"};
  const auto set_by_user = [&options](const std::string& option) {
    return std::any_of(options.begin(), options.end(), [&](const std::string& each) {
      return each == option || each.starts_with(option + "=");
    });
  };
  for (const char* space : {"--network", "--pid", "--ipc"})
    if (!set_by_user(space))
      arguments.push_back(std::string(space) + "=host");
  if (geteuid() != 0 && !set_by_user("--userns"))
    arguments.push_back("--userns=keep-id");
  append(arguments, options);
  append(arguments, {"--read-only", "--read-only-tmpfs=false", "--interactive"});
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
    arguments.push_back("--tty");
  if (program.descriptors > 0)
    arguments.push_back("--preserve-fds=" + std::to_string(program.descriptors));
  for (const std::string& device : program.devices)
    append(arguments, {"--device", device});
  // Since Podman 4.4, --read-only also makes the machine's shared memory read-only, which MPI libraries need.
  if (!set_by_user("--ipc"))
    append(arguments, {"--volume", "/dev/shm:/dev/shm"});
  for (const Bind& bind : binds_for(*found.runtime, program))
    append(arguments, {"--volume", with_mode(bind)});
  add_environment(arguments, program, host);
  append(arguments, {"--workdir", program.directory, "--rootfs", program.tree});
  append(arguments, program.command);
  return {arguments, host, false, program.descriptors};
}

} // namespace

std::string obstacle(const Found& found, const Program& program) {
  const runtimes::Runtime& runtime = *found.runtime;
  const std::vector<Bind> binds = binds_for(runtime, program);
  for (const Bind& bind : binds)
    if (bind.read_only && bind.asked && !runtime.read_only_binds)
      return "has no binds that are read-only, as " + bind.destination + " is to be";
  if (runtime.name == "bwrap")
    return {};
  for (const Bind& bind : binds)
    if (bind.source.string().find_first_of(":, \n") != std::string::npos ||
        bind.destination.find_first_of(":, \n") != std::string::npos)
      return "cannot bind " + bind.source.string() + ": there is a blank, comma or colon in its path";
  if (runtime.name == "enroot" && program.directory != "/" &&
      find_in_tree(program.tree, "/bin/sh").type != fs::file_type::regular)
    return "enters a directory only by /bin/sh, which the image does not have";
  return {};
}

Invocation invocation_of(const Found& found, const Program& program, const std::vector<std::string>& options,
                         const std::map<std::string, std::string>& host) {
  const std::string& name = found.runtime->name;
  if (name == "bwrap")
    return bwrap(found, program, options, host);
  if (name == "charliecloud")
    return charliecloud(found, program, options, host);
  if (name == "apptainer")
    return apptainer(found, program, options, host);
  if (name == "enroot")
    return enroot(found, program, options, host);
  return podman(found, program, options, host);
}

} // namespace xaas::run
