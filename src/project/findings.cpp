#include <xaas/project/findings.h>

#include "run_probes.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace xaas::project {

namespace {

struct Sign {
  const char* text;
  Finding::Kind kind;
};

constexpr std::array signs = {
    Sign{"/proc/cpuinfo", Finding::Kind::machine},
    Sign{"lscpu", Finding::Kind::machine},
    Sign{"nproc", Finding::Kind::machine},
    Sign{"uname -p", Finding::Kind::machine},
    Sign{"sysctl hw.", Finding::Kind::machine},
    Sign{"sysctl -n hw.", Finding::Kind::machine},
    Sign{"machdep.cpu", Finding::Kind::machine},
    Sign{"cmake_host_system_information", Finding::Kind::machine},
    Sign{"-march=native", Finding::Kind::native},
    Sign{"-mcpu=native", Finding::Kind::native},
    Sign{"-mtune=native", Finding::Kind::native},
};

// Whether `sign` is in the line as a word of its own.
bool has_sign(std::string_view line, std::string_view sign) {
  for (size_t at = line.find(sign); at != std::string_view::npos; at = line.find(sign, at + 1)) {
    const size_t end = at + sign.size();
    const bool begins = at == 0 || !is_word_character(sign.front()) || !is_word_character(line[at - 1]);
    const bool ends = end == line.size() || !is_word_character(sign.back()) || !is_word_character(line[end]);
    if (begins && ends)
      return true;
  }
  return false;
}

bool is_comment(const std::string& line) {
  const std::string text = trim(line);
  return starts_with(text, "#") || starts_with(text, "dnl ") || starts_with(text, "//");
}

// The number of jobs does not influence what is built.
bool counts_jobs(std::string_view line, std::string_view sign) {
  return sign == "nproc" && line.find("-j") != std::string_view::npos;
}

void scan(const BuildFile& file, std::set<Finding>& findings) {
  const std::vector<std::string> lines = split(file.text, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    if (is_comment(lines[i]))
      continue;
    for (const Sign& sign : signs)
      if (has_sign(lines[i], sign.text) && !counts_jobs(lines[i], sign.text))
        findings.insert({sign.kind, file.name, file.name.empty() ? 0 : i + 1, sign.text, false});
  }
}

// Meson writes -O0 unless somebody chooses a build type. The option in the flags is then nobody's choice.
void find_meson_default(const ConfigurationBuild& build, std::set<Finding>& findings) {
  for (const auto* arguments : {&build.application->build.arguments, &build.arguments})
    for (const std::string& argument : *arguments)
      if (argument.find("buildtype") != std::string::npos ||
          argument.find("optimization") != std::string::npos)
        return;
  const Result<Json> options = read_json(build.build / "meson-info" / "intro-buildoptions.json");
  if (options && options->is_array() && std::any_of(options->begin(), options->end(), [](const Json& option) {
        return option.is_object() && option.value("name", Json()) == "optimization" &&
               option.value("value", Json()) == "0";
      }))
    findings.insert({Finding::Kind::debug, "", 0, "-Dbuildtype=release", false});
}

} // namespace

std::vector<Finding> find_host_dependence(const ConfigurationBuild& build) {
  Findings findings;
  const std::vector<BuildFile> files = build_files(build);
  for (const BuildFile& file : files)
    scan(file, findings);
  const spec::BuildSystem system = build.application->build.system;
  const bool any = system == spec::BuildSystem::commands; // commands may call each of the others
  if (any || system == spec::BuildSystem::cmake)
    find_cmake_runs(build, files, findings);
  if (any || system == spec::BuildSystem::autotools)
    find_autotools_runs(build, files, findings);
  if (any || system == spec::BuildSystem::meson)
    find_meson_runs(build, files, findings);
  if (system == spec::BuildSystem::meson)
    find_meson_default(build, findings);
  return {findings.begin(), findings.end()};
}

} // namespace xaas::project
