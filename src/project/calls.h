// Calls in the languages of build systems: where they are, and their text.
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

// Every `name(...)` of one of these names (in lower case; that of the text does not matter), outside comments
// and outside other such calls.
std::vector<Call> find_calls(const std::string& text, Language language,
                             const std::vector<std::string>& names);

// `text` with each `$name`, `${name}` and `$(name)` as a `*`, side by side ones as one.
std::string variables_as_stars(std::string_view text);

} // namespace xaas::project
