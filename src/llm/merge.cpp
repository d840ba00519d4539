#include "merge.h"

#include "argument.h"
#include "guide.h"

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::llm {

namespace {

using discover::Choice;
using discover::DiscoveredPoint;

std::optional<Choice::Group> group_of(const std::string& category) {
  if (category == "cpu")
    return Choice::Group::simd;
  if (category == "gpu")
    return Choice::Group::gpu;
  if (category == "linear-algebra")
    return Choice::Group::linear_algebra;
  if (category == "fft")
    return Choice::Group::fft;
  if (category == "threading" || category == "communication")
    return Choice::Group::parallel;
  return std::nullopt;
}

// True for two spellings of one value.
bool same_value(const std::string& a, const std::string& b) {
  const Guide& guide = Guide::get();
  return a == b || (guide.is_on(a) && guide.is_on(b)) || (guide.is_off(a) && guide.is_off(b));
}

class Merger {
public:
  Merger(const discover::Findings& findings, Suggestions& suggestions)
      : findings_(findings), suggestions_(suggestions), points_(suggestions.discovery.points),
        read_(points_.size()) {}

  void add(CheckedPoint checked) {
    for (size_t i = 0; i < read_; ++i)
      if (checked.options.size() == 1 && points_[i].option == *checked.options.begin())
        return add_values(std::move(checked), points_[i]);
    for (const DiscoveredPoint& other : points_) {
      if (checked.options.count(other.option) > 0 || sets_option_of(checked, other))
        return reject(checked, "", "it sets an option of the point " + other.point.name);
      if (other.point.name == checked.point.name)
        return reject(checked, "", "its name is that of the point for " + other.option);
    }
    add_point(std::move(checked));
  }

private:
  void reject(const CheckedPoint& checked, const std::string& value, const std::string& reason) {
    suggestions_.rejected.push_back({checked.point.name, value, reason});
  }

  // The options of points that the model added are only in their arguments.
  bool sets_option_of(const CheckedPoint& checked, const DiscoveredPoint& other) const {
    for (const spec::Value& value : other.point.values)
      for (const std::string& text : value.arguments)
        if (const auto argument = parse_argument(*findings_.system, text);
            argument && checked.options.count(argument->option))
          return true;
    return false;
  }

  bool is_known(const spec::Value& value, const spec::SpecializationPoint& point) const {
    if (point.find(value.value) || value.arguments.empty())
      return true;
    const auto text = parse_argument(*findings_.system, value.arguments.front())->value;
    return std::any_of(point.values.begin(), point.values.end(), [&](const spec::Value& known) {
      if (known.arguments.size() != 1 || value.arguments.size() != 1)
        return false;
      const auto argument = parse_argument(*findings_.system, known.arguments.front());
      return argument && same_value(argument->value, text);
    });
  }

  void add_values(CheckedPoint checked, DiscoveredPoint& found) {
    Addition addition{found.point.name, false, {}, checked.reason, checked.evidence};
    std::vector<spec::Value> added;
    for (spec::Value& value : checked.point.values)
      if (!is_known(value, found.point)) {
        addition.values.push_back(value.value);
        add_choice(checked, value);
        added.push_back(std::move(value));
      }
    if (added.empty())
      return reject(checked, "",
                    "the point " + found.point.name + " of " + found.option + " already has these values");
    found.point.values.insert(found.point.values.begin(), added.begin(), added.end());
    suggestions_.accepted.push_back(std::move(addition));
  }

  void add_point(CheckedPoint checked) {
    constexpr size_t most_points = 64; // of a spec
    if (checked.point.values.size() < 2)
      return reject(checked, "", "a point needs at least two values");
    if (points_.size() >= most_points)
      return reject(checked, "", "there are already " + std::to_string(most_points) + " points");
    if (std::string& named = checked.point.default_; !named.empty() && !checked.point.find(named)) {
      reject(checked, named, "as default: it is not one of the remaining values");
      named.clear();
    }
    correct_default(checked);
    put_unneeding_first(checked.point.values);
    if (checked.point.default_.empty())
      checked.point.default_ = checked.point.values.front().value; // like discovery
    Addition addition{checked.point.name, true, {}, checked.reason, checked.evidence};
    for (const spec::Value& value : checked.point.values) {
      addition.values.push_back(value.value);
      add_choice(checked, value);
    }
    suggestions_.accepted.push_back(std::move(addition));
    points_.push_back({std::move(checked.point),
                       join({checked.options.begin(), checked.options.end()}, " "),
                       std::move(checked.evidence),
                       {},
                       {}});
  }

  // A value without known needs always fits, so it precedes those with needs.
  static void put_unneeding_first(std::vector<spec::Value>& values) {
    std::vector<spec::Value> sorted;
    for (const bool wanted : {true, false})
      for (const spec::Value& value : values)
        if (value.requires_.empty() == wanted)
          sorted.push_back(value);
    values = std::move(sorted);
  }

  // Replaces the default by that of a build without arguments, if the findings have it.
  void correct_default(CheckedPoint& checked) {
    const auto is_initial = [&](const spec::Value& value) {
      return !value.arguments.empty() &&
             std::all_of(value.arguments.begin(), value.arguments.end(), [&](const std::string& text) {
               const auto argument = parse_argument(*findings_.system, text);
               return std::any_of(findings_.options.begin(), findings_.options.end(),
                                  [&](const discover::Option& option) {
                                    return argument && option.name == argument->option && option.initial &&
                                           same_value(*option.initial, argument->value);
                                  });
             });
    };
    const auto& values = checked.point.values;
    const auto initial = std::find_if(values.begin(), values.end(), is_initial);
    if (initial == values.end() || initial->value == checked.point.default_)
      return;
    if (!checked.point.default_.empty())
      reject(checked, checked.point.default_, "as default: that of the build is " + initial->value);
    checked.point.default_ = initial->value;
  }

  // Adds the value to the document of the published evaluation.
  void add_choice(const CheckedPoint& checked, const spec::Value& value) {
    const auto group = group_of(checked.point.category);
    if (!group || value.arguments.empty() || Guide::get().is_off(value.value))
      return;
    const auto argument = parse_argument(*findings_.system, value.arguments.front());
    const bool on = argument && value.arguments.size() == 1 && Guide::get().is_on(argument->value);
    Choice choice;
    choice.group = *group;
    suggestions_.discovery.uses_gpus |= *group == Choice::Group::gpu;
    choice.name = on ? checked.point.name : value.value;
    choice.flag = on && findings_.system == spec::BuildSystem::cmake ? "-D" + argument->option
                                                                     : join(value.arguments, " ");
    choice.by_default = value.value == checked.point.default_;
    choice.place = checked.evidence.front();
    auto& choices = suggestions_.discovery.choices;
    if (std::none_of(choices.begin(), choices.end(), [&](const Choice& known) {
          return known.group == choice.group && to_lower(known.name) == to_lower(choice.name);
        }))
      choices.push_back(std::move(choice));
  }

  const discover::Findings& findings_;
  Suggestions& suggestions_;
  std::vector<DiscoveredPoint>& points_;
  const size_t read_; // number of discovered points, which come first
};

} // namespace

void merge(std::vector<CheckedPoint> points, const discover::Findings& findings, Suggestions& suggestions) {
  Merger merger(findings, suggestions);
  for (CheckedPoint& point : points)
    merger.add(std::move(point));
}

} // namespace xaas::llm
