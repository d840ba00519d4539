// The differences between architectures. x86.cpp and aarch64.cpp translate LLVM's tables; cpu.cpp is
// independent of them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace xaas::target {

using FeatureSet = std::set<std::string>;

// A CPU name or level as LLVM understands it.
struct NamedCpu {
  std::string name; // the target CPU for LLVM's back end
  FeatureSet features;
};

struct Architecture {
  std::string name, triple, oci;
  std::vector<std::string> levels; // weakest first
  std::string common_level;        // one of them
  std::optional<NamedCpu> (*named)(const std::string& name);
  std::vector<std::string> (*names)();
  std::string (*model)(const std::string& name); // equal for all names of one CPU; empty: not a CPU
  bool (*is_feature)(const std::string& name);
  FeatureSet (*implied)(const std::string& feature); // the other features that LLVM enables with it
  FeatureSet (*equivalent)(
      const FeatureSet& features);                 // features implied by others although LLVM does not say so
  FeatureSet (*deciding)(const FeatureSet& level); // the features of a level that must be detected
  // Feature by the width in bits of its vector registers, narrowest first; "" for those that every CPU has.
  std::vector<std::pair<unsigned, std::string>> vectors;
  NamedCpu (*detected)(const std::string& name, const std::map<std::string, bool>& detected);
};

const Architecture& x86_64();
const Architecture& aarch64();

} // namespace xaas::target
