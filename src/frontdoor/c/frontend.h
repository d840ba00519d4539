// Clang's front end in this process: one cc1 command to a canonical module.
#pragma once

#include <xaas/known/preprocess.h>

#include <xaas/ir/canonical.h>
#include <xaas/session/session.h>

#include <llvm/ADT/IntrusiveRefCntPtr.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace llvm::vfs {
class FileSystem;
} // namespace llvm::vfs

namespace clang {
class CompilerInvocation;
class TextDiagnosticBuffer;
} // namespace clang

namespace xaas::frontdoor {

struct FrontendResult {
  bool compiled = false;      // false: the source has errors, which are in `messages`
  ir::CanonicalModule module; // valid if compiled and `refusal` is empty
  bool needs_optimization = false;
  std::string refusal;             // why the module cannot be carried as IR
  bool wants_device_image = false; // the module has a place for device code
  unsigned vector_returns = 0;     // functions whose ABI was written out (ir/vector_returns.h)
  bool has_definitions = false;    // functions or variables of the source
  bool names_places = false;       // its data contains a directory of the build
  bool plain = false;  // nothing in syntax tree or module made Clang look at the instruction set (known.cpp)
  bool upward = false; // nothing else than needing features did so
  // Those that it needs outside of functions with a target attribute, if they are known and it is `upward`.
  std::optional<std::vector<std::string>> needed_features;
  bool reads_wide_atomics = false; // something in them depends on the width of inline atomics
  unsigned lock_free_queries = 0;  // calls in the syntax tree as written
  std::string messages;            // Clang's
  std::optional<known::Preprocessed> preprocessed;
};

// The common treatment of every front end's module before any pass. `canonicalize` brings it into canonical
// form.
void finish_module(const session::Session& session, llvm::Module& module,
                   const std::function<Result<ir::CanonicalModule>(llvm::Module&)>& canonicalize,
                   FrontendResult& result);

// True if functions of a module in canonical form may need instructions that not every target has: they have
// a target attribute, or call intrinsics of one architecture.
bool needs_features(const llvm::Module& module);

// Compiles the source up to IR before any LLVM pass, and writes the dependency files that the invocation asks
// for. `messages` are those about its arguments, and come first in the result's messages; if null, messages
// are dropped. The session decides whether the module keeps debug information.
FrontendResult run_frontend(const session::Session& session,
                            std::shared_ptr<clang::CompilerInvocation> invocation,
                            llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files,
                            const clang::TextDiagnosticBuffer* messages,
                            known::TokenListener* listener = nullptr);

} // namespace xaas::frontdoor
