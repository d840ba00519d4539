#include "readers/cmake/value_commands.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <fnmatch.h>
#include <map>
#include <set>

namespace xaas::discover {

namespace {

void list_command(CMakeValues& values, const std::vector<CMakeWord>& words) {
  if (words.size() < 2)
    return;
  const std::string& action = words[0].text;
  if (action == "APPEND" || action == "PREPEND") {
    CMakeValue value = values.value_of(words[1].text);
    for (size_t i = 2; i < words.size(); ++i) {
      if (value.text.size() > 100'000)
        break;
      value.text += (value.text.empty() ? "" : ";") + words[i].text;
      value.known &= words[i].known;
    }
    values.set(words[1].text, value);
  } else if (action == "LENGTH" || action == "GET" || action == "FIND" || action == "JOIN") {
    values.set(words.back().text, {"", false});
  }
}

void string_command(CMakeValues& values, const std::vector<CMakeWord>& words) {
  if (words.size() < 2)
    return;
  const std::string& action = words[0].text;
  if ((action == "TOUPPER" || action == "TOLOWER") && words.size() > 2) {
    values.set(words[2].text,
               {action == "TOUPPER" ? to_upper(words[1].text) : to_lower(words[1].text), words[1].known});
  } else if (action == "REPLACE" && words.size() > 4) {
    std::string text;
    bool known = true;
    for (size_t i = 4; i < words.size(); ++i) {
      text += words[i].text;
      known &= words[i].known;
    }
    const std::string &from = words[1].text, &to = words[2].text;
    for (size_t at = 0;
         !from.empty() && (at = text.find(from, at)) != std::string::npos && text.size() < 100'000;
         at += to.size())
      text.replace(at, from.size(), to);
    values.set(words[3].text, {text, known});
  } else if (action == "APPEND" || action == "CONCAT") {
    CMakeValue value = action == "APPEND" ? values.value_of(words[1].text) : CMakeValue();
    for (size_t i = 2; i < words.size() && value.text.size() < 100'000; ++i) {
      value.text += words[i].text;
      value.known &= words[i].known;
    }
    values.set(words[1].text, value);
  } else if (action == "STRIP" && words.size() > 2) {
    values.set(words[2].text, {trim(words[1].text), words[1].known});
  } else if (action == "REGEX" && words.size() > 3) {
    values.set(words[1].text == "REPLACE" && words.size() > 4 ? words[4].text : words[3].text, {"", false});
  } else {
    values.set(words.back().text, {"", false});
  }
}

// cmake_parse_arguments(PREFIX "FLAGS" "ONE" "MANY" ARGS...)
void parse_arguments(CMakeValues& values, const std::vector<CMakeWord>& words) {
  if (words.size() < 4 || words[0].text == "PARSE_ARGV")
    return;
  const std::string prefix = words[0].text + "_";
  std::map<std::string, int> kinds;
  for (int kind = 0; kind < 3; ++kind)
    for (const std::string& name : split(words[1 + static_cast<size_t>(kind)].text, ';'))
      kinds[name] = kind;
  for (const auto& [name, kind] : kinds)
    values.set(prefix + name, {kind == 0 ? "FALSE" : ""});
  std::string current;
  for (size_t i = 4; i < words.size(); ++i) {
    if (const auto found = kinds.find(words[i].text); found != kinds.end() && !words[i].quoted) {
      current = found->second == 0 ? "" : found->first;
      if (found->second == 0)
        values.set(prefix + found->first, {"TRUE"});
      continue;
    }
    const std::string name = prefix + (current.empty() ? "UNPARSED_ARGUMENTS" : current);
    CMakeValue value = values.find(name) ? *values.find(name) : CMakeValue();
    value.text += (value.text.empty() ? "" : ";") + words[i].text;
    value.known &= words[i].known;
    values.set(name, value);
    if (!current.empty() && kinds[current] == 1)
      current.clear();
  }
}

// The files of the tree and their directories, below `directory` (with a slash at its end, or empty).
std::set<std::string> entries_below(const TreeFiles& tree, const std::string& directory) {
  std::set<std::string> entries;
  const std::vector<std::string>& paths = tree.paths(); // sorted
  for (auto at = std::lower_bound(paths.begin(), paths.end(), directory); at != paths.end(); ++at) {
    const std::string& path = *at;
    if (!path.starts_with(directory))
      break;
    entries.insert(path);
    for (size_t slash = path.find('/', directory.size()); slash != std::string::npos;
         slash = path.find('/', slash + 1))
      entries.insert(path.substr(0, slash));
  }
  return entries;
}

// file(GLOB NAME [RELATIVE DIRECTORY] PATTERN...) over the tree. `*` and `?` match within one part of a path.
// GLOB also finds directories, GLOB_RECURSE does not.
void glob(CMakeValues& values, const std::vector<CMakeWord>& words, const TreeFiles& tree,
          const std::string& current) {
  const bool deep = words[0].text == "GLOB_RECURSE";
  std::vector<std::string> found;
  std::string base; // of relative names
  for (size_t i = 2; i < words.size(); ++i) {
    if (words[i].text == "RELATIVE" && i + 1 < words.size()) {
      base = words[++i].text;
      continue;
    }
    if (words[i].text == "CONFIGURE_DEPENDS" || words[i].text == "LIST_DIRECTORIES")
      continue;
    const std::string pattern = path_in_tree(words[i].text, current);
    constexpr std::ptrdiff_t most_stars = 8; // matching takes long with many
    if (pattern == "\n" || pattern.empty() || !words[i].known ||
        std::count(pattern.begin(), pattern.end(), '*') > most_stars)
      continue;
    values.charge_bytes(tree.paths().size() * 4);
    const std::string directory =
        pattern.substr(0, pattern.rfind('/') == std::string::npos ? 0 : pattern.rfind('/') + 1);
    constexpr size_t most = 2000;
    for (const std::string& path : entries_below(tree, directory.substr(0, directory.find_first_of("*?["))))
      if (found.size() < most && (!deep || tree.has(path)) &&
          fnmatch(deep ? pattern.substr(directory.size()).c_str() : pattern.c_str(),
                  deep ? path.substr(path.rfind('/') + 1).c_str() : path.c_str(), FNM_PATHNAME) == 0)
        found.push_back(std::string(cmake_source_root) + "/" + path);
  }
  if (!base.empty())
    for (std::string& path : found)
      path = fs::path(path).lexically_relative(base).string();
  values.set(words[1].text, {join(found, ";")});
}

void math_command(CMakeValues& values, const std::vector<CMakeWord>& words) {
  if (words.size() > 1)
    values.set(words[1].text, {"", false});
}
// The result of something outside: every variable that it names may have a new value.
void outside(CMakeValues& values, const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (command.name.starts_with("find_") || command.name.starts_with("try_") ||
      command.name.starts_with("get_")) {
    if (!words.empty())
      values.set(words[0].text, {"", false});
    return;
  }
  for (size_t i = 1; i < words.size(); ++i)
    if (words[i - 1].text.ends_with("_VARIABLE") || (command.name == "file" && i == words.size() - 1))
      values.set(words[i].text, {"", false});
}

} // namespace

std::string path_in_tree(const std::string& name, const std::string& directory) {
  const fs::path path =
      (name.starts_with("/") ? fs::path(name) : fs::path(cmake_source_root) / directory / name)
          .lexically_normal();
  std::string text = path.string();
  if (text.size() > 1 && text.ends_with('/'))
    text.pop_back();
  const std::string prefix = std::string(cmake_source_root) + "/";
  if (text == cmake_source_root)
    return "";
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string("\n");
}

void execute_value_command(CMakeValues& values, const TreeFiles& tree, const std::string& directory,
                           const CMakeCommand& command, const std::vector<CMakeWord>& words) {
  static const std::map<std::string, void (*)(CMakeValues&, const std::vector<CMakeWord>&)> computing = {
      {"list", list_command},
      {"string", string_command},
      {"cmake_parse_arguments", parse_arguments},
      {"math", math_command}};
  static const std::set<std::string> asking = {"execute_process",
                                               "try_compile",
                                               "try_run",
                                               "find_path",
                                               "find_program",
                                               "find_file",
                                               "file",
                                               "cmake_host_system_information",
                                               "get_target_property",
                                               "get_filename_component",
                                               "get_property"};
  if (const auto found = computing.find(command.name); found != computing.end())
    found->second(values, words);
  else if (command.name == "file" && words.size() > 2 && words[0].text.starts_with("GLOB"))
    glob(values, words, tree, directory);
  else if (asking.count(command.name))
    outside(values, words, command);
}

} // namespace xaas::discover
