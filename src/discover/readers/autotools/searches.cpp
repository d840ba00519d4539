#include "readers/autotools/searches.h"
#include "knowledge.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace xaas::discover {

namespace {

// The words of a macro's name that say what it does, not with what.
bool is_about_searching(const std::string& word) {
  static const std::set<std::string> words = {
      "ax",  "acx", "ac",  "am",   "x",    "check", "prog", "path", "lib", "libs",   "cc",
      "cxx", "fc",  "f77", "find", "have", "with",  "arg",  "lang", "c",   "search", "enable"};
  return words.count(word) > 0;
}

bool is_of_macro(char c) {
  return std::isupper(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) ||
         c == '_';
}

// "AX_CHECK_CUDA": "cuda"; empty: it names no library that is known.
std::string library_of(const std::string& macro) {
  if (!macro.starts_with("AX_") && !macro.starts_with("ACX_") && macro != "AC_OPENMP")
    return "";
  std::vector<std::string> words = Knowledge::words_of(macro);
  std::erase_if(words, is_about_searching);
  return Knowledge::get().entry(words) ? join(words, " ") : "";
}

} // namespace

std::vector<std::pair<std::string, unsigned>> libraries_of_macros(const std::string& text) {
  std::vector<std::pair<std::string, unsigned>> libraries;
  unsigned line = 1;
  bool comment = false;
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      ++line;
      comment = false;
    }
    comment |= text[at] == '#' || text.compare(at, 4, "dnl ") == 0;
    size_t end = at;
    while (end < text.size() && is_of_macro(text[end]))
      ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const bool is_part =
        at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '$');
    if (!comment && !is_part)
      if (std::string library = library_of(text.substr(at, end - at)); !library.empty())
        libraries.emplace_back(std::move(library), line);
    at = end;
  }
  return libraries;
}

std::vector<std::string> values_of_case(const std::string& text) {
  static const std::set<std::string> yes_or_no = {"yes",   "no", "on",   "off",   "auto",
                                                  "check", "*",  "true", "false", ""};
  const size_t begin = text.find("case ");
  const size_t in = begin == std::string::npos ? begin : text.find(" in", begin);
  if (in == std::string::npos)
    return {};
  const size_t end = text.find("esac", in);
  std::vector<std::string> values;
  // Each pattern begins after `in` or `;;`, and ends at a parenthesis.
  for (size_t at = in + 3; at < std::min(end, text.size());) {
    const size_t close = text.find(')', at);
    if (close == std::string::npos || close > end)
      break;
    for (const std::string& pattern : split(text.substr(at, close - at), '|')) {
      std::string value;
      for (const char c : trim(pattern))
        if (std::string_view("()[]\"' \t\n").find(c) == std::string_view::npos)
          value.push_back(c);
      if (constexpr size_t longest = 40; !yes_or_no.count(to_lower(value)) && value.size() < longest &&
                                         value.find_first_of("$*?/=`\\") == std::string::npos &&
                                         std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(std::move(value));
    }
    const size_t next = text.find(";;", close);
    if (next == std::string::npos)
      break;
    at = next + 2;
  }
  return values;
}

} // namespace xaas::discover
