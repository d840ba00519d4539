// x86-64 after LLVM's X86TargetParser.
//
// Its lists contain only the strongest features of a CPU ("avx2" without "avx"), and it lacks sse2, which
// every x86-64 CPU has. So lists are completed by the implications that Clang uses, and the baseline is
// added. Three names of the parser are unknown to the back end; "64bit" is implicit on this architecture, and
// named CPUs do not list it.
#include "architecture.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>

namespace xaas::target {
namespace x86 {
namespace {

const FeatureSet& known_features() {
  static const FeatureSet known = [] {
    FeatureSet names = {
#define X86_FEATURE(ENUM, STRING) STRING,
#include <llvm/TargetParser/X86TargetParser.def>
    };
    for (const char* name : {"64bit", "apxf", "avx5124fmaps", "avx5124vnniw"})
      names.erase(name);
    return names;
  }();
  return known;
}

FeatureSet implied(const std::string& feature) {
  llvm::StringMap<bool> map;
  llvm::X86::updateImpliedFeatures(feature, true, map);
  FeatureSet names;
  for (const auto& entry : map)
    if (entry.second && known_features().contains(entry.first().str()))
      names.insert(entry.first().str());
  names.erase(feature);
  return names;
}

FeatureSet complete(const FeatureSet& features) {
  FeatureSet all = {"cmov", "cx8", "fxsr", "mmx", "sse", "sse2", "x87"};
  for (const std::string& feature : features)
    if (known_features().contains(feature)) {
      all.insert(feature);
      all.merge(implied(feature));
    }
  return all;
}

std::optional<NamedCpu> named(const std::string& name) {
  if (name == "generic")
    return NamedCpu{name, complete({})};
  if (llvm::X86::parseArchX86(name, /*Only64Bit=*/true) == llvm::X86::CK_None)
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef, 64> listed;
  llvm::X86::getFeaturesForCPU(name, listed);
  FeatureSet features;
  for (const llvm::StringRef feature : listed)
    features.insert(feature.str());
  return NamedCpu{name, complete(features)};
}

std::vector<std::string> names() {
  llvm::SmallVector<llvm::StringRef, 128> listed;
  llvm::X86::fillValidCPUArchList(listed, /*Only64Bit=*/true);
  std::vector<std::string> result = {"generic"};
  for (const llvm::StringRef name : listed)
    result.push_back(name.str());
  return result;
}

std::string model(const std::string& name) {
  const auto kind = llvm::X86::parseArchX86(name, /*Only64Bit=*/true);
  return kind == llvm::X86::CK_None ? std::string() : std::to_string(static_cast<int>(kind));
}

bool is_feature(const std::string& name) {
  return known_features().contains(name);
}

// LLVM separates crc32 from sse4.2 although one CPUID bit covers both. AVX is reported only if the operating
// system saves its registers with XSAVE.
FeatureSet equivalent(const FeatureSet& features) {
  FeatureSet more;
  if (features.contains("sse4.2"))
    more.insert("crc32");
  if (features.contains("avx"))
    more.insert("xsave");
  return more;
}

// x87 is never detected, and some hypervisors hide other baseline features, but every x86-64 CPU has them.
FeatureSet deciding(const FeatureSet& level) {
  FeatureSet result = level;
  for (const std::string& feature : complete({}))
    result.erase(feature);
  return result;
}

NamedCpu detected(const std::string& name, const std::map<std::string, bool>& detected) {
  NamedCpu cpu{named(name) ? name : "generic", {}};
  for (const auto& [feature, on] : detected)
    if (on)
      cpu.features.insert(feature);
  return cpu;
}

} // namespace
} // namespace x86

const Architecture& x86_64() {
  using namespace x86;
  static const Architecture architecture{"x86_64",
                                         "x86_64-pc-linux-gnu",
                                         "amd64",
                                         {"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"},
                                         "x86-64-v3",
                                         named,
                                         names,
                                         model,
                                         is_feature,
                                         implied,
                                         equivalent,
                                         deciding,
                                         {{128, ""}, {256, "avx"}, {512, "avx512f"}},
                                         detected};
  return architecture;
}

} // namespace xaas::target
