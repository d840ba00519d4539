// Clang's front end in this process: one cc1 command to a canonical module.
#pragma once

#include <xaas/known/preprocess.h>

#include <xaas/ir/canonical.h>
#include <xaas/session/session.h>

#include <llvm/ADT/IntrusiveRefCntPtr.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace llvm::vfs {
class FileSystem;
} // namespace llvm::vfs

namespace clang {
class CompilerInvocation;
class TextDiagnosticBuffer;
} // namespace clang

namespace xaas::frontdoor {

struct FrontendResult {
  bool compiled = false;      // false: the source has errors, which were printed
  ir::CanonicalModule module; // valid if compiled and `refusal` is empty
  bool needs_optimisation = false;
  std::string refusal;             // why the module cannot be carried as IR
  bool wants_device_image = false; // the module has a place for device code
  unsigned vector_returns = 0;     // functions whose ABI was written out (ir/vector_returns.h)
  bool has_definitions = false;    // functions or variables of the source
  bool names_places = false;       // a directory of the build is in its data
  bool plain = false;   // nothing in syntax tree or module made Clang look at the instruction set (known.cpp)
  std::string messages; // what Clang has to say
  std::optional<known::Preprocessed> preprocessed;
};

// What is done to every front end's module before any pass: `canonicalize` brings it into canonical form.
void finish_module(const session::Session& session, llvm::Module& module,
                   const std::function<Result<ir::CanonicalModule>(llvm::Module&)>& canonicalize,
                   FrontendResult& result);

// Compiles the sources of `files` as `invocation` says, writing the dependency files that it asks for, up to
// IR before any LLVM pass. `messages` were said of its arguments, and come first in the result's; without
// them there are none. Where the session says so, the module has no debug information.
FrontendResult run_frontend(const session::Session& session,
                            std::shared_ptr<clang::CompilerInvocation> invocation,
                            llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files,
                            const clang::TextDiagnosticBuffer* messages,
                            known::TokenListener* listener = nullptr);

} // namespace xaas::frontdoor
