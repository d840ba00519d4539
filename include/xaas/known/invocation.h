// Parses commands of Clang's cc1.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace clang {
class CompilerInvocation;
class TextDiagnosticBuffer;
} // namespace clang

namespace xaas::known {

// The invocation that a cc1 command (without "-cc1") asks for; null if Clang refuses its arguments.
// `messages` receives Clang's diagnostics.
std::shared_ptr<clang::CompilerInvocation> parse_command(const std::vector<std::string>& command,
                                                         clang::TextDiagnosticBuffer& messages);

} // namespace xaas::known
