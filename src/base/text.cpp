#include <xaas/base/text.h>

#include <algorithm>
#include <numeric>

namespace xaas {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty())
    return parts;
  size_t start = 0;
  for (size_t end = text.find(separator); end != std::string_view::npos; end = text.find(separator, start)) {
    parts.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  parts.emplace_back(text.substr(start));
  return parts;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i)
      text += separator;
    text += parts[i];
  }
  return text;
}

std::string trim(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos)
    return {};
  return std::string(text.substr(first, text.find_last_not_of(blank) - first + 1));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = from.empty() ? std::string::npos : text.find(from);
  if (at == std::string::npos)
    return text;
  std::string result;
  size_t start = 0;
  for (; at != std::string::npos; at = text.find(from, start)) {
    result.append(text, start, at - start).append(to);
    start = at + from.size();
  }
  return result.append(text, start);
}

std::string to_lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return text;
}
std::string to_upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
  return text;
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix);
}
bool ends_with(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix);
}

static size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = word.size() / 3 + 2;
  for (const std::string& candidate : candidates)
    if (const size_t distance = edit_distance(word, candidate); distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  return best;
}

std::map<std::string, std::string> variables_of(const std::vector<std::string>& list) {
  std::map<std::string, std::string> variables;
  for (const std::string& entry : list)
    if (const size_t equals = entry.find('='); equals != std::string::npos && equals > 0)
      variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  return variables;
}

} // namespace xaas
