// What users write: binds, and the names of runtimes and launchers.
#include <xaas/base/text.h>
#include <xaas/run/run.h>
#include <xaas/runtimes/knowledge.h>

namespace xaas::run {

Result<Bind> parse_bind(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const bool moded = parts.size() == 3 && (parts[2] == "ro" || parts[2] == "rw");
  if (parts.empty() || parts.size() > 3 || parts[0].empty() || (parts.size() == 3 && !moded))
    return make_error(ErrorKind::usage, "--bind " + text + ": must be SRC[:DST[:ro|rw]]");
  Bind bind;
  bind.source = fs::absolute(parts[0]).lexically_normal();
  if (!bind.source.has_filename() && bind.source != "/")
    bind.source = bind.source.parent_path();
  std::error_code code;
  if (!fs::exists(bind.source, code))
    return make_error(ErrorKind::not_found, "--bind " + text + ": there is no " + bind.source.string());
  fs::path destination = parts.size() > 1 && !parts[1].empty() ? fs::path(parts[1]) : bind.source;
  destination = destination.lexically_normal();
  if (!destination.has_filename())
    destination = destination.parent_path();
  bind.destination = destination;
  if (!destination.is_absolute() || destination == "/")
    return make_error(ErrorKind::usage,
                      "--bind " + text + ": " + parts[1] + " is not an absolute path below /");
  bind.read_only = parts.size() == 3 && parts[2] == "ro";
  return bind;
}

std::vector<std::string> runtime_choices() {
  std::vector<std::string> names;
  for (const runtimes::Runtime& runtime : runtimes::Knowledge::get().runtimes)
    names.push_back(runtime.name);
  return names;
}

std::vector<std::string> script_runtime_choices() {
  std::vector<std::string> names;
  for (const runtimes::Runtime& runtime : runtimes::Knowledge::get().runtimes)
    if (runtime.inherits)
      names.push_back(runtime.name);
  return names;
}

std::vector<std::string> launcher_choices() {
  std::vector<std::string> names;
  for (const runtimes::Launcher& launcher : runtimes::Knowledge::get().launchers)
    names.push_back(launcher.name);
  return names;
}

Result<std::vector<std::string>> launcher_arguments(const std::string& name, const std::string& mpi_abi,
                                                    unsigned ranks) {
  for (const runtimes::Launcher& launcher : runtimes::Knowledge::get().launchers) {
    if (launcher.name != name)
      continue;
    std::vector<std::string> arguments = launcher.arguments;
    if (const auto option = launcher.mpi.find(mpi_abi); option != launcher.mpi.end())
      arguments.push_back(option->second);
    if (ranks > 0)
      arguments.insert(arguments.end(), {launcher.ranks, std::to_string(ranks)});
    return arguments;
  }
  return make_error(ErrorKind::usage, name + ": unknown launcher",
                    "known: " + join(launcher_choices(), ", "));
}

} // namespace xaas::run
