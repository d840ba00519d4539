// The variables of a CMake project that is read, not run: values that may be unknown, scopes, the cache, and
// the changes made by parts of a condition, so that they can be undone.
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
  bool known = true; // false: the text is what is known of it
};

// An evaluated argument of a command.
struct CMakeWord {
  std::string text;
  bool known = true, quoted = false;
  bool literal = false;      // as written in the file
  std::string variable = {}; // the variable whose value it is
};

enum class Truth { no, yes, unknown };

// CMake's value for a constant; unknown if it is none.
Truth truth_of_constant(const std::string& text);

// The tree as a directory, so that no path of this machine gets into a value.
inline constexpr const char* cmake_source_root = "/source";

// CMake's own variables that describe machine and compiler: Linux with Clang.
const std::unordered_map<std::string, std::string>& fixed_variables();

class CMakeValues {
public:
  struct Change {
    size_t scope;
    std::string name;
    std::optional<CMakeValue> value; // before the change; in the result of take_back(), after it
  };

  // `budget`: the work that is left, in commands. Long values count as several commands.
  explicit CMakeValues(uint64_t budget) : budget_(budget) { scopes_.emplace_back(); }

  void charge_command() { budget_ -= budget_ > 0; }
  void charge_bytes(uint64_t bytes);
  bool is_spent() const; // nothing is left, or the program was interrupted

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
  const CMakeValue* find_local(const std::string& name) const; // only in the innermost scope
  CMakeValue value_of(const std::string& name) const;          // of an unset one: empty, or unknown
  bool is_fixed(const std::string& name) const;                // no option can change it

  CMakeValue expand(const std::string& text) const; // ${...}, also nested
  std::vector<CMakeWord> words_of(const CMakeCommand& command);

  // Changes between the two calls are recorded. The second call undoes them and returns the values that they
  // had set. Pairs can be nested.
  void begin_log() { logs_.push_back({scopes_.size(), {}}); }
  std::vector<Change> take_back();
  void apply(std::vector<Change> changes);
  void apply_unknown(const std::vector<Change>& changes); // marks values as unknown that may also be others

  void set_list_directory(std::string path) { list_directory_ = std::move(path); } // CMAKE_CURRENT_LIST_DIR
  const std::string& list_directory() const { return list_directory_; }

private:
  using Variables = std::unordered_map<std::string, CMakeValue>;
  struct Log {
    size_t scopes; // number at its beginning; later ones are gone at its end
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
