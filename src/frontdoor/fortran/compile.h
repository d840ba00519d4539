// One Fortran compilation to an object file.
#pragma once

#include "c/compile.h"

namespace xaas::frontdoor {

// Captures the compilation that a job of flang's driver asks for: `command` begins with "-fc1", `flang` is
// the program that the driver would run. Prints what flang prints. Not thrown at: what flang refuses, or
// cannot compile up to IR alone, is `carried`, so that its own run of the whole job makes the object or says
// why not.
CompileResult capture_fortran(const session::Session& session, const WrittenMachine& written,
                              const fs::path& flang, const std::vector<std::string>& command);

} // namespace xaas::frontdoor
