// How nvcc takes its command line apart: lists, option files, and what its shell does to the rest.
//
// nvcc writes the commands of the host compiler as lines for /bin/sh. What a list option holds therefore goes
// through two hands: nvcc splits it at commas, where quotes protect and a backslash makes the next character
// plain, and leaves the quotes in; the shell then splits at blanks and removes quotes. The documentation says
// little of this: the rules here were found by giving nvcc 13.0 a host compiler that prints its arguments.
#pragma once

#include <xaas/base/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace xaas::frontdoor {

// The parts of a list option. Commas inside double quotes do not separate, blanks around parts and empty
// parts vanish, quotes stay. A double quote without its partner and a backslash at the end are errors, as in
// nvcc.
Result<std::vector<std::string>> nvcc_list(std::string_view text);

// The same for options that hold names of files: there quotes are removed, and a backslash is a character
// like any other.
Result<std::vector<std::string>> nvcc_paths(std::string_view text);

// The words that /bin/sh makes of a text. What the shell would expand or run ($, `, ;, |, &, <, >,
// parentheses, a comment) is an error: what it comes to depends on the environment of the build, not on the
// command line.
Result<std::vector<std::string>> shell_words(std::string_view text);

// What the host compiler gets of one part of -D and -U, which nvcc puts between double quotes.
Result<std::string> nvcc_macro(std::string_view part);

// The words of an options file: blanks and ends of line separate, double quotes keep blanks, a backslash
// makes the next character plain. Then quotes are removed, also the plain ones, but for one that follows a
// backslash that is left: `\\\"` is what reaches an option as `\"`. There are no comments and no single
// quotes. An open quote is an error.
Result<std::vector<std::string>> options_file_words(std::string_view text);

// The words of NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS: blanks separate, double quotes keep blanks and stay.
Result<std::vector<std::string>> environment_words(std::string_view text);

} // namespace xaas::frontdoor
