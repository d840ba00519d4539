// The texts of the manual: src/cli/manual/*.txt, which the program carries.
//
// NAME.txt is the description of the page NAME, in paragraphs. exit-status.txt, environment.txt and files.txt
// are lists of entries that several pages share.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace xaas::cli {

// The paragraphs of a page, each on one line; none if there is no such file. `page` is the name of a command,
// "xaas" or "xaas-config.json".
std::vector<std::string> manual_paragraphs(const std::string& page);

struct ManualEntry {
  std::string term, meaning;
  // The commands that it applies to, separated by blanks: names, and options that a command has (`--jobs`);
  // `!NAME` excludes a command. Empty: all commands.
  std::string commands;
  bool applies_to(const std::string& command, const CLI::App& app) const;
};

const std::vector<ManualEntry>& exit_codes();
const std::vector<ManualEntry>& manual_files();
const std::vector<ManualEntry>& manual_variables();

} // namespace xaas::cli
