#include "check.h"
#include "schema.h"

#include <xaas/base/text.h>
#include <xaas/spec/application.h>
#include <xaas/target/cpu.h>

#include <algorithm>

namespace xaas::spec {

bool Requirement::empty() const {
  return cpu.empty() && !gpu && mpi.empty() && libraries.empty() && values.empty();
}

const Value* SpecializationPoint::find(const std::string& value) const {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const Value& candidate) { return candidate.value == value; });
  return found == values.end() ? nullptr : &*found;
}

std::string to_string(BuildSystem system) {
  switch (system) {
  case BuildSystem::cmake:
    return "cmake";
  case BuildSystem::autotools:
    return "autotools";
  case BuildSystem::make:
    return "make";
  case BuildSystem::meson:
    return "meson";
  case BuildSystem::commands:
    break;
  }
  return "commands";
}

const std::string* Configuration::find(const std::string& point) const {
  const auto found = values_.find(point);
  return found == values_.end() ? nullptr : &found->second;
}

std::string Configuration::id() const {
  std::vector<std::string> parts;
  for (const auto& [point, value] : values_)
    parts.push_back(point + "=" + value);
  return parts.empty() ? "default" : join(parts, ",");
}

SpecializationPoint isa_point(const std::vector<std::string>& levels) {
  SpecializationPoint point{"isa", "cpu", levels.empty() ? "" : levels.front(), {}, {}};
  for (const std::string& level : levels) {
    Value value{level, {}, {}};
    value.requires_.cpu = {level};
    point.values.push_back(std::move(value));
  }
  return point;
}

// True if the CPU requirement of a value fits this architecture. check() reports words that fit none.
static bool is_for(const std::string& arch, const Requirement& required) {
  return std::all_of(required.cpu.begin(), required.cpu.end(), [&](const std::string& word) {
    return target::is_feature(arch, word) || target::features_of(arch, word);
  });
}

// The point without the values of other architectures.
static SpecializationPoint of_architecture(SpecializationPoint point, const std::string& arch) {
  std::erase_if(point.values, [&](const Value& value) { return !is_for(arch, value.requires_); });
  for (Preference& preference : point.prefer)
    std::erase_if(preference.values, [&](const std::string& value) { return !point.find(value); });
  std::erase_if(point.prefer, [](const Preference& preference) { return preference.values.empty(); });
  if (!point.default_.empty() && !point.find(point.default_))
    point.default_ = point.values.empty() ? "" : point.values.front().value;
  return point;
}

Result<std::vector<SpecializationPoint>> all_points(const Application& application, const std::string& arch,
                                                    const std::vector<std::string>& isa_override) {
  const std::vector<std::string> known = target::isa_levels(arch);
  for (const std::string& level : isa_override)
    if (std::find(known.begin(), known.end(), level) == known.end()) {
      std::string hint = suggestion(level, known);
      return make_error(ErrorKind::usage, "\"" + level + "\" is not an ISA level of " + arch,
                        hint.empty() ? "known levels: " + join(known, ", ") : hint);
    }
  // Filters the known levels, so the result is ordered weakest first. This also drops the levels of other
  // architectures, which a spec for several architectures lists.
  std::vector<std::string> levels;
  for (const std::string& level : known) {
    const std::vector<std::string>* wanted = !isa_override.empty() ? &isa_override
                                             : application.isa     ? &*application.isa
                                                                   : nullptr;
    if (!wanted || std::find(wanted->begin(), wanted->end(), level) != wanted->end())
      levels.push_back(level);
  }
  std::vector<SpecializationPoint> points;
  for (const SpecializationPoint& each : application.points)
    if (SpecializationPoint point = of_architecture(each, arch); !point.follows_isa && !point.values.empty())
      points.push_back(std::move(point));
  if (!levels.empty())
    points.push_back(isa_point(levels));
  return points;
}

Result<target::Cpu> cpu_of(const Configuration& configuration, const std::string& arch) {
  if (const std::string* const level = configuration.find("isa"))
    return target::cpu_by_name(arch, *level);
  const std::vector<std::string> levels = target::isa_levels(arch);
  return target::cpu_by_name(arch, levels.empty() ? "generic" : levels.front());
}

static bool has_all(const target::Cpu& cpu, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    const Result<std::vector<std::string>> features = target::features_of(cpu.arch, word);
    const std::vector<std::string> needed =
        target::is_feature(cpu.arch, word) || !features ? std::vector<std::string>{word} : *features;
    return target::missing_features(needed, cpu.features).empty();
  });
}

std::vector<std::string> arguments_of(const Application& application, const Configuration& configuration,
                                      const target::Cpu& cpu) {
  std::vector<std::string> arguments = application.build.arguments;
  for (const SpecializationPoint& point : application.points) {
    const std::string* const chosen = configuration.find(point.name);
    const Value* value = chosen ? point.find(*chosen) : nullptr;
    if (point.follows_isa)
      for (const Value& each : point.values)
        if (has_all(cpu, each.requires_.cpu))
          value = &each;
    if (value)
      arguments.insert(arguments.end(), value->arguments.begin(), value->arguments.end());
  }
  return arguments;
}

Result<std::map<std::string, std::string>> parse_assignments(const std::string& text) {
  std::map<std::string, std::string> values;
  for (const std::string& part : split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (key.empty() || value.empty() || value.find('=') != std::string::npos)
      return make_error(ErrorKind::usage, "\"" + text + "\": \"" + part + "\" is not POINT=VALUE",
                        "write POINT=VALUE, or POINT=VALUE,POINT=VALUE");
    if (!values.emplace(key, value).second)
      return make_error(ErrorKind::usage, "\"" + text + "\": " + key + " is given twice");
  }
  if (values.empty())
    return make_error(ErrorKind::usage, "\"" + text + "\" is not POINT=VALUE",
                      "write POINT=VALUE, or POINT=VALUE,POINT=VALUE");
  return values;
}

} // namespace xaas::spec
