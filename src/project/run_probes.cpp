#include "run_probes.h"

#include "calls.h"

#include <xaas/base/glob.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <array>

namespace xaas::project {

namespace {

using Files = std::vector<BuildFile>;

constexpr uint64_t largest_log = 256u << 20;

std::string log_text(const fs::path& path) {
  std::error_code code;
  if (!fs::is_regular_file(path, code))
    return {};
  const Result<std::string> text = read_file(path, largest_log);
  return text ? *text : std::string();
}

bool asks_cpu(std::string_view code) {
  constexpr std::array words = {"cpuid", "__builtin_cpu_", "xgetbv", "/proc/cpuinfo"};
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return code.find(word) != std::string_view::npos; });
}

Finding run_of(const BuildFile& file, const Call& call, std::string what, std::string_view code) {
  return {Finding::Kind::run, file.name, call.line, std::move(what), asks_cpu(code)};
}

// How surely a call names a variable: exactly, in parts (RUNS_${language}), or only through another variable.
enum class Match { none, variable, part, exact };

// Characters of variable and file names.
std::vector<std::string> words_of(const std::string& text) {
  constexpr std::string_view inside =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+${}/";
  std::vector<std::string> words;
  for (size_t start = text.find_first_of(inside); start != std::string::npos;) {
    const size_t end = std::min(text.find_first_not_of(inside, start), text.size());
    words.push_back(text.substr(start, end - start));
    start = text.find_first_of(inside, end);
  }
  return words;
}

// The project's name for the variable: check_c_source_runs(... FOO) keeps the exit code as FOO_EXITCODE.
std::string asked_for(const Call& call, std::string variable) {
  constexpr std::string_view suffix = "_EXITCODE";
  if (call.name != "try_run" && ends_with(variable, suffix))
    variable.resize(variable.size() - suffix.size());
  return variable;
}

Match match(const Call& call, const std::string& variable) {
  const std::string shorter = asked_for(call, variable);
  Match best = Match::none;
  for (const std::string& word : words_of(call.text)) {
    const std::string pattern = variables_as_stars(word);
    if (pattern == "*")
      best = std::max(best, Match::variable);
    else if (pattern == shorter)
      best = Match::exact;
    else if (pattern.find('*') != std::string::npos && glob_match(pattern, shorter))
      best = std::max(best, Match::part);
  }
  return best;
}

// The entries of try_run in CMake's cache: the result variable below a line that says so.
std::vector<std::string> cached_runs(const fs::path& build) {
  std::vector<std::string> variables;
  bool run = false;
  for (const std::string& line : split(log_text(build / "CMakeCache.txt"), '\n')) {
    if (const std::string name = line.substr(0, line.find(':')); run && !name.empty())
      variables.push_back(name);
    run = line == "//Result of try_run()";
  }
  return variables;
}

const std::vector<std::string>& cmake_calls() {
  static const std::vector<std::string> names = {
      "try_run",
      "check_c_source_runs",
      "check_cxx_source_runs",
      "check_fortran_source_runs",
      "check_objc_source_runs",
      "check_objcxx_source_runs",
      "check_source_runs",
  };
  return names;
}

struct Place {
  const BuildFile* file = nullptr;
  Call call;
  Match match = Match::none;
};

std::vector<Place> calls_in(const Files& files, Language language, const std::vector<std::string>& names) {
  std::vector<Place> places;
  for (const BuildFile& file : files)
    for (Call& call : find_calls(file.text, language, names))
      places.push_back({&file, std::move(call)});
  return places;
}

Place find_place(const std::vector<Place>& calls, const std::string& variable) {
  Place best;
  for (const Place& place : calls)
    if (const Match found = match(place.call, variable); found > best.match) {
      best = place;
      best.match = found;
    }
  return best;
}

// The call and the sources next to it that it names: try_run takes a file.
std::string code_of(const ConfigurationBuild& build, const Place& place) {
  std::string code = place.call.text;
  const fs::path directory = (build.source / place.file->name).parent_path();
  for (std::string word : words_of(place.call.text)) {
    if (const size_t variable = word.rfind("}/"); variable != std::string::npos)
      word.erase(0, variable + 2); // ${CMAKE_CURRENT_SOURCE_DIR}/
    if (word.find('$') == std::string::npos && word.find('.') != std::string::npos && !starts_with(word, "/"))
      for (const fs::path& root : {build.source, directory})
        code += log_text(root / word);
  }
  return code;
}

// What a configure script ran: the line of the script, and the last check that it announced.
struct ScriptRun {
  uint64_t line = 0;
  std::string checking;
};

