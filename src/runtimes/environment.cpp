#include <xaas/runtimes/environment.h>

#include <xaas/base/text.h>

#include <xaas/runtimes/knowledge.h>

#include <algorithm>
#include <fnmatch.h>

namespace xaas::runtimes {

bool matches(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&name](const std::string& pattern) {
    return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

std::map<std::string, std::string> environment_of(const std::map<std::string, std::string>& host,
                                                  const std::vector<std::string>& image,
                                                  const std::map<std::string, std::string>& own,
                                                  const std::function<bool(const std::string&)>& visible) {
  const Knowledge& knowledge = Knowledge::get();
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : host) {
    const bool withheld = matches(name, knowledge.withheld);
    const bool directory = std::find(knowledge.directories.begin(), knowledge.directories.end(), name) !=
                           knowledge.directories.end();
    if (!withheld && (!directory || visible(value)))
      environment[name] = value;
  }
  for (auto& [name, value] : variables_of(image))
    environment[name] = std::move(value);
  for (const auto& [name, value] : own)
    environment[name] = value;
  environment.try_emplace("PATH", knowledge.path);
  environment.try_emplace("HOME", "/"); // as Docker does for a user that the image does not know
  return environment;
}

bool is_variable_name(const std::string& name) {
  return !name.empty() && !is_digit(name.front()) && std::all_of(name.begin(), name.end(), is_word_character);
}

} // namespace xaas::runtimes
