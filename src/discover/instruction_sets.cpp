#include "instruction_sets.h"

#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cctype>

namespace xaas::discover {

std::string_view instruction_set_names(); // specs/instruction-sets.json

namespace {

std::string compact(const std::string& name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      text.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  return text;
}

} // namespace

InstructionSets::InstructionSets() {
  const Json json = Json::parse(instruction_set_names(), nullptr, true, true);
  for (const Json& item : json["architectures"]) {
    Architecture architecture;
    architecture.name = item["name"];
    architecture.words = item["words"].get<std::set<std::string>>();
    architecture.words.insert(compact(architecture.name));
    architecture.vector = item["vector"].get<std::set<std::string>>();
    architecture.scalar = item["scalar"].get<std::set<std::string>>();
    architecture.with_word = item["with_word"].get<std::set<std::string>>();
    architecture.other = item["other"].get<std::vector<std::string>>();
    for (const bool vector : {true, false})
      for (const std::string& name : vector ? architecture.vector : architecture.scalar)
        add(architecture, name, {{name}, architecture.name, vector});
    if (item.contains("synonyms"))
      for (const auto& [name, features] : item["synonyms"].items())
        add(architecture, name, {features.get<std::vector<std::string>>(), architecture.name});
    for (const std::string& cpu : target::cpu_names(architecture.name)) {
      SimdEntry entry{{}, architecture.name};
      if (const auto features = target::features_of(architecture.name, cpu); features)
        for (const std::string& feature : *features)
          if (architecture.vector.contains(feature))
            entry.features.push_back(feature);
      cpus_.emplace(compact(cpu), std::move(entry));
    }
    architectures_.push_back(std::move(architecture));
  }
}

void InstructionSets::add(const Architecture& architecture, const std::string& name, SimdEntry entry) {
  // What LLVM still marks as an experiment has its final name without the mark.
  static const std::string experiment = "experimental-";
  if (name.starts_with(experiment) && !architecture.with_word.contains(name))
    add(architecture, name.substr(experiment.size()), entry);
  if (!architecture.with_word.contains(name))
    by_name_[compact(name)].emplace("", entry); // of two architectures, that of the first in the file
  by_name_[compact(name)].emplace(architecture.name, std::move(entry));
}

const InstructionSets& InstructionSets::get() {
  static const InstructionSets sets;
  return sets;
}

const SimdEntry* InstructionSets::find_cpu(const std::string& name) const {
  const auto found = cpus_.find(name);
  return found == cpus_.end() || found->second.features.empty() ? nullptr : &found->second;
}

const SimdEntry* InstructionSets::find_in(const std::string& architecture, const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end())
    return nullptr;
  const auto entry = found->second.find(architecture);
  return entry == found->second.end() ? nullptr : &entry->second;
}

const SimdEntry* InstructionSets::find(std::vector<std::string> words) const {
  if (words.empty())
    return nullptr;
  if (const SimdEntry* const entry = find_in("", join(words, "")))
    return entry;
  // "ARM_NEON", "NEON_ARM64": the architecture comes first or last.
  if (words.size() < 2)
    return nullptr;
  for (const bool first : {true, false}) {
    const std::string word = first ? words.front() : words.back();
    const std::vector<std::string> rest(words.begin() + (first ? 1 : 0), words.end() - (first ? 0 : 1));
    for (const Architecture& architecture : architectures_)
      if (architecture.words.contains(word))
        if (const SimdEntry* const entry = find_in(architecture.name, join(rest, "")))
          return entry;
  }
  return nullptr;
}

} // namespace xaas::discover
