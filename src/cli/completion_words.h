// Words that shells can complete, from the same option tables as --help.
#pragma once

#include "command.h"

#include <string>
#include <vector>

namespace xaas::cli {

// One option of a command, or one positional argument.
struct CompletionWord {
  std::vector<std::string> names; // "-o", "--output"; empty: a positional argument
  std::string label;              // FILE, IMAGE; empty: a flag
  std::string meaning;
  enum class Kind { any, values, files, directories, images, machines } kind = Kind::any;
  std::vector<std::string> values;     // known values
  std::vector<std::string> transports; // for images: "oci:", "docker://"
  bool positional() const { return names.empty(); }
};

struct CompletionCommand {
  std::string name, summary;
  std::vector<CompletionWord> words;
};
std::vector<CompletionCommand> completion_commands();

// The completion script for a shell: "bash", "zsh" or "fish".
std::string completion_script(const std::string& shell);
const std::vector<std::string>& completion_shells();

} // namespace xaas::cli
