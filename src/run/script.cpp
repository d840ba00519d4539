// Programs of a tree that scripts start. Nothing of this process's environment or directory may enter a
// script, which runs for other users, on other nodes, and next year.
#include "adapters.h"
#include "choose.h"
#include "choose_host.h"
#include "gpus.h"

#include <xaas/base/text.h>
#include <xaas/loader/directories.h>
#include <xaas/runtimes/environment.h>
#include <xaas/runtimes/tree_paths.h>
#include <xaas/target/cpu.h>

#include <algorithm>

namespace xaas::run {

namespace {

// Stands for the script's directory until the line is quoted: longer than all that the image gives.
std::string mark_for(const Program& program) {
  size_t longest = 0;
  for (const auto& [name, value] : program.environment)
    longest = std::max(longest, value.size());
  for (const std::string& word : program.command)
    longest = std::max(longest, word.size());
  return "/" + std::string(longest, '.');
}

std::vector<std::string> library_path_of(const std::map<std::string, std::string>& environment) {
  const auto found = environment.find("LD_LIBRARY_PATH");
  return found == environment.end() ? std::vector<std::string>() : split(found->second, ':');
}

// The runtimes that pass all variables of their caller on.
Result<std::vector<std::string>> usable(const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const std::string& name : wanted.empty() ? script_runtime_choices() : wanted)
    if (const runtimes::Runtime* const known = runtimes::Knowledge::get().runtime(name);
        !known || known->inherits) // choose_runtime() refuses unknown names
      names.push_back(name);
  if (names.empty())
    return make_error(ErrorKind::usage,
                      join(wanted, ", ") + ": cannot be used by scripts, because not all variables of the "
                                           "script's caller reach the program",
                      "name one of " + join(script_runtime_choices(), ", "));
  return names;
}

Result<void> add_binds(Program& program, const std::vector<Bind>& binds) {
  std::error_code code;
  for (const Bind& bind : binds) {
    Result<std::string> made =
        runtimes::make_mount_point(program.tree, bind.destination, fs::is_directory(bind.source, code));
    if (!made && bind.optional)
      continue;
    if (!made)
      return std::move(made).error();
    program.binds.push_back(bind);
    program.binds.back().destination = *std::move(made);
  }
  return {};
}

// Takes away what belongs to the host's shell and libraries. The runtime itself needs PATH.
std::vector<std::string> lines_that_withhold() {
  const std::vector<std::string> kept = {"PATH", "PWD",   "OLDPWD", "SHLVL",
                                         "_",    "SHELL", "XAAS_*", "BASH_FUNC_*"};
  std::vector<std::string> names, prefixes;
  for (const std::string& name : runtimes::Knowledge::get().withheld)
    if (std::find(kept.begin(), kept.end(), name) == kept.end())
      (name.ends_with("*") ? prefixes : names).push_back(name.substr(0, name.find('*')));
  return {"unset " + join(names, " "),
          R"(unset $(env | sed -n 's/^\(\()" + join(prefixes, R"(\|)") + R"(\)[A-Za-z0-9_]*\)=.*/\1/p'))"};
}

// Ends a script whose directory the container does not see.
std::vector<std::string> lines_that_check(const Program& program) {
  std::vector<std::string> patterns, seen;
  std::error_code code;
  for (const Bind& bind : program.binds)
    if (bind.source == bind.destination && fs::is_directory(bind.source, code)) {
      patterns.push_back(shell_text({bind.destination + "/"}) + "*");
      seen.push_back(bind.destination);
    }
  return {"here=$(pwd -P)",
          "case \"$here/\" in",
          join(patterns, " | ") + ") ;;",
          "*)",
          "  echo \"$0: the container does not see the directory $here, only\" " +
              shell_text({join(seen, ", ")}) + " >&2",
          "  exit 126",
          "  ;;",
          "esac"};
}

using Arguments = std::vector<std::string>;

std::string shell_words(const Arguments& arguments, const std::string& mark) {
  std::string line;
  for (const std::string& argument : arguments)
    line += " " + (argument == mark ? "\"$here\"" : shell_text({argument}));
  return line;
}

// The command, in which each optional bind is left out on a machine that does not have it:
//
//   set -- --chdir "$here" -- /usr/local/bin/solver "$@"     what follows the binds
//   [ ! -e /scratch ] || set -- --bind /scratch /scratch "$@"
//   exec bwrap --ro-bind PLACE / "$@"                        what precedes them
std::vector<std::string> lines_that_start(const Found& found, Program program, const Arguments& options,
                                          const std::string& mark) {
  std::vector<Bind> optional;
  std::erase_if(program.binds, [&](const Bind& bind) {
    if (bind.optional)
      optional.push_back(bind);
    return bind.optional;
  });
  const auto arguments_of = [&](const Program& each) {
    return invocation_of(found, each, options, {}).arguments;
  };
  const Arguments plain = arguments_of(program);
  auto place = plain.end(); // of the optional ones
  std::vector<std::string> lines;
  for (const Bind& bind : optional) {
    Program with = program;
    with.binds.push_back(bind);
    const Arguments more = arguments_of(with);
    if (more.size() == plain.size())
      continue; // the runtime binds it by itself
    const auto differs = std::mismatch(plain.begin(), plain.end(), more.begin(), more.end());
    place = differs.first;
    const Arguments added(differs.second,
                          differs.second + static_cast<std::ptrdiff_t>(more.size() - plain.size()));
    lines.push_back("[ ! -e " + shell_text({bind.source.string()}) + " ] || set --" +
                    shell_words(added, mark) + " \"$@\"");
  }
  lines.insert(lines.begin(), "set --" + shell_words({place, plain.end()}, mark) + " \"$@\"");
  lines.push_back("exec" + shell_words({plain.begin(), place}, mark) + " \"$@\"");
  return lines;
}

} // namespace

