// What differs between architectures. x86.cpp and aarch64.cpp translate LLVM's tables; cpu.cpp knows none of
// them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::target {

using FeatureSet = std::set<std::string>;

// A CPU name or level as LLVM understands it.
struct NamedCpu {
  std::string name; // what LLVM's back end takes as target CPU
  FeatureSet features;
};

struct Architecture {
  std::string name, triple, oci;
  std::vector<std::string> levels; // weakest first
  std::optional<NamedCpu> (*named)(const std::string& name);
  std::vector<std::string> (*names)();
  std::string (*model)(const std::string& name); // equal for names of one CPU; empty: no name of a CPU
  bool (*is_feature)(const std::string& name);
  FeatureSet (*implied)(const std::string& feature); // what LLVM switches on with it, itself left out
  FeatureSet (*equivalent)(
      const FeatureSet& features); // what is there because others are, though LLVM does not say so
  FeatureSet (*deciding)(const FeatureSet& level); // the features of a level that must be seen
  NamedCpu (*detected)(const std::string& name, const std::map<std::string, bool>& detected);
};

const Architecture& x86_64();
const Architecture& aarch64();

} // namespace xaas::target
