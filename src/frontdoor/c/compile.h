// One compilation to an object file.
#pragma once

#include "arguments.h"

#include <xaas/ir/unit.h>

#include <string>
#include <vector>

namespace clang {
class TargetOptions;
} // namespace clang

namespace xaas::frontdoor {

enum class CompileOutcome {
  captured, // object and unit are written
  failed,   // the source has errors, which were printed
  not_ours, // this command makes no object from a source of our languages: run it as it is
  carried,  // makes an object that cannot be carried as IR: run the command as it is; the reason is written
            // down
};

struct DeviceCode;

struct CompileResult {
  CompileOutcome outcome = CompileOutcome::failed;
  fs::path output;    // of `captured` and `carried`
  std::string reason; // of `carried`: why it has no IR
};

// Captures the compilation that a cc1 command (without "-cc1") asks for. Errors of ours (no space, say) are
// printed and are `failed`. `device`: how the unit gets those of the same source for devices.
CompileResult capture_compile(const session::Session& session, const WrittenMachine& written,
                              const std::vector<std::string>& command, const DeviceCode& device);

// -march and -mtune as the unit keeps them: what was not written stays open, `native` stays a symbol.
ir::MachineFlags machine_flags(const clang::TargetOptions& options, const WrittenMachine& written);

} // namespace xaas::frontdoor
