// The result of the preprocessor: everything that the rest of the front end reads of files.
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
class FileID;
class HeaderSearchOptions;
class IdentifierInfo;
class SourceManager;
} // namespace clang
namespace llvm::vfs {
class FileSystem;
} // namespace llvm::vfs

namespace xaas::known {

struct Preprocessed {
  // A digest of every token with its place, every pragma as written and as expanded, every message of the
  // preprocessor, and the files with tokens if debug information holds their digests. Declarations of system
  // headers that nothing mentions are left out. File names are independent of the build's location.
  Digest text;
  // A digest of the macros that were expanded and where they are defined, but for predefined ones. No token
  // has such a place, but messages name it.
  Digest macros;
  // Words that ask whether atomic operations are lock-free; see is_lock_free_query().
  unsigned lock_free_queries = 0;
  // A word outside Clang's own headers depends on the instruction set: `_Float16`, `omp simd aligned`.
  bool reads_instruction_set = false;
  // Such a word is a builtin that needs features of x86, `__builtin_ia32_*`.
  bool needs_features = false;

  // The target as Clang resolved it from CPU and flags:
  std::vector<std::string> features; // enabled ones, sorted
  unsigned atomic_width = 0;         // bits

  // All of the above as a result of what the preprocessor read, for remember_inputs() and result_for(); empty
  // if it cannot be described.
  std::string inputs;
};

// True for Clang's builtins whose value depends on the width of inline atomics, such as
// `__atomic_always_lock_free`.
bool is_lock_free_query(const clang::IdentifierInfo& identifier);

// True for a header that comes with Clang, such as those of intrinsics.
bool is_header_of_clang(const clang::SourceManager& sources, clang::FileID file,
                        const clang::HeaderSearchOptions& options);

// Runs the preprocessor alone over `files` (files_read_once()), without printing. Writes the dependency files
// that the invocation asks for. Nothing if there are errors, or inputs that tokens do not show (precompiled
// headers, modules): the source must then be compiled.
std::optional<Preprocessed> preprocess(const session::Session& session,
                                       const clang::CompilerInvocation& invocation,
                                       llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);

// Takes the same result from a compile while it runs.
class TokenListener {
public:
  // `files` as for preprocess(). The compile must read those of files().
  TokenListener(const session::Session& session, const clang::CompilerInvocation& invocation,
                llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);
  ~TokenListener();
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files() const;

  // This consumer must receive the compile's messages.
  clang::DiagnosticConsumer& messages();
  // Call it before the main file is entered.
  void attach(clang::CompilerInstance& compiler);
  // Call it after a compile without errors. Nothing if the compile cannot tell; preprocess() can.
  std::optional<Preprocessed> finish(clang::CompilerInstance& compiler);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xaas::known
