#include "classify/typing.h"

#include "classify/classification.h"

#include <xaas/base/text.h>

namespace xaas::discover {

std::string typed(spec::BuildSystem system, const Option& option, const std::string& value) {
  switch (system) {
  case spec::BuildSystem::cmake:
  case spec::BuildSystem::meson:
    return "-D" + option.name + "=" + value;
  case spec::BuildSystem::autotools:
    return "--" + option.name + "=" + value;
  case spec::BuildSystem::make:
  case spec::BuildSystem::commands:
    break;
  }
  return option.name + "=" + value;
}

bool is_negated(const Option& option) {
  const std::vector<std::string> words = Knowledge::words_of(option.name);
  return negation_in(words) < words.size();
}

std::string typed_on(spec::BuildSystem system, const Option& option) {
  if (is_negated(option))
    return arguments_of(system, option, true).front();
  switch (system) {
  case spec::BuildSystem::cmake:
    return "-D" + option.name;
  case spec::BuildSystem::meson:
    return "-D" + option.name + (option.values.empty() ? "=true" : "=enabled");
  case spec::BuildSystem::autotools:
    return "--" + option.name;
  case spec::BuildSystem::make:
  case spec::BuildSystem::commands:
    break;
  }
  return option.name + "=" + (option.values.empty() ? "1" : option.values.front());
}

std::vector<std::string> arguments_of(spec::BuildSystem system, const Option& option, bool with) {
  const bool on = with != is_negated(option);
  switch (system) {
  case spec::BuildSystem::cmake:
    return {"-D" + option.name + (on ? "=ON" : "=OFF")};
  case spec::BuildSystem::meson:
    return {"-D" + option.name +
            (option.values.empty() ? on ? "=true" : "=false"
             : on                  ? "=enabled"
                                   : "=disabled")};
  case spec::BuildSystem::autotools: {
    const size_t dash = option.name.find('-');
    const bool enable = option.name.starts_with("enable");
    return {(on       ? enable ? "--enable" : "--with"
             : enable ? "--disable"
                      : "--without") +
            option.name.substr(dash)};
  }
  case spec::BuildSystem::make:
  case spec::BuildSystem::commands:
    break;
  }
  return {on ? option.name + "=" + (option.values.empty() ? "1" : option.values.front())
          : option.values.size() > 1 ? option.name + "=" + option.values[1]
                                     : option.name + "="};
}

bool has_by_default(const Option& option) {
  return is_on(option) != is_negated(option);
}

bool is_on(const Option& option) {
  const std::string initial = to_lower(option.initial.value_or("on"));
  return initial == "on" || initial == "enabled" || initial == "auto" || initial == "yes" ||
         initial == "true";
}

} // namespace xaas::discover
