#include "knowledge.h"

#include <xaas/base/text.h>
#include <xaas/target/architectures.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace xaas::discover {

std::string_view discovery_knowledge(); // specs/discovery.json

namespace {

std::set<std::string> set_of(const Json& json) {
  return json.get<std::set<std::string>>();
}

bool are_features(const std::string& arch, const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const auto& name) { return target::is_feature(arch, name); });
}

Choice::Group group_of(const std::string& name) {
  if (name == "gpu")
    return Choice::Group::gpu;
  if (name == "linear-algebra")
    return Choice::Group::linear_algebra;
  return name == "fft" ? Choice::Group::fft : Choice::Group::parallel;
}

} // namespace

Knowledge::Knowledge() {
  const Json json = Json::parse(discovery_knowledge(), nullptr, true, true);
  neutral_ = set_of(json["neutral"]);
  where_ = set_of(json["where"]);
  own_ = set_of(json["own"]);
  off_values_ = set_of(json["off_values"]);
  neutral_values_ = set_of(json["neutral_values"]);
  compilers_ = set_of(json["other_compilers"]);
  choice_words_ = set_of(json["choice_words"]);
  developer_words_ = set_of(json["developer_words"]);
  bundled_directories_ = set_of(json["bundled_directories"]);
  assembly_words_ = set_of(json["assembly_words"]);
  for (const Json& item : json["libraries_with_gpus"])
    for (const Json& words : item["words"])
      libraries_with_gpus_[words.get<std::string>()] = item["provides"].get<std::vector<std::string>>();
  for (const Json& item : json["entries"]) {
    Entry entry;
    entry.name = item["name"];
    entry.category = item["category"];
    entry.group = group_of(item["group"]);
    entry.built_in = item.value("built_in", false);
    entry.is_everywhere = item.value("everywhere", false);
    entry.is_one_vendors = item.value("one_vendors", false);
    entry.is_headers = item.value("headers", false);
    entry.is_layer = item.value("layer", false);
    if (item.contains("requires")) {
      const Json gpu = item["requires"]["gpu"];
      entry.needs.gpu = spec::Requirement::Gpu{gpu.value("vendor", ""), "", ""};
    }
    for (const Json& words : item["words"])
      by_words_[words.get<std::string>()].push_back({entries_.size(), false});
    if (item.contains("value_words"))
      for (const Json& words : item["value_words"])
        by_words_[words.get<std::string>()].push_back({entries_.size(), true});
    entries_.push_back(std::move(entry));
  }
  for (const Json& item : json["simd"]) {
    SimdEntry entry;
    if (item.contains("requires"))
      entry.features = item["requires"].get<std::vector<std::string>>();
    entry.arch = item.value("arch", "");
    entry.is_vector = !item.value("beside", false);
    for (const std::string& arch : target::architectures())
      if (entry.arch.empty() && !entry.features.empty() && are_features(arch, entry.features))
        entry.arch = arch;
    for (const Json& words : item["words"])
      simd_[words.get<std::string>()] = entry;
  }
  for (const Json& item : json["precision"])
    for (const Json& words : item["words"])
      precision_[words.get<std::string>()] = item["name"];
}

const Knowledge& Knowledge::get() {
  static const Knowledge knowledge;
  return knowledge;
}

std::vector<std::string> Knowledge::words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      words.back().push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    else if (!words.back().empty())
      words.emplace_back();
  if (words.back().empty())
    words.pop_back();
  return words;
}

std::string Knowledge::key(const std::vector<std::string>& words) const {
  std::vector<std::string> kept;
  for (const std::string& word : words)
    if (!neutral_.count(word))
      kept.push_back(word);
  return join(kept, " ");
}

const Entry* Knowledge::entry(const std::vector<std::string>& words,
                              std::optional<Choice::Group> group) const {
  // "multithreading" and "parallel" are neutral next to a name, but "thread mpi" is a name.
  for (const std::string& text : {join(words, " "), key(words)}) {
    const auto found = by_words_.find(text);
    if (found == by_words_.end())
      continue;
    for (const Meaning& meaning : found->second)
      if (group ? entries_[meaning.entry].group == *group : !meaning.as_value)
        return &entries_[meaning.entry];
  }
  return nullptr;
}

const SimdEntry* Knowledge::simd(const std::vector<std::string>& words) const {
  for (const std::string& text : {join(words, " "), key(words)})
    if (const auto found = simd_.find(text); found != simd_.end())
      return &found->second;
  for (const auto& part : {words, split(key(words), ' ')})
    if (const SimdEntry* const found = InstructionSets::get().find(part))
      return found;
  return nullptr;
}

const SimdEntry* Knowledge::simd_value(const std::vector<std::string>& words) const {
  const SimdEntry* const found = simd(words);
  return found ? found : InstructionSets::get().find_cpu(join(words, ""));
}

bool Knowledge::can_require(const SimdEntry& simd) {
  return simd.arch.empty() || (!simd.features.empty() && are_features(simd.arch, simd.features));
}

std::string Knowledge::precision(const std::vector<std::string>& words) const {
  const auto found = precision_.find(key(words));
  return found == precision_.end() ? "" : found->second;
}

bool Knowledge::is_off(const std::string& value) const {
  return value.empty() || off_values_.count(to_lower(value));
}
bool Knowledge::is_neutral_value(const std::string& value) const {
  return is_off(value) || neutral_values_.count(to_lower(value));
}
bool Knowledge::may_name_a_choice(const std::vector<std::string>& words) const {
  return std::all_of(words.begin(), words.end(), [this](const auto& word) {
    return neutral_.count(word) || choice_words_.count(word) || by_words_.count(word) || simd_.count(word);
  });
}
bool Knowledge::is_for_developers(const std::vector<std::string>& words) const {
  return std::any_of(words.begin(), words.end(),
                     [this](const auto& word) { return developer_words_.count(word) > 0; });
}
bool Knowledge::is_bundled(const std::string& directory) const {
  return bundled_directories_.count(directory) > 0;
}
const std::vector<std::string>* Knowledge::gpus_of_library(const std::vector<std::string>& words) const {
  const auto found = libraries_with_gpus_.find(key(words));
  return found == libraries_with_gpus_.end() ? nullptr : &found->second;
}
bool Knowledge::is_other_compiler(const std::vector<std::string>& words) const {
  return std::any_of(words.begin(), words.end(),
                     [this](const auto& word) { return compilers_.count(word) > 0; });
}
bool Knowledge::has_own_word(const std::vector<std::string>& words) const {
  return std::any_of(words.begin(), words.end(), [this](const auto& word) { return own_.count(word) > 0; });
}
bool Knowledge::has_where_word(const std::vector<std::string>& words) const {
  return std::any_of(words.begin(), words.end(), [this](const auto& word) { return where_.count(word) > 0; });
}
bool Knowledge::is_assembly(const std::vector<std::string>& words) const {
  return !words.empty() && assembly_words_.count(words.back());
}
std::vector<std::string> Knowledge::telling(const std::vector<std::string>& words) const {
  std::vector<std::string> kept = words;
  std::erase_if(kept, [this](const std::string& word) { return neutral_.count(word) > 0; });
  return kept.empty() ? words : kept;
}
std::vector<std::string> Knowledge::without(const std::vector<std::string>& words, bool own,
                                            bool where) const {
  std::vector<std::string> kept;
  for (const std::string& word : words)
    if (!(own && own_.count(word)) && !(where && where_.count(word)))
      kept.push_back(word);
  return kept;
}

} // namespace xaas::discover
