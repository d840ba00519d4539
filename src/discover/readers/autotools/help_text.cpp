#include "readers/autotools/help_text.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace xaas::discover {

std::optional<bool> default_in_help(const std::string& help) {
  const std::string text = to_lower(help);
  const size_t at = text.find("default");
  if (at == std::string::npos)
    return std::nullopt;
  const std::string around = text.substr(at, 40);
  const std::string before = text.substr(at > 24 ? at - 24 : 0, at > 24 ? 24 : at);
  const auto position = [](const std::string& in, const std::string& word) {
    const auto part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)); };
    for (size_t found = in.find(word); found != std::string::npos; found = in.find(word, found + 1))
      if ((found == 0 || !part(in[found - 1])) &&
          (found + word.size() >= in.size() || !part(in[found + word.size()])))
        return found;
    return std::string::npos;
  };
  for (const char* phrase : {"default is to ", "default to "})
    if (text.compare(at, std::string_view(phrase).size(), phrase) == 0)
      return text.compare(at + std::string_view(phrase).size(), 4, "not ") != 0;
  // The first of them after "default".
  size_t nearest = std::string::npos;
  bool answer = false;
  for (const bool yes : {false, true})
    for (const char* word :
         yes ? std::initializer_list<const char*>{"yes", "on", "enabled", "true"}
             : std::initializer_list<const char*>{"no", "off", "disabled", "none", "false"})
      if (const size_t found = position(around, word); found < nearest)
        nearest = found, answer = yes;
  if (nearest != std::string::npos)
    return answer;
  for (const char* word : {"disabled by", "off by", "no by"})
    if (before.find(word) != std::string::npos)
      return false;
  for (const char* word : {"enabled by", "on by", "yes by", "used by"})
    if (before.find(word) != std::string::npos)
      return true;
  return std::nullopt;
}

namespace {

// The values in "--enable-x=[a|b|c]" or "{a,b,c}".
std::vector<std::string> values_in(const std::string& left) {
  const size_t equals = left.find('=');
  if (equals == std::string::npos)
    return {};
  std::string text = left.substr(equals + 1);
  std::vector<std::string> values;
  for (const char separator : {'|', ','})
    if (text.find(separator) != std::string::npos) {
      for (const std::string& part : split(text, separator)) {
        std::string value;
        for (const char c : trim(part))
          if (c != '[' && c != ']' && c != '{' && c != '}' && c != '<' && c != '>' && c != '(' && c != ')')
            value.push_back(c);
        if (!value.empty() && value != "..." && value.find(' ') == std::string::npos)
          values.push_back(value);
      }
      break;
    }
  return values;
}

bool is_yes_or_no(const std::string& value) {
  return value == "yes" || value == "no" || value == "on" || value == "off" || value == "auto" ||
         value == "check";
}

// "with-mpi": "--without-mpi".
std::string negative_of(const std::string& name) {
  const bool enable = name.starts_with("enable-");
  return (enable ? "--disable-" : "--without-") + name.substr(name.find('-') + 1);
}

// "--with-x=DIR   enable x (default is guess)": a switch that may also say where.
bool is_about_use(const std::string& help) {
  const std::string text = to_lower(help);
  return text.starts_with("enable") || text.find("enable the use") != std::string::npos ||
         text.find("default is guess") != std::string::npos || text.find("[guess]") != std::string::npos;
}

} // namespace

Option option_of(const std::string& name, const std::string& left, const std::string& help, Place place) {
  Option option;
  option.name = name;
  option.help = help;
  option.place = std::move(place);
  const std::vector<std::string> values = values_in(left);
  const bool choice =
      std::any_of(values.begin(), values.end(), [](const auto& value) { return !is_yes_or_no(value); });
  std::string value = left.find('=') == std::string::npos ? "" : left.substr(left.find('=') + 1);
  value = to_lower(value);
  if (choice) {
    option.kind = Option::Kind::choice;
    option.values = values;
  } else {
    for (const char* word : {"dir", "path", "prefix", "file", "lib", "root"})
      option.takes_place |= value.find(word) != std::string::npos;
    // "--with-x[=DIR]" is also a switch.
    option.takes_place &= left.find("[=") == std::string::npos && !is_about_use(help);
  }
  if (const auto said = default_in_help(help))
    option.initial = *said ? "ON" : "OFF";
  else if (to_lower(help).find(to_lower(negative_of(name))) != std::string::npos)
    option.initial = "ON"; // help on how to switch it off means that it is on
  else if (left.find("--disable-") != std::string::npos || left.find("--without-") != std::string::npos)
    option.initial = "ON";
  return option;
}

} // namespace xaas::discover
