#include "argument.h"

#include "guide.h"

#include <xaas/base/text.h>

#include <cctype>
#include <string_view>

namespace xaas::llm {

namespace {

bool is_name(std::string_view text, std::string_view others) {
  if (text.empty())
    return false;
  for (const char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && others.find(c) == std::string_view::npos)
      return false;
  return true;
}

std::optional<Argument> definition(std::string_view text, std::string_view name_characters) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return std::nullopt;
  std::string_view name = text.substr(0, equals);
  if (!is_name(name, name_characters))
    return std::nullopt;
  return Argument{std::string(name), std::string(text.substr(equals + 1))};
}

std::optional<Argument> cmake(std::string_view text) {
  if (!text.starts_with("-D"))
    return std::nullopt;
  auto argument = definition(text.substr(2), "_.+-:");
  if (!argument)
    return std::nullopt;
  // -DNAME:TYPE=VALUE
  const size_t colon = argument->option.find(':');
  argument->option.resize(std::min(colon, argument->option.size()));
  return is_name(argument->option, "_.+-") ? argument : std::nullopt;
}

std::optional<Argument> configure(std::string_view text) {
  struct Form {
    std::string_view begin, option, value;
  };
  constexpr Form forms[] = {{"--enable-", "enable-", "ON"},
                            {"--disable-", "enable-", "OFF"},
                            {"--with-", "with-", "ON"},
                            {"--without-", "with-", "OFF"}};
  if (!text.starts_with("--"))
    return definition(text, "_");
  for (const Form& form : forms) {
    if (!text.starts_with(form.begin))
      continue;
    const std::string_view rest = text.substr(form.begin.size());
    const size_t equals = rest.find('=');
    const std::string_view name = rest.substr(0, equals);
    // --disable-x=y has no meaning.
    if (!is_name(name, "_.+-") || (equals != std::string_view::npos && form.value == "OFF"))
      return std::nullopt;
    return Argument{std::string(form.option) + std::string(name),
                    std::string(equals == std::string_view::npos ? form.value : rest.substr(equals + 1))};
  }
  return std::nullopt;
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The name after "enable-" or "with-", and the prefix; both empty for a variable.
std::pair<std::string, std::string> feature_of(const std::string& option) {
  for (const char* kind : {"enable", "with"})
    if (option.starts_with(std::string(kind) + "-"))
      return {option.substr(std::string_view(kind).size() + 1), kind};
  return {};
}

} // namespace

std::optional<Argument> parse_argument(spec::BuildSystem system, const std::string& text) {
  switch (system) {
  case spec::BuildSystem::cmake:
    return cmake(text);
  case spec::BuildSystem::meson:
    return text.starts_with("-D") ? definition(std::string_view(text).substr(2), "_.:-") : std::nullopt;
  case spec::BuildSystem::autotools:
    return configure(text);
  case spec::BuildSystem::make:
  case spec::BuildSystem::commands:
    break;
  }
  return definition(text, "_.-");
}

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
