// Which options are specialization points.
//
// An option is one if its name, without the project's prefix and words that say nothing ("ENABLE", "USE"), is
// the name of something that the knowledge has, or if at least half of its values are. Names decide and not
// descriptions: a description that mentions CUDA may be about anything. Rejected: a score over many weak
// signs, whose result nobody can predict from the sources.
#include "classify/point_values.h"
#include "classify/typing.h"
#include "knowledge.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>

namespace xaas::discover {

namespace {

using Words = std::vector<std::string>;

// The project's prefix: its name where options begin with it, else words that most of them begin with.
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
    std::map<std::string, size_t> times; // of the word behind the prefix
    size_t with_prefix = 0;
    for (const Words& words : names)
      if (words.size() > prefix.size() + 1 && begins(words, prefix)) {
        ++with_prefix;
        ++times[words[prefix.size()]];
      }
    const auto best = std::max_element(times.begin(), times.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    // configure and Meson name options without one; "enable" and "with" are no prefix.
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

std::string category_of(Choice::Group group) {
  switch (group) {
  case Choice::Group::gpu:
    return "gpu";
  case Choice::Group::linear_algebra:
    return "linear-algebra";
  case Choice::Group::fft:
    return "fft";
  case Choice::Group::simd:
    return "cpu";
  case Choice::Group::parallel:
    break;
  }
  return "threading";
}

class Classifier {
public:
  explicit Classifier(const Findings& findings)
      : findings_(findings), knowledge_(Knowledge::get()), prefix_(project_prefix(findings)),
        system_(findings.system.value_or(spec::BuildSystem::make)) {
    for (const Option& option : findings.options)
      by_name_[option.name] = &option;
    for (const Package& package : findings.packages)
      if (const Entry* const entry = knowledge_.entry(Knowledge::words_of(package.name)))
        for (const std::string& condition : package.conditions)
          for (const Option* option : options_in(condition))
            searchers_[entry].insert(option);
  }

  Discovery run() {
    for (const Option& option : findings_.options)
      if (option.kind == Option::Kind::choice && !is_yes_no_choice(option))
        add_choice(option);
      else
        add_switch(option);
    for (const Package& package : findings_.packages)
      add_package(package);
    for (const Sign& sign : findings_.signs)
      add_sign(sign);
    join_blas_and_lapack();
    follow_gpus();
    find_gpu_switch();
    return std::move(discovery_);
  }

private:
  Words words_of(const std::string& name) const {
    Words words = Knowledge::words_of(name);
    if (words.size() > prefix_.size() && std::equal(prefix_.begin(), prefix_.end(), words.begin()))
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(prefix_.size()));
    return words;
  }

  bool is_yes_no_choice(const Option& option) const {
    return std::all_of(option.values.begin(), option.values.end(),
                       [this](const auto& value) { return knowledge_.is_neutral_value(value); });
  }

  Choice& choice(Choice::Group group, const std::string& name) {
    for (Choice& known : discovery_.choices)
      if (known.group == group && to_lower(known.name) == to_lower(name))
        return known;
    Choice added;
    added.group = group;
    added.name = name;
    discovery_.choices.push_back(std::move(added));
    return discovery_.choices.back();
  }

  // A name for a point: as the schema has names, of no other, and not that of the built-in point.
  std::string free_name(std::string name) const {
    std::string clean;
    for (const char c : to_lower(std::move(name)))
      clean.push_back(std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '+' ? c
                                                                                                      : '-');
    clean.erase(0, std::min(clean.find_first_not_of("-._+"), clean.size()));
    const bool taken = std::any_of(discovery_.points.begin(), discovery_.points.end(),
                                   [&](const auto& other) { return other.point.name == clean; });
    return taken || clean == "isa" ? std::string() : clean;
  }

  void add_point(const Option& option, const std::string& name, const std::string& category,
                 const spec::Requirement& needs) {
    DiscoveredPoint found;
    found.option = option.name;
    found.evidence = {option.place};
    found.point.name = free_name(name);
    if (found.point.name.empty())
      return;
    found.point.category = category;
    found.point.values = {{"off", arguments_of(system_, option, false), {}},
                          {"on", arguments_of(system_, option, true), needs}};
    found.point.default_ = is_on(option) ? "on" : "off";
    if (!option.initial || *option.initial == "auto") {
      // The build decides, as it finds things.
      found.point.values.insert(found.point.values.begin(), spec::Value{"auto", {}, {}});
      found.point.default_ = "auto";
    }
    discovery_.points.push_back(std::move(found));
  }

  static spec::Requirement needs_of(const SimdEntry& simd) {
    spec::Requirement needs;
    needs.cpu = simd.features;
    return needs;
  }

  void add_switch(const Option& option) {
    const Words words = words_of(option.name);
    if (knowledge_.has_own_word(words)) {
      const Entry* const entry = knowledge_.entry(knowledge_.without(words, true, false));
      if (entry && discovery_.own_library.empty() && option.kind == Option::Kind::boolean) {
        discovery_.own_library = entry->name;
        discovery_.own_flag = typed_on(system_, option);
      }
      return;
    }
    if (const SimdEntry* const simd = knowledge_.simd(words); simd && option.kind == Option::Kind::boolean) {
      Choice& known = choice(Choice::Group::simd, display_of(words));
      known.flag = typed_on(system_, option);
      known.by_default = is_on(option);
      known.place = option.place;
      if (simd->arch.empty())
        add_point(option, join(without_neutral(words), "-"), "cpu", needs_of(*simd));
      return;
    }
    if (const std::string precision = knowledge_.precision(words);
        !precision.empty() && option.kind == Option::Kind::boolean) {
      add_point(option, precision, "precision", {});
      return;
    }
    if (const std::vector<std::string>* const models = knowledge_.gpus_of_library(words);
        models && option.kind == Option::Kind::boolean) {
      add_library_with_gpus(option, *models);
      return;
    }
    const Entry* entry = knowledge_.entry(words);
    if (!entry && words.size() > 1) {
      // A prefix of one option alone: a word of the project's name, or what the search for the library says.
      const Entry* const tail = knowledge_.entry({words.begin() + 1, words.end()});
      const Words name = Knowledge::words_of(findings_.name);
      if (tail &&
          (std::find(name.begin(), name.end(), words.front()) != name.end() || searches(option, *tail)))
        entry = tail;
    }
    const bool where = !entry && knowledge_.has_where_word(words);
    if (where)
      entry = knowledge_.entry(knowledge_.without(words, false, true));
    if (!entry)
      return;
    Choice& known = choice(entry->group, entry->name);
    if (known.place.file.empty())
      known.place = option.place;
    known.built_in = entry->built_in;
    if (where || option.takes_place || (option.kind == Option::Kind::text)) {
      // Who is only asked where it is, is used.
      if (known.flag.empty() && entry->group == Choice::Group::parallel)
        known.by_default = true;
      return;
    }
    // Of several, the one on which the search for the library depends.
    const bool better = !known.flag.empty() && searches(option, *entry) && !searched_by_.count(entry) &&
                        !chosen_by_value_.count({known.group, known.name});
    if (!known.flag.empty() && !better)
      return;
    if (searches(option, *entry))
      searched_by_.insert(entry);
    known.flag = typed_on(system_, option);
    // What is for GPUs needs one that is chosen.
    known.by_default = is_on(option) && !(entry->needs.gpu && entry->group != Choice::Group::gpu);
    known.condition = join(option.conditions, " AND ");
    known.place = option.place;
    if (better)
      std::erase_if(discovery_.points,
                    [&](const DiscoveredPoint& point) { return point.point.name == to_lower(entry->name); });
    add_point(option, entry->name, entry->category, entry->needs);
  }

  void add_library_with_gpus(const Option& option, const std::vector<std::string>& models) {
    discovery_.uses_gpus = true;
    for (const std::string& model : models) {
      Choice& known = choice(Choice::Group::gpu, model);
      if (!known.place.file.empty())
        continue;
      known.flag = typed_on(system_, option);
      known.by_default = is_on(option);
      known.place = option.place;
    }
    add_point(option, option.name, "gpu", {});
  }

  // The options that a condition names.
  std::vector<const Option*> options_in(const std::string& condition) const {
    std::vector<const Option*> options;
    std::string word;
    for (const char c : condition + " ")
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word.push_back(c);
      } else {
        if (const auto found = by_name_.find(word); found != by_name_.end())
          options.push_back(found->second);
        word.clear();
      }
    return options;
  }
  bool searches(const Option& option, const Entry& entry) const {
    const auto found = searchers_.find(&entry);
    return found != searchers_.end() && found->second.count(&option);
  }
  // Whether a search happens without any option.
  bool is_unasked(const Package& package) const {
    for (const std::string& condition : package.conditions)
      for (const Option* option : options_in(condition))
        if (option->kind == Option::Kind::boolean &&
            is_on(*option) == (condition.find("NOT") != std::string::npos))
          return false;
    return true;
  }

