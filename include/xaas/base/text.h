// Small string helpers.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace xaas {

// Text from untrusted input, for a message: quotes what a terminal would obey (base/plain_stream.h).
std::string printable(std::string text);

std::vector<std::string> split(std::string_view text, char separator); // "" has no parts
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string trim(std::string_view text);
std::string replaced(std::string text, const std::string& from,
                     const std::string& to); // each `from`, if not empty
std::string to_lower(std::string text);      // ASCII letters
std::string to_upper(std::string text);
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_word_character(char c) { // ASCII letters and digits, and `_`
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}
bool starts_with(std::string_view text, std::string_view prefix);
bool ends_with(std::string_view text, std::string_view suffix);

// The candidate nearest to `word` by edit distance if it is close enough to be a typing error, else "".
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// The variables of a list of K=V; the last of a name wins. Entries without a name or `=` do not count.
std::map<std::string, std::string> variables_of(const std::vector<std::string>& list);

} // namespace xaas
