// One Fortran compilation to an object file.
#pragma once

#include "c/compile.h"

namespace xaas::frontdoor {

// Captures the compilation that a job of flang's driver asks for: `command` begins with "-fc1", `flang` is
// the program that the driver would run. Prints flang's messages. If flang refuses the source, or cannot
// compile it to IR alone, the result is `carried`, so that flang's own run of the whole job makes the object
// or reports the error.
CompileResult capture_fortran(const session::Session& session, const WrittenMachine& written,
                              const fs::path& flang, const std::vector<std::string>& command);

} // namespace xaas::frontdoor
