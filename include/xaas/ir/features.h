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

// What Clang puts on a function: `target-cpu`, `tune-cpu`, `target-features`. Empty: attribute absent.
struct TargetAttributes {
  std::string cpu, tune, features;
  bool operator==(const TargetAttributes&) const = default;
};

// What the source's flags say about the length of scalable vectors (-msve-vector-bits=,
// -msve-streaming-vector-bits=), as multiples of 128 bits; 0: nothing.
struct VscaleLimits {
  unsigned min = 0, max = 0, streaming_min = 0, streaming_max = 0;
};

// In which mode of AArch64's SME a function runs.
enum class Streaming { no, compatible, yes };

// The attribute `vscale_range` of a function: how long its scalable vectors may be.
using VscaleRange = std::pair<unsigned, unsigned>;

// The instruction set of one unit: a CPU, what to tune for, and the signed features on top of the CPU's own.
struct InstructionSet {
  std::string triple, abi, fpmath;
  std::string cpu, tune;
  std::vector<std::string> features; // of the source's flags
  std::vector<std::string>
      machine; // what the target has beyond its CPU's name, or lacks; applied before `features`
  VscaleLimits vscale = {};
};

// The instruction set of a unit lowered for a target: where the flags leave the CPU open it is the target's,
// with exactly the target's features; the unit's own features come on top, in their order.
InstructionSet instruction_set(const MachineFlags& flags, const UnitOptions& options,
                               const target::Cpu& target);

// Computes attributes. `written` is the source's own attribute in the form that canonical IR keeps:
// "target:avx2,fma", "clone:avx512f" (one version of target_clones), "" for none. Other attributes that
// choose instructions ("other") cannot be computed: integrity error.
class FeatureResolver {
public:
  // A triple, CPU or feature that Clang does not know: integrity error.
  static Result<FeatureResolver> create(const InstructionSet& set);
  FeatureResolver(FeatureResolver&&) noexcept;
  FeatureResolver& operator=(FeatureResolver&&) noexcept;
  ~FeatureResolver();
  Result<TargetAttributes> attributes(const std::string& written) const;
  // Of a function with a body. Nothing: Clang gives it no such attribute.
  Result<std::optional<VscaleRange>> vscale_range(const std::string& written, Streaming mode) const;

private:
  struct State;
  explicit FeatureResolver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xaas::ir
