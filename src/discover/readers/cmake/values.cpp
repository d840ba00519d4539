#include "readers/cmake/values.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace xaas::discover {

const std::unordered_map<std::string, std::string>& fixed_variables() {
  static const std::unordered_map<std::string, std::string> variables = {{"WIN32", ""},
                                                                         {"APPLE", ""},
                                                                         {"MSVC", ""},
                                                                         {"MINGW", ""},
                                                                         {"CYGWIN", ""},
                                                                         {"ANDROID", ""},
                                                                         {"IOS", ""},
                                                                         {"BORLAND", ""},
                                                                         {"MSYS", ""},
                                                                         {"XCODE", ""},
                                                                         {"EMSCRIPTEN", ""},
                                                                         {"UNIX", "1"},
                                                                         {"LINUX", "1"},
                                                                         {"CMAKE_SYSTEM_NAME", "Linux"},
                                                                         {"CMAKE_HOST_SYSTEM_NAME", "Linux"},
                                                                         {"CMAKE_HOST_UNIX", "1"},
                                                                         {"CMAKE_HOST_WIN32", ""},
                                                                         {"CMAKE_HOST_APPLE", ""},
                                                                         {"CMAKE_CROSSCOMPILING", ""},
                                                                         {"CMAKE_C_COMPILER_ID", "Clang"},
                                                                         {"CMAKE_CXX_COMPILER_ID", "Clang"},
                                                                         {"CMAKE_COMPILER_IS_GNUCC", ""},
                                                                         {"CMAKE_COMPILER_IS_GNUCXX", ""}};
  return variables;
}
Truth truth_of_constant(const std::string& text) {
  const std::string word = to_upper(text);
  if (word == "1" || word == "ON" || word == "YES" || word == "TRUE" || word == "Y")
    return Truth::yes;
  if (word.empty() || word == "0" || word == "OFF" || word == "NO" || word == "FALSE" || word == "N" ||
      word == "IGNORE" || word == "NOTFOUND" || word.ends_with("-NOTFOUND"))
    return Truth::no;
  if (word.find_first_not_of("0123456789") == std::string::npos)
    return Truth::yes;
  return Truth::unknown;
}

void CMakeValues::write(size_t scope, const std::string& name, std::optional<CMakeValue> value) {
  constexpr size_t longest = 20'000;
  if (value && value->text.size() > longest) {
    value->text.resize(longest);
    value->known = false;
  }
  charge_bytes(value ? value->text.size() : 0);
  Variables& variables = scopes_[scope];
  const auto found = variables.find(name);
  if (!logs_.empty() && scope < logs_.back().scopes)
    logs_.back().changes.push_back(
        {scope, name, found == variables.end() ? std::nullopt : std::optional(found->second)});
  if (value)
    variables[name] = *std::move(value);
  else if (found != variables.end())
    variables.erase(found);
}
// A long value costs as much as the commands that would write it.
bool CMakeValues::is_spent() const {
  return budget_ == 0 || interrupt_signal() != 0;
}

void CMakeValues::charge_bytes(uint64_t bytes) {
  budget_ -= std::min(budget_, bytes / 64);
}

std::vector<CMakeValues::Change> CMakeValues::take_back() {
  const Log log = std::move(logs_.back());
  logs_.pop_back();
  std::vector<Change> after;
  std::set<std::pair<size_t, std::string>> seen;
  for (const Change& change : log.changes)
    if (seen.insert({change.scope, change.name}).second) {
      const auto found = scopes_[change.scope].find(change.name);
      after.push_back({change.scope, change.name,
                       found == scopes_[change.scope].end() ? std::nullopt : std::optional(found->second)});
    }
  for (auto change = log.changes.rbegin(); change != log.changes.rend(); ++change)
    if (change->value)
      scopes_[change->scope][change->name] = *change->value;
    else
      scopes_[change->scope].erase(change->name);
  return after;
}

const CMakeValue* CMakeValues::find(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
    if (const auto found = scope->find(name); found != scope->end())
      return &found->second;
  const auto cached = cache_.find(name);
  return cached == cache_.end() ? nullptr : &cached->second;
}

