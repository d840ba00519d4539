// One compilation to an object file.
#pragma once

#include "arguments.h"

#include <xaas/ir/unit.h>

#include <string>
#include <vector>

namespace clang {
class CompilerInvocation;
class TargetOptions;
} // namespace clang

namespace xaas::frontdoor {

enum class CompileOutcome {
  captured, // object and unit have been written
  failed,   // the source has errors, which have been printed
  not_ours, // not a compile of our languages to an object: run the command as it is
  carried,  // makes an object that cannot be carried as IR: run the command as it is; the caller records the
            // reason
};

struct DeviceCode;

struct CompileResult {
  CompileOutcome outcome = CompileOutcome::failed;
  fs::path output;    // for `captured` and `carried`
  std::string reason; // for `carried`: why the object has no IR
};

// Captures the compilation that a cc1 command (without "-cc1") asks for. Prints our own errors (no space, for
// example) and returns `failed` for them. `device`: how the unit gets the units of the same source for
// devices.
CompileResult capture_compile(const session::Session& session, const WrittenMachine& written,
                              const std::vector<std::string>& command, const DeviceCode& device);

// Why the object of this command cannot be carried as IR, by its options; empty: they are no reason.
std::string refusal_of(const clang::CompilerInvocation& invocation, const WrittenMachine& written);

// True if neither an -O option nor anything else (-Xclang -O2) said how much to optimize.
bool is_unoptimized(const ir::UnitOptions& options, const WrittenMachine& written);

// -march and -mtune in the unit's form: flags that were not given stay open, and `native` stays a symbol.
ir::MachineFlags machine_flags(const clang::TargetOptions& options, const WrittenMachine& written);

} // namespace xaas::frontdoor
