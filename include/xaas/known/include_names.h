// Support for `#include __FILE__`. Clang replaces prefixes in __FILE__ (-ffile-prefix-map) even in a
// directive that looks for a file of that name, and then does not find the file. Our own runs of the
// preprocessor keep the name in such directives. A job that is not captured runs Clang itself, with a changed
// command.
#pragma once

#include <string>
#include <vector>

namespace clang {
class CompilerInstance;
}

namespace xaas::known {

// Keeps file names in #include, #embed and conditions. Call it before the preprocessor starts.
void keep_names_in_includes(clang::CompilerInstance& compiler);

// True if a cc1 command (without "-cc1") compiles a source that looks for a file by __FILE__ or
// __BASE_FILE__.
bool includes_by_own_name(const std::vector<std::string>& command);

// The command without the options that replace prefixes in macros.
std::vector<std::string> with_names_in_macros(std::vector<std::string> command);

} // namespace xaas::known
