// What an argument of a build says: which option it sets, to what.
#pragma once

#include <xaas/spec/application.h>

#include <optional>
#include <string>

namespace xaas::llm {

struct Argument {
  std::string option; // as the findings name options
  std::string value;  // "ON" and "OFF" of --enable-x and --disable-x
};

// Nothing: it has no form that this build system takes.
std::optional<Argument> parse_argument(spec::BuildSystem system, const std::string& text);

// Whether the line has the option's name as a word of its own.
bool names_option(const std::string& line, const std::string& option);
// Whether it has that, or a word of the name that says something ("gpu" of APP_ENABLE_GPU), whatever the
// case. Words of the project's name, in lower case, say nothing: every option may begin with them.
bool mentions_option(const std::string& line, const std::string& option, const std::string& project);
// Whether the text has `word` with neither letter, digit nor underscore beside it.
bool has_word(const std::string& text, const std::string& word);

} // namespace xaas::llm
