// Problem: lowering a unit for a target must give each function the attributes that Clang would give it for
// the same source with -march=<target>, although only the flags and the function's own attribute are known.
//
// Example: -march=haswell -mno-fma, and a function with __attribute__((target("avx512f"))). Functions without
// the attribute get "target-cpu"="haswell" and "target-features"="+avx,+avx2,...,-avx512f,...,-fma". The
// function itself gets "+avx512f", and also "+fma", because avx512f is built on it: the attribute comes after
// the flags and undoes -mno-fma. No edit of the first string gives the second.
//
// Approach: compute the attributes as Clang does (CodeGenModule::GetCPUAndFeaturesAttributes,
// ASTContext::getFunctionFeatureMap), through the same TargetInfo calls, so that implied features come out as
// Clang gives them. The target's features take the place of -march; flags and attribute follow in Clang's
// order.
//
// Rejected: adding and removing entries of feature strings, as the example shows; running the front end
// again, because an image has no sources.
#include <xaas/ir/features.h>

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/LangOptions.h>
#include <clang/Basic/TargetInfo.h>
#include <clang/Basic/TargetOptions.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>

namespace xaas::ir {

InstructionSet instruction_set(const MachineFlags& flags, const UnitOptions& options,
                               const target::Cpu& target) {
  InstructionSet set;
  auto text = [&](const char* name) {
    const auto found = options.text.find(name);
    return found == options.text.end() ? std::string() : found->second;
  };
  set.triple = text("triple");
  set.abi = text("abi");
  set.fpmath = text("fpmath");
  const bool open = flags.cpu.empty() || flags.cpu == "native";
  set.cpu = open ? target.name : flags.cpu;
  set.tune = flags.tune;
  if (flags.tune == "native") {
    // An ISA level is not a CPU to tune for; the CPU decides.
    const std::vector<std::string> levels = target::isa_levels(target.arch);
    const bool is_level = std::find(levels.begin(), levels.end(), target.name) != levels.end();
    set.tune = is_level ? std::string() : target.name;
  }
  if (open) {
    // The target may have more features than its CPU name implies, or fewer (a virtual machine hides a flag).
    // Those that it has come first, then those that the name implies and it lacks: removing a feature also
    // removes those built on it.
    const Result<std::vector<std::string>> named = target::features_of(target.arch, target.name);
    const std::vector<std::string> own = named ? *named : std::vector<std::string>();
    // On AArch64, Clang's driver knows a CPU's features, and lists all of them.
    const bool all = target.arch == "aarch64";
    for (const std::string& feature : all ? target.features : target::missing_features(target.features, own))
      set.machine.push_back("+" + feature);
    for (const std::string& feature : target::missing_features(own, target.features))
      set.machine.push_back("-" + feature);
  }
  set.features = flags.features;
  const auto limit = [&](const char* name) {
    const auto found = options.language.find(name);
    return found == options.language.end() ? 0u : static_cast<unsigned>(found->second);
  };
  set.vscale = {limit("VScaleMin"), limit("VScaleMax"), limit("VScaleStreamingMin"),
                limit("VScaleStreamingMax")};
  return set;
}

Result<TargetAttributes> plain_attributes(const std::vector<MachineFlags>& units, const target::Cpu& target) {
  const bool agree = !units.empty() && std::equal(units.begin() + 1, units.end(), units.begin());
  InstructionSet set = instruction_set(agree ? units.front() : MachineFlags(), {}, target);
  set.triple = target::triple(target.arch);
  XAAS_TRY(const FeatureResolver resolver, FeatureResolver::create(set));
  return resolver.attributes("");
}

struct FeatureResolver::State {
  clang::DiagnosticOptions diagnostic_options;
  std::unique_ptr<clang::DiagnosticsEngine> diagnostics;
  clang::TargetOptions options;
  clang::LangOptions language;
  std::vector<std::string> machine; // the first part of options.FeaturesAsWritten
  std::unique_ptr<clang::TargetInfo>
      info; // owned apart: TargetInfo is reference-counted by hand in CompilerInstance
};

FeatureResolver::FeatureResolver(std::unique_ptr<State> state) : state_(std::move(state)) {}
FeatureResolver::FeatureResolver(FeatureResolver&&) noexcept = default;
FeatureResolver& FeatureResolver::operator=(FeatureResolver&&) noexcept = default;
FeatureResolver::~FeatureResolver() = default;

Result<FeatureResolver> FeatureResolver::create(const InstructionSet& set) {
  auto state = std::make_unique<State>();
  state->diagnostics = std::make_unique<clang::DiagnosticsEngine>(
      llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), state->diagnostic_options,
      new clang::IgnoringDiagConsumer, true);
  state->options.Triple = set.triple;
  state->options.ABI = set.abi;
  state->options.FPMath = set.fpmath;
  state->options.CPU = set.cpu;
  state->options.TuneCPU = set.tune;
  state->machine = set.machine;
  state->language.VScaleMin = set.vscale.min;
  state->language.VScaleMax = set.vscale.max;
  state->language.VScaleStreamingMin = set.vscale.streaming_min;
  state->language.VScaleStreamingMax = set.vscale.streaming_max;
  state->options.FeaturesAsWritten = set.machine;
  state->options.FeaturesAsWritten.insert(state->options.FeaturesAsWritten.end(), set.features.begin(),
                                          set.features.end());
  state->info.reset(clang::TargetInfo::CreateTargetInfo(*state->diagnostics, state->options));
  if (!state->info)
    return make_error(ErrorKind::integrity, "no instruction set for triple '" + set.triple + "', CPU '" +
                                                set.cpu + "', features '" + llvm::join(set.features, ",") +
                                                "'");
  return FeatureResolver(std::move(state));
}

