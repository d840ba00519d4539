// Parses a command of flang's front end (`flang -fc1`) for its capture.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/ir/options.h>

#include <clang/Frontend/CompilerInvocation.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

struct FortranCommand {
  std::string source; // as in the command
  fs::path output;
  // Arguments for the front end alone, without input, kind of output and its name. The caller adds these.
  std::vector<std::string> front_end;
  // The back end's part of the command, as a Clang invocation.
  std::shared_ptr<clang::CompilerInvocation> back_end;
  std::string refusal; // why the object cannot be carried as IR; empty: it can
};

// Reads a command without "-fc1". Nothing if it makes no object from one Fortran source: preprocessing,
// syntax checks, listings.
std::optional<FortranCommand> parse_fortran_command(const std::vector<std::string>& command);

} // namespace xaas::frontdoor
