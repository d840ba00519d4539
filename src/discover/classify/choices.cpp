#include "classify/classification.h"
#include "classify/point_values.h"
#include "classify/typing.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <map>
#include <optional>

namespace xaas::discover {

namespace {

using Words = Classification::Words;

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

// "fftpack[built-in]" is typed and known as "fftpack".
std::string plain(const std::string& value) {
  return value.substr(0, value.find('['));
}

bool is_built_in(const std::string& value) {
  const std::string word = to_lower(value);
  return word.find("built-in") != std::string::npos || word.find("builtin") != std::string::npos ||
         word.find("built_in") != std::string::npos;
}

class ChoiceOption {
public:
  ChoiceOption(Classification& all, const Option& option)
      : all_(all), option_(option), words_(all.words_of(option.name)) {}

  void add() {
    const std::optional<Choice::Group> group = count_groups();
    add_simd_among_others();
    if (add_precision() || !group)
      return;
    DiscoveredPoint found = new_point(category_of(*group));
    for (const std::string& value : option_.values)
      add_value(value, *group, found.point);
    if (found.point.name.empty() || found.point.values.empty())
      return;
    if (*group == Choice::Group::simd)
      order_by_strength(found.point.values);
    if (option_.required || !add_none(found.point)) {
      if (found.point.values.size() < 2)
        return; // there is nothing to choose
      set_default(found.point, option_.initial ? plain(*option_.initial) : "");
    }
    all_.discovery.points.push_back(std::move(found));
  }

private:
  bool is_called(const char* word) const {
    return std::find(words_.begin(), words_.end(), word) != words_.end();
  }

  // The group that at least half of the values belong to; nothing if the option is not a choice.
  std::optional<Choice::Group> count_groups() {
    std::map<Choice::Group, size_t> groups;
    size_t counted = 0, simd = 0;
    size_t named = 0;      // names with one meaning, and the project's own implementation
    bool has_name = false; // some value is a name that has only one meaning
    size_t models = 0;     // programming models for GPUs or the host, each value once
    for (const std::string& value : option_.values) {
      named += is_own_version(value);
      if (all_.knowledge.is_neutral_value(value))
        continue;
      ++counted;
      const Words words = Knowledge::words_of(plain(value));
      const SimdEntry* const set = all_.knowledge.simd_value(words);
      simd += set && set->is_vector;
      for (const Choice::Group group :
           {Choice::Group::parallel, Choice::Group::gpu, Choice::Group::linear_algebra, Choice::Group::fft})
        groups[group] += all_.knowledge.entry(words, group) != nullptr;
      models += is_model(words);
      has_name |= all_.knowledge.entry(words) != nullptr;
      named += all_.knowledge.entry(words) != nullptr;
    }
    constexpr size_t several = 2;
    is_mixed_ = groups[Choice::Group::gpu] > 0 && groups[Choice::Group::parallel] >= several;
    // The option's name weighs as much as a value.
    const bool fft = is_called("fft");
    groups[Choice::Group::fft] += fft ? groups[Choice::Group::linear_algebra] : 0;
    if (fft && groups[Choice::Group::fft] > 0)
      groups[Choice::Group::fft] = std::max(groups[Choice::Group::fft], counted);
    Choice::Group group = Choice::Group::simd;
    size_t best = simd;
    for (const auto& [each, count] : groups)
      if (count > best)
        group = each, best = count;
    // An option with nothing but instruction sets is a choice under any name.
    // Nothing but instruction sets, or only few other words among several.
    const bool only_simd = simd > 0 && (simd == counted || (simd >= 3 && simd * 4 >= counted * 3));
    if (is_mixed_ && models > best) {
      group = groups[Choice::Group::gpu] >= groups[Choice::Group::parallel] ? Choice::Group::gpu
                                                                            : Choice::Group::parallel;
      best = models;
    }
    const bool only_names = best == counted && named >= 2 && !names_an_entry();
    if (best == 0 || best * 2 < counted ||
        !(only_simd || only_names || all_.knowledge.may_name_a_choice(words_)))
      return std::nullopt;
    if (group != Choice::Group::simd && !has_name)
      return std::nullopt;
    if (is_called("gpu") && !fft)
      group = Choice::Group::gpu;
    // The backends of a library are not a choice of the application.
    if (group == Choice::Group::gpu && names_a_library())
      return std::nullopt;
    return group;
  }

  bool is_model(const Words& words) const {
    return all_.knowledge.entry(words, Choice::Group::gpu) ||
           all_.knowledge.entry(words, Choice::Group::parallel);
  }

  static bool is_own_version(const std::string& value) { return to_lower(value) == "internal"; }

  bool names_an_entry() const {
    return std::any_of(words_.begin(), words_.end(),
                       [this](const std::string& word) { return all_.knowledge.entry({word}) != nullptr; });
  }

