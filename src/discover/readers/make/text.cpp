#include "readers/make/text.h"

#include <algorithm>

namespace xaas::discover::make_text {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  size_t at = 0;
  while ((at = text.find_first_not_of(" \t", at)) != std::string::npos) {
    const size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// The position of the parenthesis or comma that ends a part of a reference. Nested references are skipped.
size_t end_of_part(const std::string& text, size_t at, char close, bool comma) {
  const char open = close == ')' ? '(' : '{';
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == open)
      ++depth;
    else if (text[at] == close && depth-- == 0)
      return at;
    else if (comma && depth == 0 && text[at] == ',')
      return at;
  }
  return at;
}

std::string replace_pattern(const std::string& word, const std::string& pattern, const std::string& by) {
  const size_t percent = pattern.find('%');
  if (percent == std::string::npos)
    return word == pattern ? by : word;
  const std::string head = pattern.substr(0, percent), tail = pattern.substr(percent + 1);
  if (word.size() < head.size() + tail.size() || !word.starts_with(head) || !word.ends_with(tail))
    return word;
  const std::string stem = word.substr(head.size(), word.size() - head.size() - tail.size());
  const size_t there = by.find('%');
  return there == std::string::npos ? by : by.substr(0, there) + stem + by.substr(there + 1);
}

bool matches(const std::string& word, const std::string& pattern) {
  static const std::string mark(1, '\x02');
  return replace_pattern(word, pattern, mark) == mark && word != mark;
}

std::string replace_all(const std::string& text, const std::string& from, const std::string& to) {
  if (from.empty())
    return text + to;
  std::string result;
  size_t at = 0;
  for (size_t found; result.size() < longest_value && (found = text.find(from, at)) != std::string::npos;
       at = found + from.size())
    result.append(text, at, found - at).append(to);
  return result.append(text, at).substr(0, longest_value);
}

} // namespace xaas::discover::make_text
