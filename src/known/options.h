// The options of a compile, as parts of keys.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/session/session.h>

#include <string>
#include <vector>

namespace clang {
class CompilerInstance;
class CompilerInvocation;
} // namespace clang

namespace xaas::known {

struct Preprocessed;

// Clang's own spelling of all options that affect the outcome, except those that the tokens cover (macros,
// directories), the target (add_target() and the callers) and the names of outputs. Independent of the
// build's location.
std::vector<std::string> options_of_meaning(const session::Session& session,
                                            const clang::CompilerInvocation& invocation);

// The same with those that the tokens cover.
std::vector<std::string> options_of_preprocessor(const session::Session& session,
                                                 const clang::CompilerInvocation& invocation);

// The target without the features that only add instructions; `features` are those in force.
void add_target(Hasher& key, const clang::CompilerInvocation& invocation,
                const std::vector<std::string>& features);

// True for x86-64.
bool is_for_x86(const clang::CompilerInvocation& invocation);

// True if debug information is kept.
bool has_debug_information(const session::Session& session, const clang::CompilerInvocation& invocation);

// Sets the target of `result` to that of the compiler.
void describe_target(const clang::CompilerInstance& compiler, Preprocessed& result);

} // namespace xaas::known
