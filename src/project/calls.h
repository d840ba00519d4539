// Calls in the languages of build systems: their positions and arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::project {

enum class Language { cmake, m4, meson };

struct Call {
  uint64_t line = 0;   // from 1
  size_t position = 0; // of the text between the parentheses
  std::string name;
  std::string text; // between the parentheses
};

// Every `name(...)` with one of these names (given in lower case; case in the text does not matter), outside
// comments and other such calls.
std::vector<Call> find_calls(const std::string& text, Language language,
                             const std::vector<std::string>& names);

// `text` with each `$name`, `${name}` and `$(name)` replaced by `*`; adjacent ones become one.
std::string variables_as_stars(std::string_view text);

} // namespace xaas::project
