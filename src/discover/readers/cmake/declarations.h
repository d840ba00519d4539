// The commands of CMake that declare something: options, packages, languages, compiler flags.
//
// Source: cmake-commands(7): option(), set(CACHE), set_property(CACHE), find_package(), project(), ...;
// modules CMakeDependentOption, FindPkgConfig.
#pragma once

#include "readers/cmake/values.h"

#include <xaas/discover/findings.h>

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace xaas::discover {

// The reader's position.
struct CMakeState {
  std::string top;                     // directory of the project, relative to the tree
  std::string directory;               // of the running CMakeLists.txt
  std::string file;                    // the running one
  std::vector<std::string> conditions; // of the blocks around the running command
  struct Call {                        // of a function or macro of the project
    const CMakeCommand* command;
    std::string file;
  };
  std::vector<Call> calls; // outermost first
  bool by_default = true;  // a build without any option gets here
  bool certain = true;     // every build gets here
};

class CMakeDeclarations {
public:
  CMakeDeclarations(CMakeValues& values, const CMakeState& state, Findings& findings)
      : values_(values), state_(state), findings_(findings) {}

  // Whether it is one of these commands.
  bool execute(const CMakeCommand& command, const std::vector<CMakeWord>& words);
  void note_imported_targets(const CMakeCommand& command);
  // A command whose definition is not in the tree: an option if the call looks like a declaration.
  bool guess(const CMakeCommand& command, const std::vector<CMakeWord>& words);

  // The words of a condition; `name` has the value of `of`, perhaps in another case; the command message().
  void note_comparisons(const std::vector<CMakeWord>& words);
  void note_alias(const std::string& name, const std::string& of);
  void fatal_message(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  // After everything was read: the values that conditions compare options with.
  void take_compared_values();
  // After everything was read: libraries that targets link by their plain names, "tbb".
  void take_linked_names();

  // A call of the project's own function or macro. Its arguments may say more about the options that it
  // declares.
  struct Mark {
    size_t options, touched;
  };
  Mark begin_call() const { return {findings_.options.size(), touched_.size()}; }
  void end_call(const Mark& begin, const std::vector<CMakeWord>& words);

private:
  using Handler = void (CMakeDeclarations::*)(const std::vector<CMakeWord>&, const CMakeCommand&);
  void option_command(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void dependent_option(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void set_command(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void unset_command(const std::vector<CMakeWord>& words, const CMakeCommand&);
  void set_property(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void mark_as_advanced(const std::vector<CMakeWord>& words, const CMakeCommand&);
  void project_command(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void enable_language(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void minimum_required(const std::vector<CMakeWord>& words, const CMakeCommand&);
  void find_package(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void check_modules(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void find_library(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void compile_options(const std::vector<CMakeWord>& words, const CMakeCommand& command);
  void check(const std::vector<CMakeWord>& words, const CMakeCommand& command);

  // The command that contains the name literally: the running one or a call around it. Otherwise the
  // outermost call.
  Place place(const std::string& name, const CMakeCommand& command) const;
  Option& add_option(const std::string& name, const CMakeCommand& command);
  bool is_new(const std::string& name) const;
  bool may_add_option(const std::string& name);
  std::vector<std::string> innermost_conditions() const;
  void set_initial(Option& option, const CMakeWord& value);
  Option* decided_option(const std::string& name, const CMakeCommand& command);
  void declare_boolean(const std::string& name, const std::string& help, const CMakeWord& value,
                       const CMakeCommand& command);
  void declare_text(const std::string& name, const std::string& help, const std::string& type,
                    const CMakeWord& value, const CMakeCommand& command);
  void note_toolkit_variable(const std::string& text, const CMakeCommand& command);
  void note_linked(const std::string& name, const CMakeCommand& command);
  bool is_reached() const;
  void note_link(const CMakeCommand& command);
  void note_compiler(const CMakeCommand& command);
  void note_threads(const CMakeCommand& command);
  void add_language(const std::string& name, const CMakeCommand& command);
  void add_package(const std::string& name, const std::string& version, bool required,
                   const CMakeCommand& command);
  void add_flag(const std::string& flag, const CMakeCommand& command);
  struct Mention {
    std::string text;
    std::set<std::string> names;
  };
  Mention mention_in(const std::string& text) const;

  void take_values_of_message(Option& option, const CMakeCommand& command);

  CMakeValues& values_;
  const CMakeState& state_;
  Findings& findings_;
  std::unordered_map<std::string, size_t> options_; // index in the findings
  std::unordered_map<std::string, size_t> packages_;
  std::vector<Package> links_;    // known libraries that targets link by name
  std::set<std::string> targets_; // of the project
  std::unordered_map<std::string, bool> first_by_default_;
  bool has_version_by_default_ = false;
  std::unordered_map<std::string, std::vector<std::string>> compared_; // the words, by variable
  std::unordered_map<std::string, std::string> aliases_;
  std::vector<size_t> touched_; // options that the outermost call of a macro declares
  bool many_ = false;           // a note says so already
};

} // namespace xaas::discover