  Words without_neutral(const Words& words) const {
    Words kept;
    for (const std::string& word : words)
      if (word != "enable" && word != "with" && word != "use" && word != "kernels" && word != "have")
        kept.push_back(word);
    return kept;
  }
  std::string display_of(const Words& words) const { return to_upper(join(without_neutral(words), "-")); }

  // One option with values.
  void add_choice(const Option& option) {
    std::map<Choice::Group, size_t> groups;
    size_t counted = 0, simd = 0;
    for (const std::string& value : option.values) {
      if (knowledge_.is_neutral_value(value))
        continue;
      ++counted;
      const Words words = Knowledge::words_of(plain(value));
      simd += knowledge_.simd(words) != nullptr;
      for (const Choice::Group group :
           {Choice::Group::parallel, Choice::Group::gpu, Choice::Group::linear_algebra, Choice::Group::fft})
        groups[group] += knowledge_.entry(words, group) != nullptr;
    }
    const Words words = words_of(option.name);
    // What the option is called weighs as much as a value.
    const bool fft = std::find(words.begin(), words.end(), "fft") != words.end();
    groups[Choice::Group::fft] += fft ? groups[Choice::Group::linear_algebra] : 0;
    if (fft && groups[Choice::Group::fft] > 0)
      groups[Choice::Group::fft] = std::max(groups[Choice::Group::fft], counted);
    Choice::Group group = Choice::Group::simd;
    size_t best = simd;
    for (const auto& [each, count] : groups)
      if (count > best)
        group = each, best = count;
    add_simd_among_others(option);
    if (add_precision_choice(option))
      return;
    // Instruction sets alone name a choice whatever it is called.
    const bool only_simd = simd == counted && counted >= 3;
    if (best == 0 || best * 2 < counted || !(only_simd || knowledge_.may_name_a_choice(words)))
      return;
    if (std::find(words.begin(), words.end(), "gpu") != words.end() && !fft)
      group = Choice::Group::gpu;
    // The backends of a library are its own business.
    if (group == Choice::Group::gpu && names_a_library(words))
      return;
    DiscoveredPoint found;
    found.option = option.name;
    found.evidence = {option.place};
    found.point.name = free_name(join(words, "-"));
    found.point.category = category_of(group);
    for (const std::string& value : option.values)
      add_value(option, value, group, found.point);
    if (found.point.name.empty() || found.point.values.empty())
      return;
    if (group == Choice::Group::simd)
      order_by_strength(found.point.values);
    if (add_none(found.point)) {
      discovery_.points.push_back(std::move(found));
      return;
    }
    if (found.point.values.size() < 2)
      return; // nothing to choose
    if (option.initial && found.point.find(plain(*option.initial)))
      found.point.default_ = plain(*option.initial);
    else if (!found.point.values.empty())
      found.point.default_ = found.point.values.front().value;
    discovery_.points.push_back(std::move(found));
  }

