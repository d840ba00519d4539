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

} // namespace xaas::discover
