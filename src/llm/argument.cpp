#include "argument.h"

#include "guide.h"

#include <xaas/base/text.h>

#include <cctype>
#include <string_view>

namespace xaas::llm {

namespace {

// The name after "enable-" or "with-", and the prefix; both empty for a variable.
std::pair<std::string, std::string> feature_of(const std::string& option) {
  for (const char* kind : {"enable", "with"})
    if (option.starts_with(std::string(kind) + "-"))
      return {option.substr(std::string_view(kind).size() + 1), kind};
  return {};
}

} // namespace

bool has_word(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); !word.empty() && at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word_character(text[at - 1])) &&
        (end == text.size() || !is_word_character(text[end])))
      return true;
  }
  return false;
}

bool names_option(const std::string& line, const std::string& option) {
  if (has_word(line, option))
    return true;
  // AC_ARG_ENABLE([x], AS_HELP_STRING([--disable-x]))
  const auto [feature, kind] = feature_of(option);
  if (feature.empty())
    return false;
  const std::string_view opposite = kind == "enable" ? "disable-" : "without-";
  return has_word(line, std::string(opposite) + feature) ||
         (has_word(line, feature) && to_lower(line).find("arg_" + kind) != std::string::npos);
}

bool mentions_option(const std::string& line, const std::string& option, const std::string& project) {
  const std::string text = to_lower(line);
  if (text.find(to_lower(option)) != std::string::npos)
    return true;
  constexpr size_t shortest = 3;
  std::string word;
  for (const char c : to_lower(option) + "_") {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word.push_back(c);
      continue;
    }
    if (word.size() >= shortest && !Guide::get().is_weak(word) && !has_word(project, word) &&
        text.find(word) != std::string::npos)
      return true;
    word.clear();
  }
  return false;
}

} // namespace xaas::llm
