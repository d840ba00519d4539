// Values that appear only in the help text of an option: "Vectorization (scalar sse avx)", "one of: serial,
// openmp, cuda". They count as a list only if the option's default is among them; other words in brackets are
// remarks.
#include "readers/readers.h"

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::discover {

namespace {

// The words of a list; nothing if the text has anything else.
std::vector<std::string> list_in(const std::string& text) {
  std::vector<std::string> values;
  std::string word;
  for (const char c : text + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) ||
        std::string_view("_.+-").find(c) != std::string_view::npos) {
      word.push_back(c);
      continue;
    }
    if (std::string_view(" ,|/;'\"`").find(c) == std::string_view::npos)
      return {};
    while (word.ends_with('.'))
      word.pop_back();
    if (!word.empty() && word != "or" && word != "and")
      values.push_back(word);
    word.clear();
  }
  return values;
}

// The texts in brackets, and the text after a colon up to the end of its sentence.
std::vector<std::string> parts_of(const std::string& whole) {
  std::vector<std::string> parts;
  constexpr size_t most = 64, longest = 2000;
  const std::string help = whole.substr(0, longest);
  for (size_t at = 0; parts.size() < most && (at = help.find_first_of("([{:", at)) != std::string::npos;
       ++at) {
    const char open = help[at];
    const size_t end = open == ':'   ? help.find(". ", at)
                       : open == '(' ? help.find(')', at)
                       : open == '[' ? help.find(']', at)
                                     : help.find('}', at);
    parts.push_back(help.substr(at + 1, end == std::string::npos ? end : end - at - 1));
  }
  return parts;
}

} // namespace

void take_values_from_help(Findings& findings) {
  constexpr size_t most = 64;
  for (Option& option : findings.options) {
    if (option.kind != Option::Kind::text || option.takes_place || !option.initial || option.initial->empty())
      continue;
    for (const std::string& part : parts_of(option.help)) {
      const std::vector<std::string> values = list_in(part);
      if (values.size() > 1 && values.size() <= most &&
          std::find(values.begin(), values.end(), *option.initial) != values.end()) {
        option.kind = Option::Kind::choice;
        option.values = values;
        break;
      }
    }
  }
}

} // namespace xaas::discover
