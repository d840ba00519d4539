#include <xaas/known/invocation.h>

#include <clang/Basic/Diagnostic.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>

namespace xaas::known {

std::shared_ptr<clang::CompilerInvocation> parse_command(const std::vector<std::string>& command,
                                                         clang::TextDiagnosticBuffer& messages) {
  std::vector<const char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(argument.c_str());
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  clang::DiagnosticOptions options;
  clang::DiagnosticsEngine diagnostics(llvm::makeIntrusiveRefCnt<clang::DiagnosticIDs>(), options, &messages,
                                       false);
  return clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, diagnostics) ? invocation
                                                                                        : nullptr;
}

} // namespace xaas::known
