// The options of build arguments, and the lines that name them.
#pragma once

#include <xaas/spec/argument.h>

#include <string>

namespace xaas::llm {

using spec::Argument;
using spec::parse_argument;

// True if the line contains the name of the option as a word.
bool names_option(const std::string& line, const std::string& option);
// True if the line contains the name or a specific word of it ("gpu" of APP_ENABLE_GPU), in any case. Words
// of the project name (`project`, in lower case) do not count, because any option can start with them.
bool mentions_option(const std::string& line, const std::string& option, const std::string& project);
// True if the text contains `word` without an adjacent letter, digit or underscore.
bool has_word(const std::string& text, const std::string& word);

} // namespace xaas::llm
