// What the manual says of all commands: exit codes, files, variables, and to which commands each applies.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace xaas::cli {

struct ManualEntry {
  std::string term, meaning;
  // Commands that it applies to: names, and options that they have (`--jobs`), separated by blanks; `!NAME`
  // leaves one out. Empty: all.
  std::string commands;
  bool applies_to(const std::string& command, const CLI::App& app) const;
};

const std::vector<ManualEntry>& exit_codes();
const std::vector<ManualEntry>& manual_files();
const std::vector<ManualEntry>& manual_variables();

} // namespace xaas::cli
