// `#include __FILE__`. Clang replaces prefixes in __FILE__ (-ffile-prefix-map) also where a directive looks
// for a file of that name, which is then not there. In our own runs of the preprocessor the name stays in
// such directives; Clang's own run, for a job that is not captured, has to be told.
#pragma once

#include <string>
#include <vector>

namespace clang {
class CompilerInstance;
}

namespace xaas::known {

// Before the preprocessor starts: names of files stay what they are in #include, #embed, and conditions.
void keep_names_in_includes(clang::CompilerInstance& compiler);

// Whether a cc1 command (without "-cc1") compiles a source that looks for a file by __FILE__ or
// __BASE_FILE__.
bool includes_by_own_name(const std::vector<std::string>& command);

// The command without prefixes that are replaced in macros.
std::vector<std::string> with_names_in_macros(std::vector<std::string> command);

} // namespace xaas::known