  bool names_a_library(const Words& words) const {
    return std::any_of(words.begin(), words.end(), [this](const std::string& word) {
      return knowledge_.entry({word}, Choice::Group::linear_algebra) ||
             knowledge_.entry({word}, Choice::Group::fft);
    });
  }

  // A data type that is the vector of the machine: "float double simd".
  void add_simd_among_others(const Option& option) {
    for (const std::string& value : option.values)
      if (to_lower(value) == "simd") {
        Choice& known = choice(Choice::Group::simd, "SIMD");
        known.flag = typed(system_, option, value);
        known.by_default = option.initial == value;
        known.place = option.place;
      }
  }

  // At least two values that are precisions, and half of them.
  bool add_precision_choice(const Option& option) {
    size_t known = 0;
    for (const std::string& value : option.values)
      known += !knowledge_.precision(Knowledge::words_of(value)).empty();
    if (known < 2 || known * 2 < option.values.size())
      return false;
    DiscoveredPoint found;
    found.option = option.name;
    found.evidence = {option.place};
    found.point.name = free_name(join(words_of(option.name), "-"));
    found.point.category = "precision";
    for (const std::string& value : option.values)
      if (is_value(value) && !found.point.find(value))
        found.point.values.push_back({value, {typed(system_, option, value)}, {}});
    if (found.point.name.empty() || found.point.values.empty())
      return false;
    found.point.default_ = option.initial && found.point.find(*option.initial)
                               ? *option.initial
                               : found.point.values.front().value;
    discovery_.points.push_back(std::move(found));
    return true;
  }