const CMakeValue* CMakeValues::find_local(const std::string& name) const {
  const auto found = scopes_.back().find(name);
  return found == scopes_.back().end() ? nullptr : &found->second;
}

CMakeValue CMakeValues::value_of(const std::string& name) const {
  if (name == "CMAKE_CURRENT_LIST_DIR")
    return {std::string(cmake_source_root) + (list_directory_.empty() ? "" : "/" + list_directory_)};
  if (const CMakeValue* found = find(name))
    return *found;
  if (const auto fixed = fixed_variables().find(name); fixed != fixed_variables().end())
    return {fixed->second};
  return {"", !name.starts_with("CMAKE_") && !name.ends_with("_FOUND") && !name.ends_with("_found")};
}

// ${...}, also nested.
CMakeValue CMakeValues::expand(const std::string& text) const {
  CMakeValue result;
  size_t at = 0;
  expand_until(text, at, '\0', result, 0);
  return result;
}
void CMakeValues::expand_until(const std::string& text, size_t& at, char end, CMakeValue& result,
                               int depth) const {
  constexpr int deepest = 20;
  while (at < text.size() && (end == '\0' || text[at] != end)) {
    if (depth < deepest && text.compare(at, 2, "${") == 0) {
      at += 2;
      CMakeValue name;
      expand_until(text, at, '}', name, depth + 1);
      ++at;
      const CMakeValue value = value_of(name.text);
      result.known &= name.known && value.known;
      if (result.text.size() < 20'000)
        result.text += value.text;
    } else if (text.compare(at, 5, "$ENV{") == 0) {
      at = std::min(text.find('}', at), text.size() - 1) + 1;
      result.known = false;
    } else {
      result.text.push_back(text[at++]);
    }
  }
}

std::vector<CMakeWord> CMakeValues::words_of(const CMakeCommand& command) {
  std::vector<CMakeWord> words;
  size_t bytes = 0;
  constexpr size_t most_words = 20'000, most_bytes = 2'000'000;
  for (const CMakeArgument& argument : command.arguments) {
    if (words.size() > most_words || bytes > most_bytes) {
      charge_bytes(bytes);
      break;
    }
    if (argument.bracket) {
      words.push_back({argument.text, true, true, true});
      continue;
    }
    CMakeValue value = expand(argument.text);
    bytes += value.text.size();
    const bool literal = argument.text.find("${") == std::string::npos;
    std::string variable;
    if (argument.text.starts_with("${") && argument.text.find('}') == argument.text.size() - 1)
      variable = argument.text.substr(2, argument.text.size() - 3);
    if (argument.quoted) {
      words.push_back({std::move(value.text), value.known, true, literal, variable});
    } else if (literal && value.text.find(';') == std::string::npos) {
      words.push_back({std::move(value.text), value.known, false, true});
    } else {
      // Nothing if it is known to be empty.
      if (value.text.empty() && !value.known)
        words.push_back({"", false, false, false, variable});
      for (std::string& part : split(value.text, ';'))
        if (!part.empty())
          words.push_back({std::move(part), value.known, false, literal, variable});
    }
  }
  if (bytes > 10'000)
    charge_bytes(bytes);
  return words;
}

void CMakeValues::set_in_parent(const std::string& name, CMakeValue value) {
  if (scopes_.size() > 1)
    write(scopes_.size() - 2, name, std::move(value));
}

bool CMakeValues::is_fixed(const std::string& name) const {
  return !name.empty() && fixed_variables().count(name) && !find(name);
}

void CMakeValues::apply(std::vector<Change> changes) {
  for (Change& change : changes)
    write(change.scope, change.name, std::move(change.value));
}

void CMakeValues::apply_unknown(const std::vector<Change>& changes) {
  for (const Change& change : changes)
    if (change.value && !scopes_[change.scope].count(change.name))
      write(change.scope, change.name, CMakeValue{change.value->text, false});
}

} // namespace xaas::discover