Result<HostAnswer> choose_libraries(const ScriptRequest& request, const Host& host) {
  XAAS_TRY(const std::vector<image::PreferredOfHost> preferred, image::preferred_of_host(*request.image));
  const HostQuestion question{request.mpi, true, request.host, preferred, library_path_of(host.environment),
                              true};
  if (!asks(question))
    return HostAnswer{};
  loader::Loader image(request.tree, target::host_arch(),
                       library_path_of(variables_of(request.image->config().env)), false);
  XAAS_TRY(const loader::Library* const program,
           image.read(behind_launcher(request.tree, request.image->manifest().annotations, request.program)));
  return choose_host(question, image, program);
}

Result<ScriptLines> script_lines(const ScriptRequest& request, const HostAnswer& libraries, const Host& host,
                                 const fs::path& place) {
  Program program;
  program.tree = request.tree;
  program.inherits = true;
  program.command = {request.program};
  program.environment = variables_of(request.image->config().env);
  std::erase_if(program.environment,
                [](const auto& variable) { return !runtimes::is_variable_name(variable.first); });
  program.environment.try_emplace("PATH", runtimes::Knowledge::get().path);
  XAAS_CHECK(add_binds(program, binds_of_machine(request.tree)));
  const HostGpus gpus = find_gpus(host.root, loader::directories_of("/", target::host_arch()).all());
  program.gpus = gpus.kinds;
  program.devices = gpus.devices;
  for (const std::vector<Bind>* binds : {&request.binds, &gpus.libraries, &gpus.files, &libraries.binds})
    XAAS_CHECK(add_binds(program, *binds));
  if (!gpus.libraries.empty() || !libraries.binds.empty()) {
    std::string& path = program.environment["LD_LIBRARY_PATH"];
    path = path.empty() ? host_libraries : std::string(host_libraries) + ":" + path;
  }
  XAAS_TRY(const std::vector<std::string> names, usable(request.runtimes));
  XAAS_TRY(const Found found, choose_runtime(names, program));
  program.tree = place;
  const std::string mark = mark_for(program);
  program.directory = mark;
  const Invocation invocation = invocation_of(found, program, request.runtime_options, {});
  ScriptLines script;
  script.runtime = found.runtime->name;
  const auto add = [&](const std::vector<std::string>& lines) {
    script.lines.insert(script.lines.end(), lines.begin(), lines.end());
  };
  add(lines_that_withhold());
  add(lines_that_check(program));
  for (const auto& [name, value] : invocation.environment) // the runtime's own way to set variables
    add({"export " + name + "=" + (name == "USER" ? "\"${USER:-$(id -un)}\"" : shell_text({value}))});
  add(lines_that_start(found, program, request.runtime_options, mark));
  return script;
}

} // namespace xaas::run
