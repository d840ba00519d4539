// One command: its options, one call into the library, the printing.
#pragma once

#include "terminal.h"

#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace xaas::cli {

// Options that every command has.
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
  // Does the work. Prints data to standard output; an error is printed by the caller.
  virtual Result<void> run() = 0;
  Common common;
  int exit_code = 0; // of the program, if run() succeeds; else the error decides

protected:
  // One JSON document on standard output.
  static void print(const Json& json);
};

struct CommandEntry {
  const char* name;
  const char* summary;
  const char* examples; // one per line
  std::unique_ptr<Command> (*make)();
  bool hidden = false;          // not in --help: for packaging
  const char* description = ""; // of the manual page, where the options do not say it all
  bool settings = true;         // it reads the files of settings
};

// All commands in the order of --help. Help, manual and suggestions come from it.
const std::vector<CommandEntry>& commands();

// The options of a command, with the common ones; help shows examples first.
std::unique_ptr<CLI::App> make_app(const CommandEntry& entry, Command& command);

std::unique_ptr<Command> make_build_command();
std::unique_ptr<Command> make_init_command();
std::unique_ptr<Command> make_inspect_command();
std::unique_ptr<Command> make_detect_command();
std::unique_ptr<Command> make_deploy_command();
std::unique_ptr<Command> make_copy_command();
std::unique_ptr<Command> make_cache_command();
std::unique_ptr<Command> make_verify_command();
std::unique_ptr<Command> make_config_command();
std::unique_ptr<Command> make_completion_command();
std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_merge_command();
std::unique_ptr<Command> make_manual_command();

} // namespace xaas::cli
