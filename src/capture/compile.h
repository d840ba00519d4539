// One compilation to an object file.
#pragma once

#include "arguments.h"

#include <string>
#include <vector>

namespace xaas::capture {

enum class CompileOutcome {
  captured, // object and unit are written
  failed,   // the source has errors, which were printed
  not_ours, // this cc1 command makes no object from C or C++: run it as it is
  carried,  // makes an object that cannot be carried as IR: run the command as it is; the reason is written
            // down
};

struct CompileResult {
  CompileOutcome outcome = CompileOutcome::failed;
  fs::path output;    // of `captured` and `carried`
  std::string reason; // of `carried`: why it has no IR
};

// Captures the compilation that a cc1 command (without "-cc1") asks for. Errors of ours (no space, say) are
// printed and are `failed`.
CompileResult capture_compile(const Session& session, const WrittenMachine& written,
                              const std::vector<std::string>& command);

// Writes down why an object has no IR. `object` is the finished file.
void note_native_object(const Session& session, const fs::path& object, const std::string& reason);

// The object of a stored unit for the build machine: as fast as it can be made, or at the project's own -O.
Result<std::string> working_object(const Session& session, const Digest& unit, bool optimised);

} // namespace xaas::capture
