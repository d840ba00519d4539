// Checks the findings with CMake itself: the cache has the values and choices of options, and the trace has
// the file and line that made each entry. Entries of find_library() and the like are not in the trace as
// option() or set(). They are left out, because they say where something is.
#include "readers/cmake/values.h"

#include <xaas/base/process.h>
#include <xaas/base/stopwatch.h>
#include <xaas/base/text.h>
#include <xaas/discover/findings.h>

#include <algorithm>
#include <fstream>
#include <unordered_map>

namespace xaas::discover {

namespace {

struct CacheEntry {
  std::string type, value, help;
  std::vector<std::string> values;
  bool advanced = false;
};
using Cache = std::map<std::string, CacheEntry>;

// CMakeCache.txt: "//help" lines, then NAME:TYPE=VALUE; NAME-STRINGS and NAME-ADVANCED are properties.
Cache read_cache(const std::string& text) {
  Cache cache;
  std::string help;
  const auto property = [&](const std::string& name, const char* ending) -> CacheEntry* {
    if (!name.ends_with(ending))
      return nullptr;
    const auto found = cache.find(name.substr(0, name.size() - std::string_view(ending).size()));
    return found == cache.end() ? nullptr : &found->second;
  };
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("//")) {
      help += line.substr(2);
      continue;
    }
    const size_t equal = line.find('='), colon = line.rfind(':', equal);
    if (line.empty() || line[0] == '#' || equal == std::string::npos || colon == std::string::npos) {
      help.clear();
      continue;
    }
    const std::string name = line.substr(0, colon), type = line.substr(colon + 1, equal - colon - 1),
                      value = line.substr(equal + 1);
    if (CacheEntry* const entry = property(name, "-STRINGS"); entry && type == "INTERNAL")
      entry->values = split(value, ';');
    else if (CacheEntry* const other = property(name, "-ADVANCED"); other && type == "INTERNAL")
      other->advanced = value == "1";
    else
      cache[name] = {type, value, help, {}, false};
    help.clear();
  }
  return cache;
}

// The places in the project where cache entries are made, from the trace of option() and set(CACHE).
std::unordered_map<std::string, Place> places_of(const fs::path& trace, const fs::path& tree) {
  std::unordered_map<std::string, Place> places;
  std::ifstream stream(trace);
  const std::string inside = tree.string() + "/";
  for (std::string line; std::getline(stream, line);) {
    // A trace may have a million lines, few of which matter.
    if (line.find("\"cmd\":\"option\"") == std::string::npos &&
        (line.find("\"cmd\":\"set\"") == std::string::npos || line.find("\"CACHE\"") == std::string::npos))
      continue;
    const Result<Json> json = parse_json(line, trace.string());
    if (!json || !json->is_object() || !json->contains("args"))
      continue;
    const Json& arguments = (*json)["args"];
    if (!arguments.is_array() || arguments.empty() || !arguments[0].is_string())
      continue;
    const std::string file = json->value("file", "");
    if (file.starts_with(inside))
      places.emplace(arguments[0].get<std::string>(),
                     Place{file.substr(inside.size()), json->value("line", 0U)});
  }
  return places;
}

bool is_true(const std::string& value) {
  return truth_of_constant(value) == Truth::yes;
}

Option option_of(const std::string& name, const CacheEntry& entry, const Place& place) {
  Option option;
  option.name = name;
  option.help = entry.help;
  option.place = place;
  option.internal = entry.advanced;
  option.kind = entry.type == "BOOL"   ? Option::Kind::boolean
                : entry.values.empty() ? Option::Kind::text
                                       : Option::Kind::choice;
  option.values = entry.values;
  option.takes_place = entry.type == "PATH" || entry.type == "FILEPATH";
  option.initial = entry.type == "BOOL" ? is_true(entry.value) ? "ON" : "OFF" : entry.value;
  return option;
}

