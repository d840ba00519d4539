#include "rank.h"

#include <xaas/base/text.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <iterator>

namespace xaas::select {
namespace {

using spec::SpecializationPoint;
using system::SystemDescription;

bool depends_on_hardware(const SpecializationPoint& point) {
  return std::any_of(point.values.begin(), point.values.end(), [](const spec::Value& value) {
    return !value.requires_.cpu.empty() || value.requires_.gpu;
  });
}

std::string reason_for_last(const SpecializationPoint& point, const std::string& value,
                            const SystemDescription& system) {
  if (point.name != "isa")
    return "last listed value that this system satisfies";
  return value == target::isa_level(system.arch, system.cpu.features)
             ? "highest level that the CPU has"
             : "highest level listed that the CPU has";
}

void add(RankedPoint& point, const std::string& value, const std::string& reason,
         const std::string& standing) {
  if (!point.rank(value) && !point.against.contains(value))
    point.values.push_back({value, reason, standing});
}

void add_preferred(RankedPoint& point, const SystemDescription& system) {
  const target::Cpu cpu{system.arch, system.cpu.name, system.cpu.features};
  for (const spec::Preference& preference : point.point->prefer) {
    const std::string* word = preference.find(cpu);
    if (!word)
      continue;
    const std::string on =
        "preferred on " + *word + (*word == cpu.name || cpu.name.empty() ? "" : " (" + cpu.name + ")");
    for (const std::string& value : preference.values)
      add(point, value, on, "which is " + on);
  }
}

void add_others(RankedPoint& result, const SpecializationPoint& point, const SystemDescription& system) {
  if (depends_on_hardware(point)) {
    for (size_t i = point.values.size(); i-- > 0;)
      add(result, point.values[i].value, reason_for_last(point, point.values[i].value, system),
          "which is listed after it");
    return;
  }
  if (point.find(point.default_))
    add(result, point.default_, "default", "the default");
  for (const spec::Value& value : point.values)
    add(result, value.value, "first satisfied value", "which is listed before it");
}

// Building from source takes time on the target, so values with IR rank first. Exceptions: values that use a
// GPU, which is worth the time, and the first `preferred` values, which the spec prefers on this CPU.
void put_ir_first(RankedPoint& result, size_t preferred) {
  const auto is_built_here = [&](const RankedValue& ranked) {
    return result.point->find(ranked.value)->from_source;
  };
  for (RankedValue& value : result.values)
    if (is_built_here(value))
      value.reason += ", built from source";
  const auto waits = [&](const RankedValue& ranked) {
    return is_built_here(ranked) && !result.point->find(ranked.value)->requires_.gpu;
  };
  const auto begin = result.values.begin() + static_cast<std::ptrdiff_t>(preferred);
  const auto first = std::find_if(begin, result.values.end(), waits);
  for (auto value = first; value != result.values.end(); ++value)
    if (!waits(*value))
      value->standing = "which has IR and need not be built here";
  std::vector<RankedValue> last;
  std::copy_if(first, result.values.end(), std::back_inserter(last), waits);
  result.values.erase(std::remove_if(first, result.values.end(), waits), result.values.end());
  result.values.insert(result.values.end(), last.begin(), last.end());
}

} // namespace

std::optional<size_t> RankedPoint::rank(const std::string& value) const {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].value == value)
      return i;
  return std::nullopt;
}

bool RankedPoint::possible(const std::string& value) const {
  const std::vector<Need>& all = needs.at(value);
  return std::all_of(all.begin(), all.end(), [](const Need& need) { return need.met; });
}

RankedPoint ranked(const SpecializationPoint& point, const SystemDescription& system,
                   const std::map<std::string, std::string>& brought) {
  RankedPoint result{&point, {}, {}, {}};
  for (const spec::Value& value : point.values) {
    std::vector<std::string> reasons;
    for (const Need& need : result.needs[value.value] = needs_of(value.requires_, system, brought))
      if (!need.met)
        reasons.push_back(need.lacks);
    if (!reasons.empty())
      result.against[value.value] = join(reasons, "; ");
  }
  add_preferred(result, system);
  const size_t preferred = result.values.size();
  add_others(result, point, system);
  put_ir_first(result, preferred);
  return result;
}

void keep_only(RankedPoint& point, const std::string& value) {
  const std::string by_hand = point.point->name + "=" + value + " was set by hand";
  for (const spec::Value& other : point.point->values)
    if (other.value != value && !point.against.contains(other.value))
      point.against[other.value] = by_hand;
  point.values = {{value, "set by hand", "which was set by hand"}};
}

} // namespace xaas::select
