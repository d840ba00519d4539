#include "command.h"
#include "settings.h"
#include "terminal.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/cli/cli.h>
#include <xaas/image/bundle.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <new>
#include <string_view>

namespace xaas::cli {

namespace {

constexpr int usage_exit = 2;

void print_overview(std::ostream& stream) {
  stream << "xaas ships an application as LLVM IR and specializes it on the machine that runs it.\n\n"
            "Examples:\n"
            "  xaas build xaas.json -o oci:./solver:ir\n"
            "  xaas deploy oci:./solver:ir -o oci:./solver:here\n\n"
            "Commands:\n";
  std::vector<std::vector<std::string>> rows;
  for (const CommandEntry& entry : commands())
    if (!entry.hidden)
      rows.push_back({std::string("  ") + entry.name, entry.summary});
  stream << table(rows)
         << "\n`xaas COMMAND --help` prints the options of a command, `xaas --version` the version.\n";
}

int unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const CommandEntry& entry : commands())
    if (!entry.hidden)
      names.push_back(entry.name);
  const std::string near = nearest(name, names);
  print_error(
      make_error(ErrorKind::usage, "'" + name + "' is not a command",
                 near.empty() ? "`xaas --help` lists the commands" : "did you mean `xaas " + near + "`?"));
  return usage_exit;
}

int finish(const Error& error) {
  print_error(error);
  if (error.kind == ErrorKind::interrupted)
    return interrupt_signal() == SIGTERM ? 143 : 130;
  return exit_code(error.kind);
}

// The first option that the command does not have; empty: none. CLI11 reports missing arguments first, so an
// unknown option would go unmentioned.
std::string unknown_option(const CLI::App& app, int argc, const char* const* argv) {
  for (int i = 2; i < argc && std::string(argv[i]) != "--"; ++i) {
    const std::string argument = argv[i];
    if (argument.size() < 2 || argument[0] != '-')
      continue;
    const std::string name =
        argument[1] == '-' ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
    if (!app.get_option_no_throw(name))
      return name;
  }
  return {};
}

Error parse_error(const CommandEntry& entry, const CLI::App& app, const std::string& what, int argc,
                  const char* const* argv) {
  const std::string command = std::string("xaas ") + entry.name;
  const std::string help = "`" + command + " --help` prints its options";
  const std::string unknown = unknown_option(app, argc, argv);
  if (unknown.empty())
    return make_error(ErrorKind::usage, command + ": " + what, help);
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  const std::string near = nearest(unknown, names);
  return make_error(ErrorKind::usage, command + ": has no option " + unknown,
                    near.empty() ? help : "did you mean `" + near + "`?");
}

// Exceptions that escape the libraries (no memory, a bug) still end in a message and an exit code.
Result<void> run_guarded(Command& command, bool has_jobs) {
  try {
    return command.run();
  } catch (const std::bad_alloc&) {
    return make_error(ErrorKind::failed, "out of memory",
                      has_jobs ? "fewer jobs (-j) need less memory" : std::string());
  } catch (const std::exception& error) {
    return make_error(ErrorKind::failed, std::string("internal error: ") + error.what());
  }
}

// Moves the words after `--` into the command, and returns the number of words before.
int separate(Command& command, int argc, const char* const* argv) {
  const auto* const end = argv + argc;
  const auto* const separator =
      std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (!command.takes_rest() || separator == end)
    return argc;
  command.rest.assign(separator + 1, end);
  return static_cast<int>(separator - argv);
}

int run_command(const CommandEntry& entry, int argc, const char* const* argv) {
  const std::unique_ptr<Command> command = entry.make();
  const std::unique_ptr<CLI::App> app = make_app(entry, *command);
  argc = separate(*command, argc, argv);
  try {
    app->parse(argc - 1, argv + 1);
  } catch (const CLI::CallForHelp&) {
    std::cout << app->help();
    return 0;
  } catch (const CLI::ParseError& error) {
    print_error(parse_error(entry, *app, error.what(), argc, argv));
    return usage_exit;
  }
  install_interrupt_handler();
  if (entry.settings)
    if (const Result<void> read = read_settings(*app, command->common.quiet); !read)
      return finish(read.error());
  const Result<void> result = run_guarded(*command, app->get_option_no_throw("--jobs") != nullptr);
  std::cout.flush();
  if (!result)
    return finish(result.error());
  if (!std::cout)
    return finish(make_error(ErrorKind::storage, "writing to standard output failed"));
  return command->exit_code;
}

} // namespace

int run(int argc, const char* const* argv) {
  const PlainOutput plain;
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--version") {
    std::cout << "xaas " << image::tool_version() << " (LLVM " << image::llvm_version() << ")\n";
    return 0;
  }
  if (first == "--help" || first == "-h" || first == "help") {
    print_overview(std::cout);
    return 0;
  }
  if (first.empty()) {
    print_overview(std::cerr);
    return usage_exit;
  }
  const CommandEntry* entry = find_command(first);
  return entry ? run_command(*entry, argc, argv) : unknown_command(first);
}

} // namespace xaas::cli
