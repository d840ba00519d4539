// The variables of a CMake project that is read and not run: values that may be unknown, scopes, the cache,
// and what a part of a condition changed, so that it can be taken back.
//
// Source: cmake-language(7), "Variables", "Variable References", "Lists".
#pragma once

#include "readers/cmake/language.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace xaas::discover {

struct CMakeValue {
  std::string text;
  bool known = true; // else the text is what is left of it
};

// An argument of a command, evaluated.
struct CMakeWord {
  std::string text;
  bool known = true, quoted = false;
  bool literal = false;      // as the file has it
  std::string variable = {}; // it is the value of this one
};

enum class Truth { no, yes, unknown };

// What CMake says of a constant; unknown: it is none.
Truth truth_of_constant(const std::string& text);

// The tree, as a directory of its own: no path of this machine comes into a value.
inline constexpr const char* cmake_source_root = "/source";

// Variables of CMake's own that say what machine and compiler this is. Ours is Linux, with Clang.
const std::unordered_map<std::string, std::string>& fixed_variables();

class CMakeValues {
public:
  struct Change {
    size_t scope;
    std::string name;
    std::optional<CMakeValue> value; // before the change; as take_back() gives it, after it
  };

  // `budget` is what is left of work: commands, and long values as if they were commands.
  explicit CMakeValues(uint64_t budget) : budget_(budget) { scopes_.emplace_back(); }

  void charge_command() { budget_ -= budget_ > 0; }
  void charge_bytes(uint64_t bytes);
  bool is_spent() const; // nothing is left, or we were asked to stop

  void push_scope(std::unordered_map<std::string, CMakeValue> variables = {}) {
    scopes_.push_back(std::move(variables));
  }
  void pop_scope() { scopes_.pop_back(); }
  void set(const std::string& name, CMakeValue value) { write(scopes_.size() - 1, name, std::move(value)); }
  void unset(const std::string& name) { write(scopes_.size() - 1, name, std::nullopt); }
  void set_in_parent(const std::string& name, CMakeValue value);
  void set_cache(const std::string& name, CMakeValue value) { cache_[name] = std::move(value); }
  void add_cache(const std::string& name, const CMakeValue& value) { cache_.emplace(name, value); }

  const CMakeValue* find(const std::string& name) const;       // nullptr: not set
  const CMakeValue* find_local(const std::string& name) const; // in the innermost scope only
  CMakeValue value_of(const std::string& name) const;          // of one that is not set: empty, or unknown
  bool is_fixed(const std::string& name) const;                // no option can change it

  CMakeValue expand(const std::string& text) const; // ${...}, also within each other
  std::vector<CMakeWord> words_of(const CMakeCommand& command);

  // Changes between the two are written down, and taken back by the second, which gives what they had made.
  // They may be within each other.
  void begin_log() { logs_.push_back({scopes_.size(), {}}); }
  std::vector<Change> take_back();
  void apply(std::vector<Change> changes);
  void
  apply_unknown(const std::vector<Change>& changes); // where nothing is known: what else may be, as unknown

  void set_list_directory(std::string path) { list_directory_ = std::move(path); } // CMAKE_CURRENT_LIST_DIR
  const std::string& list_directory() const { return list_directory_; }

private:
  using Variables = std::unordered_map<std::string, CMakeValue>;
  struct Log {
    size_t scopes; // that were there at its beginning; others are gone at its end
    std::vector<Change> changes;
  };
  void write(size_t scope, const std::string& name, std::optional<CMakeValue> value);
  void expand_until(const std::string& text, size_t& at, char end, CMakeValue& result, int depth) const;

  uint64_t budget_;
  std::vector<Variables> scopes_;
  Variables cache_;
  std::vector<Log> logs_;
  std::string list_directory_;
};

} // namespace xaas::discover
