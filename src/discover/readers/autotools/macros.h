// M4 macros of configure.ac, as far as they can be read without running m4.
#pragma once

#include "tree_files.h"

#include <map>
#include <string>
#include <vector>

namespace xaas::discover {

struct MacroCall {
  std::vector<std::string> arguments; // without their outer brackets
  unsigned line = 0;
  std::vector<unsigned> lines; // where each argument begins
};

// The calls of a macro: `NAME(...)`, with arguments split at commas outside brackets and parentheses.
std::vector<MacroCall> calls_of(const std::string& text, const std::string& macro);

std::string without_quotes(std::string text);  // without brackets
std::string one_line(const std::string& text); // with a blank for each run of white space

// The macros that stand for text: what m4_define and its relatives define, and the few that projects use to
// take their version from a file. Nothing is executed.
class MacroWords {
public:
  // `text` is that of a configure.ac in `directory` ("" or with a slash at its end).
  MacroWords(const TreeFiles& tree, std::string directory, const std::string& text);

  // The text with its macros expanded; empty if it contains something else.
  std::string evaluate(std::string text) const;

private:
  void define(const std::string& text);
  std::string without_wrappers(const std::string& text) const;
  std::string contents(const std::string& file, const std::string& otherwise) const;
  std::string expand_names(const std::string& text) const;

  const TreeFiles& tree_;
  const std::string directory_;
  std::map<std::string, std::string> names_;
};

} // namespace xaas::discover