void complete(Findings& findings, const Cache& cache, const std::unordered_map<std::string, Place>& places,
              const std::vector<std::string>& arguments) {
  Configured& report = *findings.configured;
  std::set<std::string> known;
  for (Option& option : findings.options) {
    known.insert(option.name);
    const auto found = cache.find(option.name);
    if (found == cache.end() || found->second.type == "UNINITIALIZED") {
      ++report.not_reached;
      continue;
    }
    ++report.confirmed;
    const CacheEntry& entry = found->second;
    option.configured = entry.value;
    option.internal |= entry.advanced;
    if (option.values.empty() && !entry.values.empty()) {
      option.kind = Option::Kind::choice;
      option.values = entry.values;
    }
    // Values that reading could not tell and that nobody set for this run.
    const bool given = std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
      return argument.starts_with("-D" + option.name + "=") || argument.starts_with("-D" + option.name + ":");
    });
    if (!option.initial && !given)
      option.initial =
          option.kind == Option::Kind::boolean ? is_true(entry.value) ? "ON" : "OFF" : entry.value;
  }
  for (const auto& [name, entry] : cache) {
    const auto place = places.find(name);
    if (known.count(name) || place == places.end() || name.starts_with("CMAKE_") ||
        entry.type == "INTERNAL" || entry.type == "STATIC" || entry.type == "UNINITIALIZED")
      continue;
    Option option = option_of(name, entry, place->second);
    option.configured = entry.value;
    findings.options.push_back(std::move(option));
    ++report.added;
  }
}

} // namespace

constexpr uint64_t largest_log = 256u << 20, largest_trace = uint64_t(8) << 30;

Result<void> configure_tree(const fs::path& tree, const std::vector<std::string>& arguments,
                            Findings& findings) {
  if (findings.system != spec::BuildSystem::cmake)
    return make_error(ErrorKind::usage,
                      "source tree " + tree.string() + ": only a build with CMake can be configured here",
                      "leave out --configure");
  std::error_code code;
  const fs::path source = fs::canonical(tree, code) / findings.directory;
  if (code)
    return errno_error(code.value(), "source tree " + tree.string());
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  const fs::path trace = directory.path() / "trace.json", build = directory.path() / "build";
  Command command;
  command.arguments = {"cmake", "-S", source.string(), "-B", build.string(), "-DCMAKE_BUILD_TYPE=Release"};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  for (const std::string& option : {std::string("--trace-expand"), std::string("--trace-format=json-v1"),
                                    "--trace-redirect=" + trace.string()})
    command.arguments.push_back(option);
  command.output = directory.path() / "log";
  command.watch = [&]() -> Result<void> {
    std::error_code ignored;
    const bool large =
        (fs::exists(*command.output, ignored) && fs::file_size(*command.output, ignored) > largest_log) ||
        (fs::exists(trace, ignored) && fs::file_size(trace, ignored) > largest_trace);
    if (large)
      return make_error(ErrorKind::failed,
                        "configuring " + tree.string() + ": the output of cmake is too long");
    return {};
  };
  const Stopwatch watch;
  XAAS_TRY(const ProcessResult result, run_process(command));
  if (result.exit_code != 0) {
    XAAS_TRY(const std::string log, read_file(*command.output, 2 * largest_log));
    const std::string end = log.substr(log.size() > 2000 ? log.size() - 2000 : 0);
    return make_error(ErrorKind::failed,
                      "configuring " + tree.string() + ": cmake ended with " +
                          std::to_string(result.exit_code) + "; its last output:\n" + trim(end),
                      "without --configure, no part of the project runs");
  }
  XAAS_TRY(const std::string cache, read_file(build / "CMakeCache.txt", 64u << 20));
  findings.configured = Configured();
  complete(findings, read_cache(cache), places_of(trace, fs::canonical(tree, code)), arguments);
  findings.configured->seconds = watch.seconds().wall;
  return {};
}

} // namespace xaas::discover
