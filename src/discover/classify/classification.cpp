#include "classify/classification.h"

#include "classify/typing.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>

namespace xaas::discover {

namespace {

using Words = Classification::Words;

// The project's prefix: its name if options begin with it, else the words that most options begin with.
Words project_prefix(const Findings& findings) {
  std::vector<Words> names;
  for (const Option& option : findings.options)
    names.push_back(Knowledge::words_of(option.name));
  const auto begins = [](const Words& words, const Words& prefix) {
    return words.size() > prefix.size() && std::equal(prefix.begin(), prefix.end(), words.begin());
  };
  if (const Words name = Knowledge::words_of(findings.name); !name.empty() && name.size() <= 3)
    for (const Words& words : names)
      if (begins(words, name))
        return name;
  Words prefix;
  for (int depth = 0; depth < 2; ++depth) {
    std::map<std::string, size_t> times; // of the word after the prefix
    size_t with_prefix = 0;
    for (const Words& words : names)
      if (words.size() > prefix.size() + 1 && begins(words, prefix)) {
        ++with_prefix;
        ++times[words[prefix.size()]];
      }
    const auto best = std::max_element(times.begin(), times.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    // "enable" and "with" are not prefixes: options of configure and Meson begin with them.
    static const std::set<std::string> verbs = {"enable", "with", "use", "build", "tpl", "have"};
    constexpr size_t fewest = 3;
    if (best == times.end() || best->second < fewest || verbs.count(best->first) ||
        Knowledge::get().entry({best->first}) ||
        best->second * 5 < (depth == 0 ? names.size() * 2 : with_prefix * 4))
      break;
    prefix.push_back(best->first);
  }
  return prefix;
}

} // namespace

Classification::Classification(const Findings& found)
    : findings(found), knowledge(Knowledge::get()), system(found.system.value_or(spec::BuildSystem::make)),
      prefix_(project_prefix(found)) {
  for (const Option& option : findings.options)
    by_name_[option.name] = &option;
  for (const Option& option : findings.options)
    if (option.kind != Option::Kind::text) {
      const Words words = words_of(option.name);
      const SimdEntry* const simd = knowledge.simd(words);
      has_vector_switch_ |= simd && simd->is_vector && !simd->arch.empty();
      has_assembly_switch_ |= !simd && knowledge.is_assembly(words);
    }
  for (const Package& package : findings.packages)
    if (const Entry* const entry = knowledge.entry(Knowledge::words_of(package.name)))
      for (const std::string& condition : package.conditions)
        for (const Option* option : options_in(condition))
          searchers_[entry].insert(option);
}

Words Classification::words_of(const std::string& name) const {
  Words words = Knowledge::words_of(name);
  if (words.size() > prefix_.size() && std::equal(prefix_.begin(), prefix_.end(), words.begin()))
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(prefix_.size()));
  if (const size_t negation = negation_in(words); negation < words.size())
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(negation) + 1);
  return words;
}

Choice& Classification::choice(Choice::Group group, const std::string& name) {
  for (Choice& known : discovery.choices)
    if (known.group == group && to_lower(known.name) == to_lower(name))
      return known;
  Choice added;
  added.group = group;
  added.name = name;
  discovery.choices.push_back(std::move(added));
  return discovery.choices.back();
}

std::string Classification::free_name(std::string name) const {
  std::string clean;
  for (const char c : to_lower(std::move(name)))
    clean.push_back(std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '+' ? c
                                                                                                    : '-');
  clean.erase(0, std::min(clean.find_first_not_of("-._+"), clean.size()));
  const bool taken = std::any_of(discovery.points.begin(), discovery.points.end(),
                                 [&](const auto& other) { return other.point.name == clean; });
  return taken || clean == "isa" ? std::string() : clean;
}

DiscoveredPoint* Classification::add_point(const Option& option, const std::string& name,
                                           const std::string& category, const spec::Requirement& needs) {
  DiscoveredPoint found;
  found.option = option.name;
  found.evidence = {option.place};
  found.point.name = free_name(name);
  if (found.point.name.empty())
    return nullptr;
  found.point.category = category;
  found.point.values = {{"off", arguments_of(system, option, false), {}},
                        {"on", arguments_of(system, option, true), needs}};
  found.point.default_ = has_by_default(option) ? "on" : "off";
  if (!option.initial || *option.initial == "auto") {
    // The build decides by what it finds.
    found.point.values.insert(found.point.values.begin(), spec::Value{"auto", {}, {}});
    found.point.default_ = "auto";
  }
  discovery.points.push_back(std::move(found));
  return &discovery.points.back();
}

bool Classification::is_project(const Entry& entry) const {
  return knowledge.entry(Knowledge::words_of(findings.name)) == &entry;
}

std::vector<const Option*> Classification::options_in(const std::string& condition) const {
  std::vector<const Option*> options;
  std::string word;
  for (const char c : condition + " ")
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
        (c == '-' && system == spec::BuildSystem::autotools)) {
      word.push_back(c);
    } else {
      if (const auto found = by_name_.find(word); found != by_name_.end())
        options.push_back(found->second);
      word.clear();
    }
  return options;
}

bool Classification::searches(const Option& option, const Entry& entry) const {
  const auto found = searchers_.find(&entry);
  return found != searchers_.end() && found->second.count(&option);
}

size_t negation_in(const Words& words) {
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "no" || words[i] == "without" || words[i] == "disable" || words[i] == "dont")
      return i;
  return words.size();
}

Words without_neutral(const Words& words) {
  Words kept;
  for (const std::string& word : words)
    if (word != "enable" && word != "with" && word != "use" && word != "kernels" && word != "have")
      kept.push_back(word);
  return kept;
}

} // namespace xaas::discover
