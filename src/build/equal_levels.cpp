#include "equal_levels.h"
#include "forms.h"

#include <xaas/session/log.h>
#include <xaas/target/cpu.h>

#include <algorithm>

namespace xaas::build {

Result<std::vector<std::string>> EqualLevels::arguments_of(const spec::Configuration& configuration) const {
  XAAS_TRY(const target::Cpu level, spec::cpu_of(configuration, arch_));
  return spec::arguments_of(application_, configuration, level);
}

std::vector<std::string> EqualLevels::to_compare(const spec::Configuration& configuration) const {
  std::vector<std::string> levels;
  if (arch_ != "x86_64") // for AArch64, no outcome of a compile serves another level (known.cpp)
    return levels;
  for (const spec::Configuration& later : later_at_other_levels(points_, configurations_, configuration))
    if (!origin_of(later))
      levels.push_back(*later.find("isa"));
  return levels;
}

Result<void> EqualLevels::note(const session::Session& session, const spec::Configuration& configuration,
                               size_t number) {
  if (!session::all_compared(session))
    return {};
  const std::vector<std::string> equal = session::equal_levels(session);
  XAAS_TRY(const std::vector<std::string> own, arguments_of(configuration));
  for (const spec::Configuration& later : later_at_other_levels(points_, configurations_, configuration)) {
    XAAS_TRY(const std::vector<std::string> arguments, arguments_of(later));
    if (std::find(equal.begin(), equal.end(), *later.find("isa")) != equal.end() && arguments == own)
      origins_.emplace(later.id(), number);
  }
  return {};
}

std::optional<size_t> EqualLevels::origin_of(const spec::Configuration& configuration) const {
  const auto found = origins_.find(configuration.id());
  return found == origins_.end() ? std::nullopt : std::optional(found->second);
}

std::string EqualLevels::id_without_level(const spec::Configuration& configuration) const {
  std::string id;
  for (const spec::SpecializationPoint& point : points_)
    if (const std::string* const value = configuration.find(point.name); value && point.name != "isa")
      id += point.name + "=" + *value + ",";
  return id;
}

} // namespace xaas::build
