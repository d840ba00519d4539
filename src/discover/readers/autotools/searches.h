// What the text of macros says besides their options.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xaas::discover {

// The libraries that macros with a name after a library search for, such as AX_MPI and ACX_CHECK_CUDA, each
// with its line.
std::vector<std::pair<std::string, unsigned>> libraries_of_macros(const std::string& text);

// The words that a shell's `case` compares a value with: of `case "$withval" in sse2|avx2) ...`, "sse2" and
// "avx2". Words for yes and no are left out; nothing if there is no other word.
std::vector<std::string> values_of_case(const std::string& text);

// The words that the whole text compares a shell variable with, by `case` or AS_CASE.
std::vector<std::string> values_of_variable(const std::string& text, const std::string& variable);

// The values that a help text has at the beginnings of lines, with a remark each: "posix - POSIX threads".
std::vector<std::string> values_listed(const std::string& help);

// The variable that an action gives the option's value: of "FFT=$withval", "FFT"; else "".
std::string variable_of_value(const std::string& action);

// The word that the text last assigns the variable before a line; "" if there is none.
std::string assigned_before(const std::string& text, const std::string& variable, unsigned line);

// A macro of the project that declares an option named by its first argument.
struct OptionMacro {
  std::string name, body;
};
std::vector<OptionMacro> option_macros(const std::string& text);

// The body with $1, $2, ... replaced by the arguments of a call.
std::string expanded(const OptionMacro& macro, const std::vector<std::string>& arguments);

} // namespace xaas::discover
