// What in Clang reads each code-generation option. A unit with options that the optimizer reads cannot be
// optimized in two halves, and one whose options are not in the IR cannot take part in link-time
// optimization.
//
// A test compares the lists with Clang's headers, so that an option which a later Clang adds is classified.
#pragma once

#include <optional>
#include <string_view>

namespace xaas::ir {

enum class OptionStage {
  compile, // controls the compile itself, not the generated code; not carried in units
  ir,      // the front end, whose IR has the effect (attributes, module flags), or how much is optimized
  code_generator, // the front end, the code generator or the assembler, or the tuning of all pipelines: no
                  // pass
  pipeline,       // passes that Clang adds to its own pipelines, or not examined
};

// The stage of a member of clang::CodeGenOptions; nothing if it is in no list.
std::optional<OptionStage> stage_of(std::string_view option);

} // namespace xaas::ir
