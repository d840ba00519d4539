// Options that a command declares whose definition is not in the tree, guessed from the shape of the call.
#pragma once

#include "readers/cmake/values.h"

#include <optional>
#include <string>
#include <vector>

namespace xaas::discover {

struct GuessedOption {
  enum class Form { boolean, choice, text, place };
  Form form = Form::boolean;
  std::string name, help;
  CMakeWord value{"OFF"};
  std::vector<std::string> values; // of a choice
  std::string condition;           // under which it exists; parts are separated by semicolons
  CMakeWord otherwise{"OFF"};      // its value if the condition does not hold
};

// `command` is neither CMake's own nor defined in the tree; `words` are its evaluated arguments.
std::optional<GuessedOption> guess_option(const CMakeCommand& command, const std::vector<CMakeWord>& words);

// Whether it is a command of CMake itself (cmake-commands(7)).
bool is_own_command(const std::string& name);

} // namespace xaas::discover
