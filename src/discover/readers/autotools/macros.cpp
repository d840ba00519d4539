#include "readers/autotools/macros.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace xaas::discover {

std::vector<MacroCall> calls_of(const std::string& text, const std::string& macro) {
  std::vector<MacroCall> calls;
  size_t at = 0, counted = 0;
  unsigned line = 1;
  while ((at = text.find(macro, at)) != std::string::npos) {
    const size_t start = at;
    at += macro.size();
    const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    if ((start > 0 && is_part(text[start - 1])) || at >= text.size() || text[at] != '(')
      continue;
    // The text before it in its line, or only the end of it if the line is very long.
    constexpr size_t near = 300;
    const size_t low = start > near ? start - near : 0;
    const size_t begin = text.substr(low, start - low).rfind('\n');
    const std::string before =
        trim(text.substr(low, start - low).substr(begin == std::string::npos ? 0 : begin + 1));
    if (before.starts_with("dnl") || before.starts_with("#"))
      continue;
    line += static_cast<unsigned>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                             text.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
    counted = start;
    MacroCall call{{}, line, {}};
    std::string argument;
    unsigned begins = 0; // the argument, at its first character that is not white space
    unsigned here = line;
    int brackets = 0, parentheses = 0;
    for (++at; at < text.size(); ++at) {
      const char c = text[at];
      here += c == '\n';
      if (begins == 0 && !std::isspace(static_cast<unsigned char>(c)))
        begins = here;
      if (brackets == 0 && parentheses == 0 && (c == ',' || c == ')')) {
        call.arguments.push_back(trim(argument));
        call.lines.push_back(begins);
        argument.clear();
        begins = 0;
        if (c == ')')
          break;
        continue;
      }
      if (c == '[' && brackets++ == 0 && parentheses == 0)
        continue;
      if (c == ']' && --brackets == 0 && parentheses == 0)
        continue;
      if (brackets == 0)
        parentheses += c == '(' ? 1 : c == ')' ? -1 : 0;
      argument.push_back(c);
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

std::string without_quotes(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(), [](char c) { return c == '[' || c == ']'; }),
             text.end());
  return text;
}

std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)))
      line.push_back(c);
    else if (!line.empty() && line.back() != ' ')
      line.push_back(' ');
  return trim(line);
}

namespace {

// The file whose text a command prints: "cat VERSION", "tr -d '\\n' < VERSION".
std::string file_of(const std::string& command) {
  const std::vector<std::string> words = split(one_line(command), ' ');
  if (words.size() == 2 || (words.size() > 3 && words[2] == "|" && words[3] == "tr"))
    return words[0] == "cat" ? words[1] : "";
  if (words.size() == 5 && words[0] == "tr" && words[1] == "-d" && words[3] == "<")
    return words[4];
  return {};
}

} // namespace

MacroWords::MacroWords(const TreeFiles& tree, std::string directory, const std::string& text)
    : tree_(tree), directory_(std::move(directory)) {
  define(text);
  for (const char* macro : {"m4_include", "m4_sinclude", "include", "sinclude"})
    for (const MacroCall& call : calls_of(text, macro))
      if (!call.arguments.empty())
        define(tree_.text(directory_ + call.arguments[0]).value_or(""));
}

std::string MacroWords::evaluate(std::string text) const {
  constexpr int deepest = 16;
  for (int depth = 0; depth < deepest; ++depth) {
    std::string next = expand_names(without_wrappers(text));
    if (next == text)
      break;
    text = std::move(next);
  }
  text = one_line(without_quotes(text));
  const bool is_known = text.find_first_of("()$`") == std::string::npos &&
                        text.find("m4_") == std::string::npos && text.find("esyscmd") == std::string::npos;
  return is_known ? text : std::string();
}

void MacroWords::define(const std::string& text) {
  for (const char* macro : {"m4_define", "m4_define_default", "define", "m4_pushdef"})
    for (const MacroCall& call : calls_of(text, macro))
      if (call.arguments.size() > 1)
        names_.emplace(without_quotes(call.arguments[0]), call.arguments[1]);
}

// A text that is a single call is what the call stands for.
std::string MacroWords::without_wrappers(const std::string& text) const {
  const std::string name = text.substr(0, text.find('('));
  const std::vector<MacroCall> calls = name.empty() ? std::vector<MacroCall>() : calls_of(text, name);
  if (calls.size() != 1 || calls[0].arguments.empty() || !text.ends_with(')'))
    return text;
  const std::string& argument = calls[0].arguments[0];
  if (name == "m4_normalize" || name == "m4_chomp" || name == "m4_chomp_all" || name == "m4_strip")
    return argument;
  if (name == "m4_include" || name == "m4_sinclude")
    return contents(argument, text);
  if (name == "m4_esyscmd" || name == "m4_esyscmd_s" || name == "esyscmd")
    return contents(file_of(argument), text);
  return text;
}

std::string MacroWords::contents(const std::string& file, const std::string& otherwise) const {
  constexpr size_t longest = 200; // of a version
  const std::optional<std::string> text = file.empty() ? std::nullopt : tree_.text(directory_ + file);
  return text && text->size() <= longest ? trim(*text) : otherwise;
}

std::string MacroWords::expand_names(const std::string& text) const {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  std::string result, name;
  for (const char c : text + "\n") {
    if (is_part(c)) {
      name.push_back(c);
      continue;
    }
    const auto found = names_.find(name);
    result += found == names_.end() ? name : found->second;
    result.push_back(c);
    name.clear();
  }
  constexpr size_t longest = 10'000;
  result.pop_back();
  return result.size() > longest ? text : result;
}

} // namespace xaas::discover
