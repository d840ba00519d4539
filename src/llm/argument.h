// Parses build arguments: the option that one sets, and its value.
#pragma once

#include <xaas/spec/application.h>

#include <optional>
#include <string>

namespace xaas::llm {

struct Argument {
  std::string option; // the name of the option in the findings
  std::string value;  // "ON" and "OFF" of --enable-x and --disable-x
};

// nullopt: the build system accepts no argument of this form.
std::optional<Argument> parse_argument(spec::BuildSystem system, const std::string& text);

// True if the line contains the name of the option as a word.
bool names_option(const std::string& line, const std::string& option);
// True if the line contains the name or a specific word of it ("gpu" of APP_ENABLE_GPU), in any case. Words
// of the project name (`project`, in lower case) do not count, because any option can start with them.
bool mentions_option(const std::string& line, const std::string& option, const std::string& project);
// True if the text contains `word` without an adjacent letter, digit or underscore.
bool has_word(const std::string& text, const std::string& word);

} // namespace xaas::llm
