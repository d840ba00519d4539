#include "rank.h"

#include <xaas/base/text.h>
#include <xaas/target/cpu.h>

#include <algorithm>

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
  if (depends_on_hardware(point)) {
    for (size_t i = point.values.size(); i-- > 0;)
      add(result, point.values[i].value, reason_for_last(point, point.values[i].value, system),
          "which is listed after it");
    return result;
  }
  if (point.find(point.default_))
    add(result, point.default_, "default", "the default");
  for (const spec::Value& value : point.values)
    add(result, value.value, "first satisfied value", "which is listed before it");
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
