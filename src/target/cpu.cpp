#include <xaas/target/architectures.h>
#include <xaas/target/cpu.h>
#include <xaas/target/feature_bits.h>

#include "architecture.h"

#include <xaas/base/text.h>

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#ifdef __aarch64__
#include <sys/auxv.h>
#endif

namespace xaas::target {
namespace {

const Architecture* find_architecture(const std::string& name) {
  for (const Architecture* architecture : {&x86_64(), &aarch64()})
    if (architecture->name == name)
      return architecture;
  return nullptr;
}

std::vector<std::string> to_vector(const FeatureSet& features) {
  return {features.begin(), features.end()};
}

// The features together with their equivalents, but without any that could be missing.
FeatureSet with_equivalent(const Architecture& architecture, FeatureSet features) {
  features.merge(architecture.equivalent(features));
  return features;
}

FeatureSet baseline(const Architecture& architecture) {
  return architecture.named(architecture.levels.front())->features;
}

Error unknown_architecture(const std::string& arch) {
  return make_error(ErrorKind::usage, "unknown architecture \"" + arch + "\"",
                    "known are x86_64 and aarch64");
}

} // namespace

std::vector<std::string> architectures() {
  return {x86_64().name, aarch64().name};
}

std::string host_arch() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
#error "xaas runs on x86-64 and AArch64"
#endif
}

Cpu cpu_from_detection(const std::string& arch, const std::string& name,
                       const std::map<std::string, bool>& detected) {
  const Architecture* architecture = find_architecture(arch);
  if (!architecture)
    return {arch, "generic", {}};
  const NamedCpu cpu = architecture->detected(name, detected);
  return {arch, cpu.name, usable_features(arch, to_vector(cpu.features))};
}

Cpu host_cpu() {
  std::map<std::string, bool> detected;
  for (const auto& entry : llvm::sys::getHostCPUFeatures())
    detected[entry.first().str()] = entry.second;
#ifdef __aarch64__
  // LLVM reads a few of them. Programs ask for all of these before they start.
  for (const FeatureBit& bit : feature_bits(host_arch()))
    detected[bit.name] = getauxval(bit.leaf) >> bit.bit & 1;
#endif
  return cpu_from_detection(host_arch(), llvm::sys::getHostCPUName().str(), detected);
}

std::vector<std::string> isa_levels(const std::string& arch) {
  const Architecture* architecture = find_architecture(arch);
  return architecture ? architecture->levels : std::vector<std::string>();
}

std::string common_level(const std::string& arch) {
  const Architecture* architecture = find_architecture(arch);
  return architecture ? architecture->common_level : std::string();
}

std::vector<std::string> cpu_names(const std::string& arch) {
  const Architecture* architecture = find_architecture(arch);
  if (!architecture)
    return {};
  std::vector<std::string> names = architecture->names();
  names.insert(names.end(), architecture->levels.begin(), architecture->levels.end());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> names_of_same_cpu(const std::string& arch, const std::string& name) {
  std::vector<std::string> same = {name};
  const Architecture* architecture = find_architecture(arch);
  const std::string model = architecture ? architecture->model(name) : std::string();
  if (model.empty())
    return same;
  for (const std::string& other : cpu_names(arch))
    if (other != name && architecture->model(other) == model)
      same.push_back(other);
  return same;
}

Result<Cpu> cpu_by_name(const std::string& arch, const std::string& name) {
  const Architecture* architecture = find_architecture(arch);
  if (!architecture)
    return unknown_architecture(arch);
  if (const std::optional<NamedCpu> cpu = architecture->named(name))
    return Cpu{arch, cpu->name, to_vector(with_equivalent(*architecture, cpu->features))};
  std::string hint;
  if (const std::string near = nearest(name, cpu_names(arch)); !near.empty())
    hint = "did you mean " + near + "?";
  else
    hint = "use a name that LLVM knows or one of the levels " + join(architecture->levels, ", ");
  return make_error(ErrorKind::usage, "unknown " + arch + " CPU \"" + name + "\"", hint);
}

Result<std::vector<std::string>> features_of(const std::string& arch, const std::string& name) {
  XAAS_TRY(Cpu cpu, cpu_by_name(arch, name));
  return std::move(cpu.features);
}

std::string isa_level(const std::string& arch, const std::vector<std::string>& features) {
  const Architecture* architecture = find_architecture(arch);
  if (!architecture)
    return {};
  const FeatureSet available = with_equivalent(*architecture, {features.begin(), features.end()});
  std::string best = architecture->levels.front();
  for (const std::string& level : architecture->levels) {
    const FeatureSet needed = architecture->deciding(architecture->named(level)->features);
    if (std::includes(available.begin(), available.end(), needed.begin(), needed.end()))
      best = level;
  }
  return best;
}

bool is_feature(const std::string& arch, const std::string& name) {
  const Architecture* architecture = find_architecture(arch);
  return architecture && architecture->is_feature(name);
}

std::string vector_feature(const std::string& arch, uint64_t bits) {
  const Architecture* architecture = find_architecture(arch);
  if (!architecture)
    return {};
  for (const auto& [width, feature] : architecture->vectors)
    if (bits <= width)
      return feature;
  return architecture->vectors.back().second;
}

std::vector<std::string> with_implied(const std::string& arch, const std::vector<std::string>& features) {
  FeatureSet all(features.begin(), features.end());
  if (const Architecture* architecture = find_architecture(arch)) {
    for (const std::string& feature : features)
      all.merge(architecture->implied(feature));
    all.merge(baseline(*architecture));
    all = with_equivalent(*architecture, std::move(all));
  }
  return to_vector(all);
}

std::vector<std::string> usable_features(const std::string& arch, const std::vector<std::string>& features) {
  const Architecture* architecture = find_architecture(arch);
  if (!architecture)
    return {};
  FeatureSet available(features.begin(), features.end());
  available.merge(baseline(*architecture));
  available = with_equivalent(*architecture, std::move(available));
  FeatureSet usable;
  for (const std::string& feature : available) {
    const FeatureSet needed = architecture->implied(feature);
    if (architecture->is_feature(feature) &&
        std::includes(available.begin(), available.end(), needed.begin(), needed.end()))
      usable.insert(feature);
  }
  return to_vector(usable);
}

std::vector<std::string> signed_features(const Cpu& cpu) {
  std::vector<std::string> result;
  for (const std::string& feature : cpu.features)
    result.push_back("+" + feature);
  if (const Result<std::vector<std::string>> named = features_of(cpu.arch, cpu.name))
    for (const std::string& feature : missing_features(*named, cpu.features))
      result.push_back("-" + feature);
  return result;
}

std::vector<std::string> missing_features(const std::vector<std::string>& required,
                                          const std::vector<std::string>& available) {
  const FeatureSet there(available.begin(), available.end());
  std::vector<std::string> missing;
  for (const std::string& feature : required)
    if (!there.contains(feature))
      missing.push_back(feature);
  return missing;
}

std::string triple(const std::string& arch) {
  const Architecture* architecture = find_architecture(arch);
  return architecture ? architecture->triple : arch + "-unknown-linux-gnu";
}

std::string oci_architecture(const std::string& arch) {
  const Architecture* architecture = find_architecture(arch);
  return architecture ? architecture->oci : arch;
}

std::optional<std::string> arch_of_oci(const std::string& architecture) {
  for (const std::string& arch : architectures())
    if (oci_architecture(arch) == architecture)
      return arch;
  return std::nullopt;
}

} // namespace xaas::target
