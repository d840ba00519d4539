// AArch64 after LLVM's AArch64TargetParser.
//
// A CPU is an architecture version and extensions. An architecture version is itself a feature of the back
// end, such as "v8.2a", which implies its predecessors. On Linux, LLVM detects a CPU's name from its part
// number and a few features from the kernel; only the name tells the other features. So a detected CPU has
// the features of its name, corrected by those that the kernel shows or hides (SVE can be off in a virtual
// machine).
#include "architecture.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/TargetParser/AArch64TargetParser.h>

#include <algorithm>

namespace xaas::target {
namespace arm64 {
namespace {

namespace parser = llvm::AArch64;

// The features that LLVM's host detection takes from the kernel.
const FeatureSet& detectable() {
  static const FeatureSet names = {"aes", "crc", "fp-armv8", "lse",      "neon",    "sha2", "sha3",
                                   "sm4", "sve", "sve-aes",  "sve-sha3", "sve-sm4", "sve2"};
  return names;
}

std::optional<parser::ExtensionInfo> extension(const std::string& feature) {
  return parser::targetFeatureToExtension("+" + feature);
}

FeatureSet list(const parser::ExtensionSet& extensions) {
  std::vector<llvm::StringRef> written;
  extensions.toLLVMFeatureList(written);
  FeatureSet features;
  for (llvm::StringRef feature : written)
    if (feature.consume_front("+"))
      features.insert(feature.str());
  if (extensions.BaseArch)
    for (const parser::ArchInfo* earlier : parser::ArchInfos)
      if (extensions.BaseArch->implies(*earlier))
        features.insert(earlier->getSubArch().str());
  return features;
}

// "armv8.2-a+sve": an architecture and extensions.
std::optional<parser::ExtensionSet> from_architecture(llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef, 8> parts;
  name.split(parts, '+');
  const parser::ArchInfo* base = parser::parseArch(parts[0]);
  if (!base || base->Profile != parser::AProfile || base->Name != parts[0])
    return std::nullopt;
  parser::ExtensionSet extensions;
  extensions.addArchDefaults(*base);
  for (const llvm::StringRef part : llvm::ArrayRef(parts).drop_front())
    if (part.empty() || !extensions.parseModifier(part))
      return std::nullopt;
  return extensions;
}

// A CPU's list omits the features that its architecture version implies.
std::optional<parser::ExtensionSet> from_cpu(const std::string& name) {
  if (name == "generic")
    return from_architecture("armv8-a");
  const std::optional<parser::CpuInfo> cpu = parser::parseCpu(name);
  if (!cpu)
    return std::nullopt;
  parser::ExtensionSet extensions;
  extensions.addArchDefaults(cpu->Arch);
  extensions.addCPUDefaults(*cpu);
  return extensions;
}

std::optional<NamedCpu> named(const std::string& name) {
  if (const auto extensions = from_architecture(name))
    return NamedCpu{"generic", list(*extensions)};
  if (const auto extensions = from_cpu(name))
    return NamedCpu{name, list(*extensions)};
  return std::nullopt;
}

std::vector<std::string> names() {
  llvm::SmallVector<llvm::StringRef, 128> listed;
  parser::fillValidCPUArchList(listed);
  std::vector<std::string> result = {"generic"};
  for (const llvm::StringRef name : listed)
    result.push_back(name.str());
  for (const parser::ArchInfo* arch : parser::ArchInfos)
    if (arch->Profile == parser::AProfile)
      result.push_back(arch->Name.str());
  return result;
}

std::string model(const std::string& name) {
  const std::optional<parser::CpuInfo> cpu = parser::parseCpu(name);
  return cpu ? cpu->Name.str() : std::string();
}

bool is_feature(const std::string& name) {
  return extension(name).has_value() || parser::ArchInfo::findBySubArch(name).has_value();
}

FeatureSet implied(const std::string& feature) {
  parser::ExtensionSet extensions;
  FeatureSet names;
  if (const auto version = parser::ArchInfo::findBySubArch(feature)) {
    for (const parser::ArchInfo* earlier : parser::ArchInfos)
      if (version->implies(*earlier))
        names.insert(earlier->getSubArch().str());
  } else if (const auto known = extension(feature)) {
    extensions.enable(known->ID);
    names = list(extensions);
  }
  names.erase(feature);
  return names;
}

FeatureSet equivalent(const FeatureSet&) {
  return {"fp-armv8", "neon", "v8a"};
}

// SVE exists since version 8.2 and SVE2 since 9.0, so the visible features suffice as proof.
FeatureSet deciding(const FeatureSet& level) {
  FeatureSet result;
  for (const std::string& feature : level)
    if (detectable().contains(feature))
      result.insert(feature);
  return result;
}

std::vector<std::string> levels() {
  return {"armv8-a", "armv8.2-a+sve", "armv9-a"};
}

// Nothing shows the architecture version of a CPU that LLVM does not know by name, but that of a level is
// proven. Features of the level that the kernel does not show stay off.
void complete_levels(const std::map<std::string, bool>& detected, FeatureSet& features) {
  for (const std::string& level : levels()) {
    const FeatureSet all = named(level)->features, needed = deciding(all);
    if (std::includes(features.begin(), features.end(), needed.begin(), needed.end()))
      for (const std::string& feature : all)
        if (!detected.contains(feature) && !detectable().contains(feature))
          features.insert(feature);
  }
}

NamedCpu detected(const std::string& name, const std::map<std::string, bool>& detected) {
  std::optional<parser::ExtensionSet> extensions = from_cpu(name);
  const std::string known = extensions ? name : "generic";
  if (!extensions)
    extensions = from_cpu(known);
  // LLVM lists the features that are on; the others that it can detect are off. An empty list means that it
  // could not read the kernel's.
  if (!detected.empty())
    for (const std::string& feature : detectable())
      if (const auto found = detected.find(feature); found == detected.end() || !found->second)
        extensions->disable(extension(feature)->ID);
  // Those that are off last: enabling a feature enables what it depends on, and disabling that disables it.
  for (const bool enabling : {true, false})
    for (const auto& [feature, on] : detected)
      if (const auto info = extension(feature); info && on == enabling) {
        if (on)
          extensions->enable(info->ID);
        else
          extensions->disable(info->ID);
      }
  FeatureSet features = list(*extensions);
  complete_levels(detected, features);
  return {known, std::move(features)};
}

} // namespace
} // namespace arm64

const Architecture& aarch64() {
  using namespace arm64;
  static const Architecture architecture{"aarch64",   "aarch64-unknown-linux-gnu",
                                         "arm64",     levels(),
                                         "armv8-a",   named,
                                         names,       model,
                                         is_feature,  implied,
                                         equivalent,  deciding,
                                         {{128, ""}}, detected};
  return architecture;
}

} // namespace xaas::target
