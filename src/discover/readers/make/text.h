// The text of makefiles: words, references, patterns with `%`.
//
// Source: GNU make manual, "Functions for String Substitution and Analysis".
#pragma once

#include <string>
#include <vector>

namespace xaas::discover::make_text {

inline constexpr char unknown = '\x01'; // a part of a value that only a shell knows
inline constexpr size_t longest_value = 1u << 20;

std::vector<std::string> words_of(const std::string& text); // separated by blanks and tabs

// The position of the parenthesis or comma that ends a part of a reference. Nested references are skipped.
size_t end_of_part(const std::string& text, size_t at, char close, bool comma);

std::string replace_pattern(const std::string& word, const std::string& pattern, const std::string& by);
bool matches(const std::string& word, const std::string& pattern);
// Stops at the longest value.
std::string replace_all(const std::string& text, const std::string& from, const std::string& to);

} // namespace xaas::discover::make_text