  // "fftpack[built-in]" is typed and known as "fftpack".
  static std::string plain(const std::string& value) { return value.substr(0, value.find('[')); }

  void add_value(const Option& option, const std::string& value, Choice::Group group,
                 spec::SpecializationPoint& point) {
    const Words words = Knowledge::words_of(plain(value));
    const Entry* entry = knowledge_.entry(words, group);
    if (!entry && group == Choice::Group::gpu) // OpenMP among GPUs is that of GPUs
      entry = knowledge_.entry(Knowledge::words_of(plain(value) + " offload"), group);
    spec::Value added;
    added.value = plain(value);
    added.arguments = {typed(system_, option, plain(value))};
    if (const SimdEntry* const simd = knowledge_.simd(words); simd && group == Choice::Group::simd) {
      if (!simd->arch.empty())
        added.arguments.clear(); // of another architecture
      else
        added.requires_.cpu = simd->features;
    }
    if (entry)
      added.requires_ = entry->needs;
    if (!added.arguments.empty() && is_value(added.value) && !point.find(added.value))
      point.values.push_back(added);
    const bool named = group == Choice::Group::simd || group == Choice::Group::fft || entry ||
                       !knowledge_.is_neutral_value(value);
    if (!named || (group != Choice::Group::simd && group != Choice::Group::fft && knowledge_.is_off(value)))
      return;
    Choice& known = choice(group, entry && group != Choice::Group::fft ? entry->name : value);
    chosen_by_value_.insert({known.group, known.name});
    known.flag = typed(system_, option, value);
    const bool built_in = is_built_in(value) || (entry && entry->built_in);
    known.by_default = option.initial && (*option.initial == value || *option.initial == plain(value) ||
                                          (is_built_in(value) && to_lower(*option.initial) == "auto"));
    known.built_in |= built_in;
    known.condition = join(option.conditions, " AND ");
    known.place = option.place;
  }

  static bool is_built_in(const std::string& value) {
    const std::string word = to_lower(value);
    return word.find("built-in") != std::string::npos || word.find("builtin") != std::string::npos ||
           word.find("built_in") != std::string::npos;
  }

  // A library that is looked for. It has no switch of its own, or the option that its search depends on.
  void add_package(const Package& package) {
    const Words words = Knowledge::words_of(package.name);
    discovery_.uses_gpus |= knowledge_.gpus_of_library(words) != nullptr;
    const Entry* const entry = knowledge_.entry(words);
    if (!entry)
      return;
    for (Choice& known : discovery_.choices)
      if (to_lower(known.name) == to_lower(entry->name) ||
          (known.group == Choice::Group::fft && to_lower(known.name).starts_with(to_lower(entry->name)))) {
        if (known.version.empty())
          known.version = package.version;
        return;
      }
    if (entry->group == Choice::Group::gpu || entry->group == Choice::Group::parallel) {
      // One that is looked for only if some option asks for it is that option's business.
      if (const Option* const asker = only_asker(package)) {
        Choice& known = choice(entry->group, entry->name);
        known.flag = typed_on(system_, *asker);
        known.by_default = is_on(*asker) && !entry->needs.gpu;
        known.version = package.version;
        known.place = asker->place;
        add_point(*asker, entry->name, entry->category, entry->needs);
        return;
      }
      if (!is_unasked(package) || entry->is_everywhere)
        return;
    }
    Choice& known = choice(entry->group, entry->name);
    known.version = package.version;
    known.place = package.place;
    // Of several vendors' one library any will do.
    known.by_default = is_unasked(package) && !entry->needs.gpu && !entry->is_one_vendors;
    known.condition = join(package.conditions, " AND ");
  }

