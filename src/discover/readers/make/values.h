// The variables and functions of one makefile.
//
// Source: GNU make manual, "How to Use Variables", "Functions for Transforming Text".
#pragma once

#include "tree_files.h"

#include <map>
#include <string>
#include <vector>

namespace xaas::discover {

// Evaluates references without running anything: a part of a value that only a shell could tell becomes
// make_text::unknown. The work is limited, because a short makefile can describe endless values.
class MakeValues {
public:
  // `directory`: of the makefile, with a slash at its end, or empty. `arch`: the output of `uname -m`.
  MakeValues(const TreeFiles& tree, std::string directory, const std::string& arch);

  std::string expand(const std::string& text, int depth = 0);
  std::string value_of(const std::string& name, int depth = 0);
  bool has(const std::string& name) const { return variables_.count(name) > 0; }
  bool is_empty(const std::string& name) const;

  void set(const std::string& name, std::string value);          // with `=`: expanded on use
  void store(const std::string& name, const std::string& value); // with `:=`: expanded now
  void add(const std::string& name, const std::string& value);   // with `+=`

  void charge(size_t bytes) { steps_ += 1 + bytes / 1024; }
  // The limit is reached, or the program was interrupted. Nothing more is evaluated.
  bool is_spent() const;

private:
  using Words = std::vector<std::string>;
  struct Functions;

  std::string reference(const std::string& text, int depth);
  std::string substitution(const std::string& text, size_t colon, int depth);
  std::string wildcard(const std::string& patterns);
  std::string shell(const Words& arguments) const;

  const TreeFiles& tree_;
  std::string directory_;
  std::map<std::string, std::string> variables_, shell_;
  size_t steps_ = 0;
};

} // namespace xaas::discover