std::vector<ScriptRun> script_runs(const fs::path& log) {
  std::vector<ScriptRun> runs;
  std::string checking;
  for (const std::string& line : split(log_text(log), '\n')) {
    if (!starts_with(line, "configure:"))
      continue;
    const size_t text = line.find(": ");
    if (text == std::string::npos)
      continue;
    const std::string what = line.substr(text + 2);
    if (starts_with(what, "checking "))
      checking = what.substr(std::string_view("checking ").size());
    else if (starts_with(what, "./conftest"))
      runs.push_back(
          {std::strtoull(line.c_str() + std::string_view("configure:").size(), nullptr, 10), checking});
  }
  return runs;
}

// The message of AC_MSG_CHECKING([...]) or AC_CACHE_CHECK([...], ...), with stars for parts that the shell
// computes.
std::string message_of(const Call& call) {
  size_t depth = 0;
  size_t end = 0;
  for (; end < call.text.size() && (depth > 0 || call.text[end] != ','); ++end) {
    depth += call.text[end] == '[';
    depth -= call.text[end] == ']' && depth > 0;
  }
  std::string text = trim(call.text.substr(0, end));
  while (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    text = trim(text.substr(1, text.size() - 2));
  return variables_as_stars(text);
}

// A check runs after its message and before its result.
std::string_view check_body(const BuildFile& file, const Call& call) {
  const std::string_view rest = std::string_view(file.text).substr(call.position);
  const size_t end = rest.find("AC_MSG_RESULT");
  return call.name == "ac_cache_check" ? std::string_view(call.text)
                                       : rest.substr(0, std::min(end, size_t(8192)));
}

void find_script_run(const ScriptRun& run, const std::vector<Place>& checks, Findings& findings) {
  for (const Place& place : checks) {
    const std::string message = message_of(place.call);
    if (message.find_first_not_of("* ") != std::string::npos && glob_match(message, run.checking))
      findings.insert(run_of(*place.file, place.call, run.checking, check_body(*place.file, place.call)));
  }
}

// name : '...' of a Meson call; "" if it has none, or a computed one.
std::string name_argument(const std::string& text) {
  const size_t at = text.rfind("name");
  const size_t colon = at == std::string::npos ? at : text.find_first_not_of(" \t\n", at + 4);
  if (colon == std::string::npos || text[colon] != ':')
    return {};
  const size_t quote = text.find_first_not_of(" \t\n", colon + 1);
  if (quote == std::string::npos || text[quote] != '\'')
    return {};
  const size_t end = text.find('\'', quote + 1);
  return end == std::string::npos ? std::string() : text.substr(quote + 1, end - quote - 1);
}

} // namespace

void find_cmake_runs(const ConfigurationBuild& build, const Files& files, Findings& findings) {
  const std::vector<std::string> variables = cached_runs(build.build);
  if (variables.empty())
    return;
  const Files modules = cmake_find_modules(build);
  const std::vector<Place> calls = calls_in(files, Language::cmake, cmake_calls());
  const std::vector<Place> theirs = calls_in(modules, Language::cmake, cmake_calls());
  for (const std::string& variable : variables) {
    const Place place = find_place(calls, variable);
    if (place.match < Match::part && find_place(theirs, variable).match >= Match::part)
      continue; // a check of CMake itself
    if (place.file)
      findings.insert(
          run_of(*place.file, place.call, asked_for(place.call, variable), code_of(build, place)));
    else
      findings.insert({Finding::Kind::run, "", 0, variable, false});
  }
}

void find_autotools_runs(const ConfigurationBuild& build, const Files& files, Findings& findings) {
  const std::vector<Place> checks = calls_in(files, Language::m4, {"ac_msg_checking", "ac_cache_check"});
  std::error_code code;
  for (auto it = fs::recursive_directory_iterator(build.build, code);
       !code && it != fs::recursive_directory_iterator(); it.increment(code))
    if (it->path().filename() == "config.log") // parts of a project may have their own configure scripts
      for (const ScriptRun& run : script_runs(it->path()))
        find_script_run(run, checks, findings);
}

void find_meson_runs(const ConfigurationBuild& build, const Files& files, Findings& findings) {
  const std::string log = log_text(build.build / "meson-logs" / "meson-log.txt");
  for (const Place& place : calls_in(files, Language::meson, {"run"})) {
    const std::string name = name_argument(place.call.text);
    if (name.empty() || log.find("Checking if \"" + name + "\" runs") != std::string::npos)
      findings.insert(run_of(*place.file, place.call, name, place.call.text));
  }
}

} // namespace xaas::project