Result<TargetAttributes> FeatureResolver::attributes(const std::string& written) const {
  const clang::TargetInfo& info = *state_->info;
  const clang::TargetOptions& options = state_->options;
  TargetAttributes result{options.CPU, options.TuneCPU, {}};
  std::vector<std::string> features;
  if (written.empty()) {
    features = options.Features;
  } else {
    const std::string kind = written.substr(0, written.find(':'));
    const std::string text = kind.size() < written.size() ? written.substr(kind.size() + 1) : "";
    const clang::ParsedTargetAttr parsed = info.parseTargetAttr(text);
    std::string cpu = info.isValidCPUName(parsed.CPU) ? parsed.CPU.str() : options.CPU;
    std::vector<std::string> own;
    if (kind == "target") {
      own = options.FeaturesAsWritten;
      for (const std::string& feature : parsed.Features)
        if (feature.size() > 1 && info.isValidFeatureName(feature.substr(1)))
          own.push_back(feature);
      if (info.isValidCPUName(parsed.CPU)) {
        result.cpu = cpu;
        result.tune.clear();
      }
      if (info.isValidCPUName(parsed.Tune))
        result.tune = parsed.Tune.str();
    } else if (kind == "clone") {
      // Clang gives a version the features of the CPU and its own, without those of the source's flags, and
      // keeps `target-cpu`.
      own = state_->machine;
      if (!text.starts_with("arch=") && text != "default")
        own.push_back("+" + text);
    } else {
      return make_error(ErrorKind::integrity, "target attribute '" + written + "' has no known form");
    }
    llvm::StringMap<bool> map;
    if (!info.initFeatureMap(map, *state_->diagnostics, cpu, own))
      return make_error(ErrorKind::integrity, "target attribute '" + written + "' cannot be resolved");
    for (const auto& entry : map)
      features.push_back((entry.getValue() ? "+" : "-") + entry.getKey().str());
  }
  std::erase_if(features,
                [&](const std::string& feature) { return info.isReadOnlyFeature(feature.substr(1)); });
  std::sort(features.begin(), features.end());
  result.features = llvm::join(features, ",");
  return result;
}

// Follows CodeGenFunction::StartFunction.
Result<std::optional<VscaleRange>> FeatureResolver::vscale_range(const std::string& written,
                                                                 Streaming mode) const {
  using Kind = clang::TargetInfo::ArmStreamingKind;
  XAAS_TRY(const TargetAttributes own, attributes(written));
  llvm::StringMap<bool> map;
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(own.features).split(features, ',', -1, false);
  for (const llvm::StringRef feature : features)
    map[feature.drop_front()] = feature.starts_with("+");
  const Kind kind = mode == Streaming::yes          ? Kind::Streaming
                    : mode == Streaming::compatible ? Kind::StreamingCompatible
                                                    : Kind::NotStreaming;
  return state_->info->getVScaleRange(state_->language, kind, &map);
}

} // namespace xaas::ir
