#include <xaas/spec/argument.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace xaas::spec {

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

} // namespace

std::optional<Argument> parse_argument(BuildSystem system, const std::string& text) {
  switch (system) {
  case BuildSystem::cmake:
    return cmake(text);
  case BuildSystem::meson:
    return text.starts_with("-D") ? definition(std::string_view(text).substr(2), "_.:-") : std::nullopt;
  case BuildSystem::autotools:
    return configure(text);
  case BuildSystem::make:
  case BuildSystem::commands:
    break;
  }
  return definition(text, "_.-");
}

} // namespace xaas::spec
