// specs/discovery.json in memory.
#pragma once

#include "instruction_sets.h"

#include <xaas/discover/discover.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::discover {

struct Entry {
  std::string name, category;
  Choice::Group group = Choice::Group::parallel;
  bool built_in = false;
  bool is_everywhere = false;  // part of the C library, so a search for it is not a choice
  bool is_one_vendors = false; // one of several implementations of an interface
  bool is_headers = false;     // only headers, so whose copy is used makes no difference
  bool is_layer = false;       // an interface to other entries
  spec::Requirement needs;
};

class Knowledge {
public:
  static const Knowledge& get();

  // The words of a name, in lower case.
  static std::vector<std::string> words_of(const std::string& name);

  // The entry that the words mean, ignoring neutral ones; nothing if other words are left. With `group`, only
  // entries of it, and also those that the words mean only as a value of an option.
  const Entry* entry(const std::vector<std::string>& words, std::optional<Choice::Group> group = {}) const;
  // The instruction set that the words mean, ignoring neutral ones; nullptr if there is none.
  const SimdEntry* simd(const std::vector<std::string>& words) const;
  // The same for a value of an option, which may also be a CPU of LLVM's: its vector instructions.
  const SimdEntry* simd_value(const std::vector<std::string>& words) const;
  // Whether a spec can require it: its architecture is one that xaas builds for.
  static bool can_require(const SimdEntry& simd);
  std::string precision(const std::vector<std::string>& words) const; // empty: none

  bool is_off(const std::string& value) const;
  bool is_neutral_value(const std::string& value) const;
  bool may_name_a_choice(const std::vector<std::string>& words) const;
  bool is_for_developers(const std::vector<std::string>& words) const;
  bool is_bundled(const std::string& directory) const; // in lower case
  // The programming models through which a library gives an application access to GPUs; nullptr if there are
  // none.
  const std::vector<std::string>* gpus_of_library(const std::vector<std::string>& words) const;
  bool is_other_compiler(const std::vector<std::string>& words) const;
  bool has_own_word(const std::vector<std::string>& words) const;   // "internal", "bundled"
  bool has_where_word(const std::vector<std::string>& words) const; // "external", "dir"
  // Whether an option of that name switches code in assembly: "asm", "arm4 asm".
  bool is_assembly(const std::vector<std::string>& words) const;
  // The words that tell one instruction set from another: all that are not neutral, or all.
  std::vector<std::string> telling(const std::vector<std::string>& words) const;
  std::vector<std::string> without(const std::vector<std::string>& words, bool own, bool where) const;

private:
  Knowledge();
  std::string key(const std::vector<std::string>& words) const; // without neutral words
  std::set<std::string> neutral_, where_, own_, off_values_, neutral_values_, compilers_, choice_words_,
      developer_words_, bundled_directories_, assembly_words_;
  std::map<std::string, std::vector<std::string>> libraries_with_gpus_;
  std::vector<Entry> entries_;
  struct Meaning {
    size_t entry;  // index
    bool as_value; // only as a value of an option
  };
  std::map<std::string, std::vector<Meaning>> by_words_;
  std::map<std::string, SimdEntry> simd_;
  std::map<std::string, std::string> precision_;
};

} // namespace xaas::discover
