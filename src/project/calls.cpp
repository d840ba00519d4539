#include "calls.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>

namespace xaas::project {

namespace {

bool is_comment(Language language, std::string_view rest) {
  return rest.starts_with('#') || (language == Language::m4 && rest.starts_with("dnl"));
}

size_t after(std::string_view text, std::string_view end, size_t from) {
  const size_t found = text.find(end, from);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

// The position after the string that starts at `i`, or `i` if none does. m4 has no strings; its quotes are
// balanced.
size_t skip_string(Language language, std::string_view text, size_t i) {
  const std::string_view rest = text.substr(i);
  if (language == Language::cmake && rest.starts_with('"')) {
    for (++i; i < text.size() && text[i] != '"'; ++i)
      i += text[i] == '\\';
    return std::min(i + 1, text.size());
  }
  if (language == Language::cmake && rest.starts_with('[')) { // [==[ ... ]==]
    const size_t equals = std::min(rest.find_first_not_of('=', 1), rest.size());
    if (equals < rest.size() && rest[equals] == '[')
      return after(text, "]" + std::string(equals - 1, '=') + "]", i);
  }
  if (language == Language::meson && rest.starts_with("'''"))
    return after(text, "'''", i + 3);
  if (language == Language::meson && rest.starts_with('\'')) {
    for (++i; i < text.size() && text[i] != '\''; ++i)
      i += text[i] == '\\';
    return std::min(i + 1, text.size());
  }
  return i;
}

// The parenthesis that closes the one before `start`, or the end of the text if there is none.
size_t end_of_call(Language language, std::string_view text, size_t start) {
  size_t depth = 1;
  for (size_t i = start; i < text.size();) {
    if (const size_t next = skip_string(language, text, i); next != i) {
      i = next;
      continue;
    }
    depth += text[i] == '(';
    depth -= text[i] == ')';
    if (depth == 0)
      return i;
    ++i;
  }
  return text.size();
}

// Where the arguments of a call of `name` at `i` start; npos: no such call at `i`.
size_t arguments_of_call(const std::string& lower, size_t i, const std::string& name) {
  if (lower.compare(i, name.size(), name) != 0)
    return std::string::npos;
  const size_t open = lower.find_first_not_of(" \t", i + name.size());
  return open != std::string::npos && lower[open] == '(' ? open + 1 : std::string::npos;
}

} // namespace

std::vector<Call> find_calls(const std::string& text, Language language,
                             const std::vector<std::string>& names) {
  const std::string lower = to_lower(text);
  std::vector<Call> calls;
  size_t counted = 0;
  uint64_t line = 1;
  for (size_t i = 0; i < text.size();) {
    if (is_comment(language, std::string_view(lower).substr(i)) &&
        (i == 0 || !is_word_character(text[i - 1]))) {
      i = after(text, "\n", i);
      continue;
    }
    size_t next = i + 1;
    for (const std::string& name : names) {
      const size_t start =
          i > 0 && is_word_character(text[i - 1]) ? std::string::npos : arguments_of_call(lower, i, name);
      if (start == std::string::npos)
        continue;
      line += static_cast<uint64_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                               text.begin() + static_cast<std::ptrdiff_t>(i), '\n'));
      counted = i;
      next = end_of_call(language, text, start);
      calls.push_back({line, start, name, text.substr(start, next - start)});
      break;
    }
    i = next;
  }
  return calls;
}

std::string variables_as_stars(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const char open = text[i + 1];
    if (open == '{' || open == '(') {
      i = std::min(text.find(open == '{' ? '}' : ')', i), text.size() - 1);
    } else {
      while (i + 1 < text.size() && is_word_character(text[i + 1]))
        ++i;
    }
    if (!result.ends_with('*'))
      result += '*';
  }
  return result;
}

} // namespace xaas::project
