#include "readers/autotools/searches.h"
#include "knowledge.h"
#include "readers/autotools/macros.h"

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

std::vector<std::string> values_of_variable(const std::string& text, const std::string& variable) {
  const std::string plain = "$" + variable, braced = "${" + variable + "}";
  for (const MacroCall& call : calls_of(text, "AS_CASE")) {
    if (call.arguments.empty() || (call.arguments[0] != plain && call.arguments[0] != braced))
      continue;
    std::string patterns; // as a shell's `case` has them; the last argument alone is for all other words
    for (size_t i = 1; i + 1 < call.arguments.size(); i += 2)
      patterns += call.arguments[i] + ") ;;\n";
    return values_of_case("case " + plain + " in\n" + patterns + "esac");
  }
  for (const std::string& word : {plain, braced, '"' + plain + '"', '"' + braced + '"'})
    if (const size_t at = text.find("case " + word + " in"); at != std::string::npos)
      return values_of_case(text.substr(at));
  return {};
}

std::vector<std::string> values_listed(const std::string& help) {
  std::vector<std::string> values;
  for (const std::string& line : split(help, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos)
      continue;
    // "posix or pthreads - POSIX threads": the first word is the usual one.
    const std::string word = trim(line.substr(0, dash)).substr(0, trim(line.substr(0, dash)).find(' '));
    if (!word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
          return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
        }))
      values.push_back(word);
  }
  return values;
}

std::string variable_of_value(const std::string& action) {
  for (const char* value : {"$withval", "${withval}", "\"$withval\"", "\"${withval}\"", "$enableval",
                            "${enableval}", "\"$enableval\"", "\"${enableval}\""}) {
    const size_t at = action.find(std::string("=") + value);
    if (at == std::string::npos || at == 0)
      continue;
    size_t begin = at;
    while (begin > 0 &&
           (std::isalnum(static_cast<unsigned char>(action[begin - 1])) || action[begin - 1] == '_'))
      --begin;
    return action.substr(begin, at - begin);
  }
  return {};
}

std::string assigned_before(const std::string& text, const std::string& variable, unsigned line) {
  std::string value;
  unsigned number = 1;
  for (size_t at = 0; at < text.size() && number < line; ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, variable.size() + 1, variable + "=") == 0)
      value = trim(text.substr(at + variable.size() + 1, end - at - variable.size() - 1));
    at = end + 1;
  }
  return value.find_first_of(" $`\"'") == std::string::npos ? value : "";
}

std::vector<OptionMacro> option_macros(const std::string& text) {
  std::vector<OptionMacro> macros;
  for (const char* define : {"AC_DEFUN", "AC_DEFUN_ONCE"})
    for (const MacroCall& call : calls_of(text, define))
      if (call.arguments.size() > 1)
        for (const char* declare :
             {"AC_ARG_WITH([$1]", "AC_ARG_ENABLE([$1]", "AC_ARG_WITH($1,", "AC_ARG_ENABLE($1,"})
          if (call.arguments[1].find(declare) != std::string::npos) {
            macros.push_back({call.arguments[0], call.arguments[1]});
            break;
          }
  return macros;
}

std::string expanded(const OptionMacro& macro, const std::vector<std::string>& arguments) {
  std::string text;
  constexpr size_t longest = 100'000;
  for (size_t i = 0; i < macro.body.size() && text.size() < longest; ++i) {
    const char next = i + 1 < macro.body.size() ? macro.body[i + 1] : '\0';
    if (macro.body[i] != '$' || next < '1' || next > '9') {
      text.push_back(macro.body[i]);
      continue;
    }
    const size_t index = static_cast<size_t>(next - '1');
    text += index < arguments.size() ? arguments[index] : "";
    ++i;
  }
  return text;
}

} // namespace xaas::discover