  bool names_a_library() const {
    return std::any_of(words_.begin(), words_.end(), [this](const std::string& word) {
      const Entry* const entry = all_.knowledge.entry({word});
      return entry && (entry->is_layer || entry->group == Choice::Group::linear_algebra ||
                       entry->group == Choice::Group::fft);
    });
  }

  DiscoveredPoint new_point(const std::string& category) const {
    DiscoveredPoint found;
    found.option = option_.name;
    found.evidence = {option_.place};
    found.point.name = all_.free_name(join(words_, "-"));
    found.point.category = category;
    return found;
  }

  static void set_default(spec::SpecializationPoint& point, const std::string& initial) {
    point.default_ = point.find(initial) ? initial : point.values.front().value;
  }

  // A data type that stands for the machine's vector: "float double simd".
  void add_simd_among_others() {
    for (const std::string& value : option_.values)
      if (to_lower(value) == "simd") {
        Choice& known = all_.choice(Choice::Group::simd, "SIMD");
        known.flag = typed(all_.system, option_, value);
        known.by_default = option_.initial == value;
        known.place = option_.place;
      }
  }

  // A choice of precisions: at least two values are, and at least half of them.
  bool add_precision() {
    const auto known = std::count_if(option_.values.begin(), option_.values.end(), [&](const auto& value) {
      return !all_.knowledge.precision(Knowledge::words_of(value)).empty();
    });
    if (known < 2 || static_cast<size_t>(known) * 2 < option_.values.size())
      return false;
    DiscoveredPoint found = new_point("precision");
    for (const std::string& value : option_.values)
      if (is_value(value) && !found.point.find(value))
        found.point.values.push_back({value, {typed(all_.system, option_, value)}, {}});
    if (found.point.name.empty() || found.point.values.empty())
      return false;
    set_default(found.point, option_.initial.value_or(""));
    all_.discovery.points.push_back(std::move(found));
    return true;
  }

  void add_value(const std::string& value, Choice::Group group, spec::SpecializationPoint& point) {
    const Words words = Knowledge::words_of(plain(value));
    const Entry* entry = all_.knowledge.entry(words, group);
    // Among backends for GPUs, "OpenMP" means its offloading, unless there are other models for the host.
    if (!entry && group == Choice::Group::gpu && !is_mixed_)
      entry = all_.knowledge.entry(Knowledge::words_of(plain(value) + " offload"), group);
    if (!entry && is_mixed_)
      if ((entry = all_.knowledge.entry(words)) != nullptr)
        group = entry->group;
    spec::Value added;
    added.value = plain(value);
    added.arguments = {typed(all_.system, option_, plain(value))};
    if (const SimdEntry* const simd = all_.knowledge.simd_value(words);
        simd && group == Choice::Group::simd) {
      if (!Knowledge::can_require(*simd))
        added.arguments.clear(); // of another architecture
      else
        added.requires_.cpu = simd->features;
    }
    if (entry)
      added.requires_ = entry->needs;
    if (!added.arguments.empty() && is_value(added.value) && !point.find(added.value))
      point.values.push_back(added);
    const bool named = group == Choice::Group::simd || group == Choice::Group::fft || entry ||
                       (group == Choice::Group::parallel && is_own_version(value)) ||
                       !all_.knowledge.is_neutral_value(value);
    if (!named ||
        (group != Choice::Group::simd && group != Choice::Group::fft && all_.knowledge.is_off(value)))
      return;
    // FFTs are known by the project's word, unless it has a remark, "gpl-fftw3", or is only a part: "kiss".
    const bool is_plain = group == Choice::Group::fft && all_.knowledge.telling(words) == words &&
                          !(entry && to_lower(entry->name).starts_with(join(words, "")));
    Choice& known = all_.choice(group, entry && !is_plain ? entry->name : value);
    // Of two options with the same instruction sets, the first chooses.
    if (const bool again = !all_.chosen_by_value.insert({known.group, known.name}).second;
        again && group == Choice::Group::simd && known.place != option_.place)
      return;
    known.flag = typed(all_.system, option_, value);
    const bool built_in = is_built_in(value) || (entry && entry->built_in);
    known.by_default = option_.initial && (*option_.initial == value || *option_.initial == plain(value) ||
                                           (is_built_in(value) && to_lower(*option_.initial) == "auto"));
    known.built_in |= built_in;
    if (group == Choice::Group::fft && entry && entry->built_in && all_.own_fft.first.empty())
      all_.own_fft = {entry->name, known.flag};
    known.condition = join(option_.conditions, " AND ");
    known.place = option_.place;
  }

  Classification& all_;
  const Option& option_;
  const Words words_;
  bool is_mixed_ = false; // the values are programming models of both kinds, for GPUs and for the host
};

} // namespace

void add_choice(Classification& all, const Option& option) {
  ChoiceOption(all, option).add();
}

} // namespace xaas::discover
