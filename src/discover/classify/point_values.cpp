#include "classify/point_values.h"

#include <xaas/target/cpu.h>

#include <algorithm>
#include <cctype>
#include <tuple>

namespace xaas::discover {

void order_by_strength(std::vector<spec::Value>& values) {
  std::vector<std::string> architectures = {""}; // in the order of appearance
  std::vector<std::tuple<size_t, size_t, unsigned long, size_t>> order;
  for (const spec::Value& value : values) {
    const std::vector<std::string>& features = value.requires_.cpu;
    std::string arch;
    for (const char* each : {"x86_64", "aarch64"})
      if (!features.empty() && target::is_feature(each, features.front()))
        arch = each;
    if (std::find(architectures.begin(), architectures.end(), arch) == architectures.end())
      architectures.push_back(arch);
    const size_t place = static_cast<size_t>(std::find(architectures.begin(), architectures.end(), arch) -
                                             architectures.begin());
    const size_t strength = arch.empty() ? 0 : target::with_implied(arch, features).size();
    const size_t digits = value.value.find_last_not_of("0123456789") + 1;
    const std::string width = value.value.substr(digits).substr(0, 4);
    order.emplace_back(place, strength, arch.empty() || width.empty() ? 0 : std::stoul(width), order.size());
  }
  std::sort(order.begin(), order.end());
  std::vector<spec::Value> ordered;
  for (const auto& each : order)
    ordered.push_back(std::move(values[std::get<3>(each)]));
  values = std::move(ordered);
}

bool add_none(spec::SpecializationPoint& point) {
  const bool all_ask = std::all_of(point.values.begin(), point.values.end(),
                                   [](const spec::Value& value) { return !value.requires_.empty(); });
  if (!all_ask || point.find("default"))
    return false;
  point.values.insert(point.values.begin(), spec::Value{"default", {}, {}});
  point.default_ = "default";
  return true;
}

bool is_value(const std::string& value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_.+:-").find(c) != std::string_view::npos;
  });
}

} // namespace xaas::discover
