// The state of the classifier: what is known of the project's options, and what was found so far.
#pragma once

#include "knowledge.h"

#include <xaas/discover/findings.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace xaas::discover {

class Classification {
public:
  using Words = std::vector<std::string>;

  explicit Classification(const Findings& findings);

  const Findings& findings;
  const Knowledge& knowledge;
  const spec::BuildSystem system;
  Discovery discovery;
  std::set<std::pair<Choice::Group, std::string>> chosen_by_value; // by an option with several values
  std::pair<std::string, std::string> own_fft; // a value that stands for an FFT in the sources, and its flag

  // The words of an option's name, without the project's prefix.
  Words words_of(const std::string& name) const;

  // The choice of that name, ignoring case; a new one if there is none.
  Choice& choice(Choice::Group group, const std::string& name);

  // A name for a point, in the form that the schema wants; "" if it is taken.
  std::string free_name(std::string name) const;

  // A point with the values `off` and `on`; nullptr if its name is taken. Valid until the next one is added.
  DiscoveredPoint* add_point(const Option& option, const std::string& name, const std::string& category,
                             const spec::Requirement& needs);

  // Whether the entry is the project itself.
  bool is_project(const Entry& entry) const;

  // The options that a condition names.
  std::vector<const Option*> options_in(const std::string& condition) const;

  // Whether the search for an entry's package depends on the option.
  bool searches(const Option& option, const Entry& entry) const;

  // Whether some option switches one set of vector instructions.
  bool has_vector_switch() const { return has_vector_switch_; }
  // Whether some option switches code in assembly.
  bool has_assembly_switch() const { return has_assembly_switch_; }

private:
  Words prefix_;
  bool has_vector_switch_ = false, has_assembly_switch_ = false;
  std::map<std::string, const Option*> by_name_;
  std::map<const Entry*, std::set<const Option*>> searchers_;
};

// The words that tell one option from another.
// The index of a word that negates those behind it, as in NO_MPI; the number of words if there is none.
size_t negation_in(const Classification::Words& words);
Classification::Words without_neutral(const Classification::Words& words);

// Adds the points and choices of an option with two values, and of one with more.
class Switches {
public:
  explicit Switches(Classification& all) : all_(all) {}
  void add(const Option& option);

private:
  using Words = Classification::Words;
  bool add_own_library(const Option& option, const Words& words);
  bool add_simd(const Option& option, const Words& words);
  bool add_precision(const Option& option, const Words& words);
  bool add_library_with_gpus(const Option& option, const Words& words);
  void add_entry(const Option& option, const Words& words);
  bool is_parallel(const Words& words) const;
  const Entry* entry_of(const Option& option, const Words& words) const;
  void set_switch(const Option& option, const Entry& entry, Choice& known);

  Classification& all_;
  bool own_computes_ = false;          // the library that the build can make itself is for algebra or FFTs
  std::set<const Entry*> searched_by_; // entries whose switch is an option that their search depends on
  std::set<const Entry*> named_by_;    // entries whose switch is an option with their name
};
void add_choice(Classification& all, const Option& option);

// A library that the build looks for. It has no switch of its own, or the option that its search depends on.
void add_package(Classification& all, const Package& package);

} // namespace xaas::discover
