// The target attributes of functions, computed as Clang computes them from driver flags and written
// attributes.
#pragma once

#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/target/cpu.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace xaas::ir {

// The target attributes of a function: `target-cpu`, `tune-cpu`, `target-features`. Empty: no such attribute.
struct TargetAttributes {
  std::string cpu, tune, features;
  bool operator==(const TargetAttributes&) const = default;
};

// The length of scalable vectors according to the source's flags (-msve-vector-bits=,
// -msve-streaming-vector-bits=), in multiples of 128 bits; 0: not given.
struct VscaleLimits {
  unsigned min = 0, max = 0, streaming_min = 0, streaming_max = 0;
};

// The mode of AArch64's SME in which a function runs.
enum class Streaming { no, compatible, yes };

// The attribute `vscale_range` of a function: minimum and maximum length of its scalable vectors.
using VscaleRange = std::pair<unsigned, unsigned>;

// The instruction set of one unit: a CPU, what to tune for, and the signed features on top of the CPU's own.
struct InstructionSet {
  std::string triple, abi, fpmath;
  std::string cpu, tune;
  std::vector<std::string> features; // from the source's flags
  std::vector<std::string> machine;  // signed: features that the target has or lacks, against its CPU's name;
                                     // applied before `features`
  VscaleLimits vscale = {};
};

// The instruction set of a unit lowered for a target. If the flags leave the CPU open, it is the target's CPU
// with exactly the target's features. The unit's own features come on top, in their order.
InstructionSet instruction_set(const MachineFlags& flags, const UnitOptions& options,
                               const target::Cpu& target);

// What a function without attributes of its own gets in a program whose units have these flags: those on
// which all agree, or else none.
Result<TargetAttributes> plain_attributes(const std::vector<MachineFlags>& units, const target::Cpu& target);

// Computes attributes. `written` is the source's own attribute in the form that canonical IR keeps:
// "target:avx2,fma", "clone:avx512f" (one version of target_clones), "" for none. Other attributes that
// choose instructions ("other") are an integrity error.
class FeatureResolver {
public:
  // A triple, CPU or feature that Clang does not know: integrity error.
  static Result<FeatureResolver> create(const InstructionSet& set);
  FeatureResolver(FeatureResolver&&) noexcept;
  FeatureResolver& operator=(FeatureResolver&&) noexcept;
  ~FeatureResolver();
  Result<TargetAttributes> attributes(const std::string& written) const;
  // For a function with a body. Nothing if Clang gives it no such attribute.
  Result<std::optional<VscaleRange>> vscale_range(const std::string& written, Streaming mode) const;

private:
  struct State;
  explicit FeatureResolver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xaas::ir
