#include <xaas/target/lack.h>

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::target {

namespace {

// The position of a level among those of its architecture.
std::ptrdiff_t rank_of(const std::string& arch, const std::string& level) {
  const std::vector<std::string> levels = isa_levels(arch);
  return std::find(levels.begin(), levels.end(), level) - levels.begin();
}

} // namespace

std::string lack_text(const Cpu& cpu, const std::string& described, const std::string& wanted,
                      const std::vector<std::string>& missing) {
  constexpr size_t few = 3;
  if (wanted.empty() || missing.size() <= few)
    return described + " lacks " + join(missing, ", ") + (wanted.empty() ? "" : " of " + wanted);
  const std::string own = isa_level(cpu.arch, cpu.features);
  if (const auto features = features_of(cpu.arch, wanted);
      features && rank_of(cpu.arch, isa_level(cpu.arch, *features)) > rank_of(cpu.arch, own))
    return "needs " + wanted + "; " + described + " has " + own;
  return "needs " + wanted + "; " + described + " lacks " +
         join({missing.begin(), missing.begin() + few}, ", ") + " and " +
         std::to_string(missing.size() - few) + " more";
}

} // namespace xaas::target
