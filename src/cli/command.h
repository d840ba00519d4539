// The interface of a command, and the table of all commands.
#pragma once

#include "terminal.h"

#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace xaas::cli {

// The options of every command.
struct Common {
  std::string format = "table";
  bool quiet = false;
  int verbosity = 0;
  bool json() const { return format == "json"; }
};

class Command {
public:
  virtual ~Command() = default;
  virtual void options(CLI::App& app) = 0;
  // Does the work and prints its results to standard output. The caller prints the error.
  virtual Result<void> run() = 0;
  // Whether words after `--` are kept apart, in `rest`, from those before it.
  virtual bool takes_rest() const { return false; }
  std::vector<std::string> rest;
  Common common;
  int exit_code = 0; // of the program if run() succeeds; otherwise the error decides

protected:
  // One JSON document on standard output.
  static void print(const Json& json);
};

struct CommandEntry {
  const char* name;
  const char* summary;
  const char* examples; // one per line
  std::unique_ptr<Command> (*make)();
  const char* alias = nullptr; // an earlier name that still works; it appears nowhere
  bool hidden = false;         // for packaging: not in --help, completions and manual
  bool settings = true;        // it reads the settings files
};

// All commands in the order of --help. The only source for help, manual pages, completions and "did you
// mean".
const std::vector<CommandEntry>& commands();

// The command of that name or alias; nullptr: none.
const CommandEntry* find_command(const std::string& name);

// The parser of a command: its own options and the common ones.
std::unique_ptr<CLI::App> make_app(const CommandEntry& entry, Command& command);

std::unique_ptr<Command> make_build_command();
std::unique_ptr<Command> make_init_command();
std::unique_ptr<Command> make_inspect_command();
std::unique_ptr<Command> make_detect_command();
std::unique_ptr<Command> make_deploy_command();
std::unique_ptr<Command> make_copy_command();
std::unique_ptr<Command> make_cache_command();
std::unique_ptr<Command> make_check_command();
std::unique_ptr<Command> make_config_command();
std::unique_ptr<Command> make_completion_command();
std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_install_command();
std::unique_ptr<Command> make_uninstall_command();
std::unique_ptr<Command> make_merge_command();
std::unique_ptr<Command> make_profile_command();
std::unique_ptr<Command> make_manual_command();

} // namespace xaas::cli
