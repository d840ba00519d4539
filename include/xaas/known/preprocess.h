// What is left of a source after the preprocessor: all that the rest of the front end reads of files.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/session/session.h>

#include <llvm/ADT/IntrusiveRefCntPtr.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace clang {
class CompilerInstance;
class CompilerInvocation;
class DiagnosticConsumer;
} // namespace clang
namespace llvm::vfs {
class FileSystem;
} // namespace llvm::vfs

namespace xaas::known {

struct Preprocessed {
  // Of every token with its place, every pragma as written and as expanded, every message of the
  // preprocessor, and the files where debug information has their digests. Names of files are independent of
  // where the build lies.
  Digest text;
  // Words that ask how wide an atomic operation may be.
  bool asks_atomic_width = false;
  // Words whose meaning depends on the instruction set: `_Float16`, `__builtin_ia32_*`, `omp simd aligned`.
  bool reads_instruction_set = false; // outside of Clang's own headers

  // Of the target as Clang resolved it from CPU and flags:
  std::vector<std::string> features; // that are on, sorted
  unsigned atomic_width = 0;         // bits
};

// Runs the preprocessor alone over `files`, without printing. Writes the dependency files that the invocation
// asks for. Nothing if there are errors, or things that tokens do not show (precompiled headers, modules):
// the source must then be compiled to know what it is.
std::optional<Preprocessed> preprocess(const session::Session& session,
                                       const clang::CompilerInvocation& invocation,
                                       llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);

// Takes the same from a compile while it runs.
class TokenListener {
public:
  explicit TokenListener(const session::Session& session);
  ~TokenListener();

  // Must see the compile's messages.
  clang::DiagnosticConsumer& messages();
  // Before the main file is entered.
  void attach(clang::CompilerInstance& compiler);
  // After a compile without errors. Nothing where a compile cannot tell: preprocess() then can.
  std::optional<Preprocessed> finish(clang::CompilerInstance& compiler);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xaas::known
