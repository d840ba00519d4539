#include "readers/autotools/guards.h"
#include "readers/autotools/macros.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace xaas::discover {

namespace {

unsigned lines_in(const std::string& text) {
  return static_cast<unsigned>(std::count(text.begin(), text.end(), '\n'));
}

// The variables that an action sets to a word for yes or no, or to the option's value.
std::vector<std::string> switches_in(const std::string& action) {
  static const std::set<std::string> values = {"yes", "no", "true",       "false",
                                               "1",   "0",  "$enableval", "$withval"};
  std::vector<std::string> names;
  for (size_t at = action.find('='); at != std::string::npos; at = action.find('=', at + 1)) {
    size_t begin = at;
    while (begin > 0 && is_word_character(action[begin - 1]))
      --begin;
    std::string value;
    for (size_t i = at + 1;
         i < action.size() && (is_word_character(action[i]) ||
                               std::string_view("$\"{}").find(action[i]) != std::string_view::npos);
         ++i)
      if (is_word_character(action[i]) || action[i] == '$')
        value.push_back(action[i]);
    const bool is_number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (begin < at && (is_number || values.count(value)))
      names.push_back(action.substr(begin, at - begin));
  }
  return names;
}

// Whether a test holds for the word "no": `test "x$X" = xno`, `test $X != yes`.
bool asks_for_no(const std::string& test) {
  std::string plain;
  for (const char c : test)
    if (std::string_view("\"'{}[]").find(c) == std::string_view::npos)
      plain.push_back(c);
  for (const char* no : {"= xno", "= no", "=xno", "=no", "== no", "= Xno", "!= xyes", "!= yes", "!= Xyes"})
    if (const size_t at = plain.find(no);
        at != std::string::npos && (std::string_view(no)[0] == '!' || at == 0 || plain[at - 1] != '!'))
      return true;
  return false;
}

} // namespace

Guards::Guards(const std::string& text) {
  find_options(text);
  if (options_.empty())
    return;
  find_macros(text);
  find_shell(text);
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.first < b.first; });
}

std::vector<std::string> Guards::around(unsigned line) const {
  std::vector<std::string> conditions;
  for (const Part& part : parts_)
    if (part.first <= line && line <= part.last &&
        std::find(conditions.begin(), conditions.end(), part.condition) == conditions.end())
      conditions.push_back(part.condition);
  return conditions;
}

void Guards::find_options(const std::string& text) {
  for (const bool enable : {true, false})
    for (const MacroCall& call : calls_of(text, enable ? "AC_ARG_ENABLE" : "AC_ARG_WITH")) {
      if (call.arguments.empty())
        continue;
      const std::string prefix = enable ? "enable" : "with";
      const std::string option = prefix + "-" + call.arguments[0];
      std::string variable = prefix + "_" + call.arguments[0];
      std::replace_if(variable.begin(), variable.end(), [](char c) { return !is_word_character(c); }, '_');
      options_.emplace(variable, option);
      for (size_t i = 2; i < call.arguments.size(); ++i)
        for (const std::string& name : switches_in(call.arguments[i]))
          options_.emplace(name, option);
    }
}

void Guards::add(unsigned first, unsigned last, const std::string& test, bool negated) {
  for (size_t at = test.find('$'); at != std::string::npos; at = test.find('$', at + 1)) {
    const size_t begin = at + (at + 1 < test.size() && test[at + 1] == '{' ? 2 : 1);
    size_t end = begin;
    while (end < test.size() && is_word_character(test[end]))
      ++end;
    if (const auto found = options_.find(test.substr(begin, end - begin)); found != options_.end())
      parts_.push_back({first, last, (asks_for_no(test) != negated ? "NOT " : "") + found->second});
  }
}

void Guards::find_shell(const std::string& text) {
  struct Open {
    unsigned first = 0;
    std::string test;
    bool negated = false;
  };
  std::vector<Open> open;
  constexpr size_t deepest = 100;
  unsigned number = 0;
  for (const std::string& whole : split(text, '\n')) {
    ++number;
    const std::string line = whole.substr(std::min(whole.find_first_not_of(" \t[("), whole.size()));
    const bool other = line.starts_with("elif ") || line.starts_with("else");
    const bool ends = (line.starts_with("fi") && (line.size() == 2 || !is_word_character(line[2]))) ||
                      (!line.starts_with("if ") && trim(line).ends_with("; fi"));
    if ((other || ends) && !open.empty()) {
      add(open.back().first, number, open.back().test, open.back().negated);
      if (ends)
        open.pop_back();
      else if (line.starts_with("elif "))
        open.back() = {number, line, false};
      else
        open.back() = {number, open.back().test, !open.back().negated};
    } else if (line.starts_with("if ") && open.size() < deepest) {
      if (!line.ends_with(" fi") && !line.ends_with(";fi"))
        open.push_back({number, line, false});
    }
  }
}

// The arguments of AS_IF, and the action of an option.
void Guards::find_macros(const std::string& text) {
  const auto last_line = [](const MacroCall& call, size_t i) {
    return i + 1 < call.lines.size() ? std::max(call.lines[i], call.lines[i + 1] - 1)
                                     : call.lines[i] + lines_in(call.arguments[i]) + 1;
  };
  for (const MacroCall& call : calls_of(text, "AS_IF"))
    for (size_t i = 1; i < call.arguments.size(); ++i)
      if (i % 2 == 1)
        add(call.lines[i], last_line(call, i), call.arguments[i - 1], false);
      else if (i + 1 == call.arguments.size())
        add(call.lines[i], last_line(call, i), call.arguments[i - 2], true);
  // Autoconf archive: the first argument says whether MPI is wanted, and others say what follows.
  for (const char* macro : {"AX_PROG_CXX_MPI", "AX_PROG_CC_MPI", "AX_PROG_FC_MPI", "AX_PROG_F77_MPI"})
    for (const MacroCall& call : calls_of(text, macro)) {
      const size_t before = parts_.size();
      if (!call.arguments.empty())
        add(call.line, call.line, call.arguments[0], false);
      for (size_t i = 1; i < call.arguments.size() && parts_.size() > before; ++i)
        for (const std::string& name : switches_in(call.arguments[i]))
          if (!parts_.back().condition.starts_with("NOT "))
            options_.emplace(name, parts_.back().condition);
    }
  for (const bool enable : {true, false})
    for (const MacroCall& call : calls_of(text, enable ? "AC_ARG_ENABLE" : "AC_ARG_WITH"))
      if (call.arguments.size() > 2 && call.lines[2] > call.line)
        parts_.push_back(
            {call.lines[2], last_line(call, 2), (enable ? "enable-" : "with-") + call.arguments[0]});
}

} // namespace xaas::discover
