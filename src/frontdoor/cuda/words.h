// The quoting rules of nvcc's command line: lists, options files, and the shell that nvcc uses.
//
// nvcc writes the commands of the host compiler as lines for /bin/sh. The value of a list option is therefore
// parsed twice: nvcc splits it at commas, where quotes protect and a backslash makes the next character
// plain, and keeps the quotes; the shell then splits it at blanks and removes the quotes. The documentation
// says little about this. The rules here were found by giving nvcc 13.0 a host compiler that prints its
// arguments.
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace xaas::frontdoor {

// The parts of a list option. Commas inside double quotes do not separate. Blanks around parts and empty
// parts are dropped; quotes stay. An open double quote and a backslash at the end are errors, as in nvcc.
Result<std::vector<std::string>> nvcc_list(std::string_view text);

// The same for options that hold file names: quotes are removed, and a backslash is an ordinary character.
Result<std::vector<std::string>> nvcc_paths(std::string_view text);

// The words that /bin/sh makes of a text. Characters that the shell would expand or run ($, `, ;, |, &, <, >,
// parentheses, a comment) are an error, because their effect depends on the build's environment, not on the
// command line.
Result<std::vector<std::string>> shell_words(std::string_view text);

// The word that the host compiler gets for one part of -D or -U, which nvcc puts between double quotes.
Result<std::string> nvcc_macro(std::string_view part);

// The words of an options file: blanks and line ends separate, double quotes keep blanks, a backslash makes
// the next character plain. Then all quotes are removed, even plain ones, except a quote that follows a
// remaining backslash: `\\\"` reaches an option as `\"`. There are no comments and no single quotes. An open
// quote is an error.
Result<std::vector<std::string>> options_file_words(std::string_view text);

// The words of NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS: blanks separate, double quotes keep blanks and stay.
Result<std::vector<std::string>> environment_words(std::string_view text);

} // namespace xaas::frontdoor
