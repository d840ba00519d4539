#include "objects.h"

#include <xaas/link/replay.h>

namespace xaas::deploy {

std::set<LoweredUnit> lowered_units(const Forms& forms) {
  std::set<LoweredUnit> units;
  for (const auto& [reader, read] : forms.read)
    for (const Digest& unit : read.units)
      units.emplace(unit, forms.of(unit, reader));
  return units;
}

Result<void> Objects::keep(const LoweredUnit& unit, const lower::Object& object) {
  units_.emplace(unit, object.own);
  if (lower::is_for_lto(unit.second))
    (link::is_elf(object.bytes) ? refused_bitcode_ : bitcode_).insert(unit.first);
  return write_file(path(unit), object.bytes, 0644, false);
}

std::string parts_key(const AssemblyInputs& inputs, const LoweredUnit& unit,
                      const lower::Profiling& profiling) {
  const auto prepared = inputs.bundle.prepared.find(unit.first);
  return inputs.device.key(unit.first) +
         (prepared == inputs.bundle.prepared.end() ? "" : "prepared " + prepared->second.to_string()) +
         (unit.second == lower::Form::symbols ? "" : profiling.key + inputs.plugins.key(unit.first));
}

std::set<Digest> units_without_device_image(const AssemblyInputs& inputs, const Objects& objects) {
  std::set<Digest> wanted;
  for (const LoweredUnit& unit : lowered_units(inputs.forms))
    if (inputs.device.host_units.count(unit.first) && !objects.has(unit))
      wanted.insert(unit.first);
  return wanted;
}

} // namespace xaas::deploy
