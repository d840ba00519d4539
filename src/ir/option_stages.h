// What in Clang reads each code-generation option. A unit with options that the optimizer reads cannot be
// optimized in two halves, and one whose options are not in the IR cannot take part in link-time
// optimization.
//
// A test compares the table with Clang's headers, so that an option which a later Clang adds is classified.
#pragma once

#include <optional>
#include <string_view>

namespace xaas::ir {

enum class OptionStage {
  // Controls the compile itself, not the generated code; not carried in units.
  compile,
  // The front end has used it up, the IR carries it (attributes, module flags), or it chooses how much is
  // optimized and not what the program does.
  ir,
  // The front end, the code generator, the assembler or the tuning of every pipeline reads it; it adds no
  // pass.
  code_generator,
  // It adds passes to Clang's own pipelines, or has not been examined.
  pipeline,
};

// The stage of a member of clang::CodeGenOptions; nothing if the table lacks it.
std::optional<OptionStage> stage_of(std::string_view option);

} // namespace xaas::ir
