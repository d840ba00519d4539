// What can be completed, from the same option tables as --help.
#pragma once

#include "command.h"

#include <string>
#include <vector>

namespace xaas::cli {

// One option of a command, or one positional argument.
struct CompletionWord {
  std::vector<std::string> names; // "-o", "--output"; of a positional argument none
  std::string label;              // FILE, IMAGE; empty: it takes no value
  std::string meaning;
  enum class Kind { any, values, files, directories, images } kind = Kind::any;
  std::vector<std::string> values;     // those that are known
  std::vector<std::string> transports; // of images: "oci:", "docker://"
  bool positional() const { return names.empty(); }
};

struct CompletionCommand {
  std::string name, summary;
  std::vector<CompletionWord> words;
};
std::vector<CompletionCommand> completion_commands();

// The whole script for a shell: "bash", "zsh", "fish".
std::string completion_script(const std::string& shell);
const std::vector<std::string>& completion_shells();

} // namespace xaas::cli
