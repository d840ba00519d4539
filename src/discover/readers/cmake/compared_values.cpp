// What conditions and error messages say about options: the values that an option is compared with, and
// options without which configuring fails.
#include "knowledge.h"
#include "readers/cmake/declarations.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>

namespace xaas::discover {

namespace {

bool mentions(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_word_character(text[at - 1])) &&
        (at + name.size() >= text.size() || !is_word_character(text[at + name.size()])))
      return true;
  return false;
}

std::vector<std::string> identifiers_in(const std::string& text) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : text + " ")
    if (is_word_character(c)) {
      name.push_back(c);
    } else {
      if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
      name.clear();
    }
  return names;
}

// The variables that an argument refers to: "a ${b} c".
std::vector<std::string> references_in(const std::string& text) {
  std::vector<std::string> names;
  for (size_t at = text.find("${"); at != std::string::npos; at = text.find("${", at + 1))
    if (const size_t end = text.find('}', at); end != std::string::npos)
      names.push_back(text.substr(at + 2, end - at - 2));
  return names;
}

// The variable whose value a side of a comparison is: X or "${X}".
std::string compared_variable(const CMakeWord& word) {
  return !word.variable.empty() ? word.variable : word.literal && !word.quoted ? word.text : std::string();
}

} // namespace

void CMakeDeclarations::note_alias(const std::string& name, const std::string& of) {
  if (aliases_.size() < 10'000 && name != of)
    aliases_[name] = of;
}

// if(X STREQUAL "a"), also with ${X}; if(X IN_LIST NAMES)
void CMakeDeclarations::note_comparisons(const std::vector<CMakeWord>& words) {
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    const bool in_list = words[i].text == "IN_LIST";
    if (words[i].quoted || !(in_list || words[i].text == "STREQUAL" || words[i].text == "MATCHES"))
      continue;
    std::string name = compared_variable(words[i - 1]);
    if (const auto alias = aliases_.find(name); alias != aliases_.end())
      name = alias->second;
    const CMakeWord& right = words[i + 1];
    if (name.empty() || !(right.known && (right.literal || in_list)))
      continue;
    std::vector<std::string>& values = compared_[name];
    for (const std::string& value :
         in_list ? split(values_.value_of(right.text).text, ';') : std::vector<std::string>{right.text})
      if (constexpr size_t most = 100, longest = 40;
          !value.empty() && value.size() < longest && values.size() < most &&
          value.find_first_of(" ()[]^$*+?|\\/") == std::string::npos &&
          std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(value);
  }
}

// message(FATAL_ERROR) in a place that every build without options reaches: an option that the condition
// tests must be set. Its value is empty, or nothing declares it and the message names it.
void CMakeDeclarations::fatal_message(const std::vector<CMakeWord>& words, const CMakeCommand& command) {
  if (words.size() < 2 || (words[0].text != "FATAL_ERROR" && words[0].text != "SEND_ERROR") ||
      !state_.certain || state_.conditions.empty())
    return;
  std::string text;
  for (size_t i = 1; i < words.size(); ++i)
    text += words[i].text + " ";
  for (const std::string& name : identifiers_in(state_.conditions.back())) {
    const auto found = options_.find(name);
    if (found == options_.end() &&
        (values_.find(name) || name.starts_with("CMAKE_") || name != to_upper(name) ||
         fixed_variables().count(name) || !mentions(text, name) || !may_add_option(name)))
      continue;
    if (found != options_.end() && (findings_.options[found->second].kind == Option::Kind::boolean ||
                                    !values_.value_of(name).text.empty()))
      continue;
    Option& option = add_option(name, command);
    if (found == options_.end()) {
      option.kind = Option::Kind::text;
      option.help = trim(text).substr(0, 500);
    }
    option.required = true;
    take_values_of_message(option, command);
  }
}

// "choose one of ${NAMES}"
void CMakeDeclarations::take_values_of_message(Option& option, const CMakeCommand& command) {
  for (const CMakeArgument& argument : command.arguments)
    for (const std::string& name : references_in(argument.text)) {
      std::vector<std::string> values = split(values_.value_of(name).text, ';');
      constexpr size_t most = 100;
      if (option.values.empty() && name != option.name && values.size() > 1 && values.size() < most) {
        option.kind = Option::Kind::choice;
        option.values = std::move(values);
      }
    }
}

// A text whose value is compared with several words is a choice of them.
void CMakeDeclarations::take_compared_values() {
  for (Option& option : findings_.options) {
    const auto found = compared_.find(option.name);
    if (found == compared_.end() || option.kind != Option::Kind::text || option.takes_place ||
        !option.values.empty())
      continue;
    const std::vector<std::string>& values = found->second;
    const std::string initial = option.initial.value_or("");
    const auto is_initial = [&](const std::string& value) { return to_lower(value) == to_lower(initial); };
    const auto telling = std::count_if(values.begin(), values.end(), [](const std::string& value) {
      return !Knowledge::get().is_neutral_value(value);
    });
    const bool has_initial = std::any_of(values.begin(), values.end(), is_initial);
    const bool is_another = !initial.empty() && !has_initial;
    if (telling < 1 || telling + (is_another ? 1 : 0) < 2 ||
        !(has_initial || Knowledge::get().is_neutral_value(initial)))
      continue;
    option.kind = Option::Kind::choice;
    option.values = values;
    if (!initial.empty() && !has_initial)
      option.values.insert(option.values.begin(), initial);
  }
}

} // namespace xaas::discover