  // The boolean option without which it is not looked for, if it is one alone and for users. What holds
  // without any option is no obstacle.
  const Option* only_asker(const Package& package) const {
    std::set<const Option*> askers;
    for (const std::string& condition : package.conditions)
      for (const Option* option : options_in(condition)) {
        const bool negated = condition.find("NOT") != std::string::npos;
        if (negated && option->kind == Option::Kind::boolean && !is_on(*option))
          continue;
        if (option->kind != Option::Kind::boolean || negated ||
            knowledge_.is_for_developers(words_of(option->name)))
          return nullptr;
        if (!knowledge_.has_own_word(words_of(option->name)))
          askers.insert(option);
      }
    return askers.size() == 1 ? *askers.begin() : nullptr;
  }

  // A programming model of GPUs that sources use, and that no option and no search is about: it is always
  // there.
  void add_sign(const Sign& sign) {
    const Entry* const entry = knowledge_.entry(Knowledge::words_of(sign.name), Choice::Group::gpu);
    const auto is_gpu = [](const Choice& choice) { return choice.group == Choice::Group::gpu; };
    if (!entry || std::any_of(discovery_.choices.begin(), discovery_.choices.end(), is_gpu))
      return;
    Choice& known = choice(Choice::Group::gpu, entry->name);
    known.by_default = true;
    known.place = sign.place;
  }

  // Two that are needed together are one.
  void join_blas_and_lapack() {
    const auto find = [this](const std::string& name) {
      return std::find_if(discovery_.choices.begin(), discovery_.choices.end(), [&](const Choice& choice) {
        return choice.group == Choice::Group::linear_algebra && to_lower(choice.name) == name;
      });
    };
    const auto blas = find("blas"), lapack = find("lapack");
    if (blas == discovery_.choices.end() && lapack != discovery_.choices.end())
      lapack->name = "BLAS/LAPACK"; // which needs the other
    if (blas == discovery_.choices.end() || lapack == discovery_.choices.end())
      return;
    blas->by_default = blas->by_default || lapack->by_default;
    blas->name = "BLAS/LAPACK";
    discovery_.choices.erase(lapack);
  }

  // A vendor's library without a switch of its own is used where GPUs of that vendor are.
  void follow_gpus() {
    for (Choice& choice : discovery_.choices) {
      const Entry* const entry = knowledge_.entry(Knowledge::words_of(choice.name), choice.group);
      if (!entry || !entry->needs.gpu || entry->needs.gpu->vendor.empty() || !choice.flag.empty() ||
          choice.group == Choice::Group::gpu)
        continue;
      for (const Choice& backend : discovery_.choices)
        if (const Entry* const model =
                knowledge_.entry(Knowledge::words_of(backend.name), Choice::Group::gpu);
            model && backend.group == Choice::Group::gpu && model->needs.gpu &&
            model->needs.gpu->vendor == entry->needs.gpu->vendor)
          choice.by_default |= backend.by_default;
    }
  }

  void find_gpu_switch() {
    std::vector<const Choice*> backends;
    for (const Choice& choice : discovery_.choices)
      if (choice.group == Choice::Group::gpu)
        backends.push_back(&choice);
    if (backends.empty())
      return;
    discovery_.uses_gpus = true;
    for (const Option& option : findings_.options)
      if (const Words words = words_of(option.name);
          !words.empty() && words.back() == "gpu" && without_neutral(words).size() == 1) {
        discovery_.gpu_flag =
            system_ == spec::BuildSystem::cmake ? "-D" + option.name : typed_on(system_, option);
        return;
      }
    if (std::all_of(backends.begin(), backends.end(),
                    [&](const Choice* choice) { return choice->flag == backends.front()->flag; }))
      discovery_.gpu_flag = backends.front()->flag;
  }

  const Findings& findings_;
  const Knowledge& knowledge_;
  Words prefix_;
  spec::BuildSystem system_;
  std::map<std::string, const Option*> by_name_;
  std::map<const Entry*, std::set<const Option*>> searchers_; // the options that the search for it depends on
  std::set<const Entry*> searched_by_;                        // one of these has it
  std::set<std::pair<Choice::Group, std::string>> chosen_by_value_;
  Discovery discovery_;
};

} // namespace

Discovery classify(const Findings& findings) {
  return Classifier(findings).run();
}

} // namespace xaas::discover
