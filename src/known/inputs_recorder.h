// Records the inputs of a preprocessor while it runs.
#pragma once

#include "predefined_macros.h"
#include "recorded_files.h"

#include <xaas/known/inputs.h>

#include <llvm/ADT/IntrusiveRefCntPtr.h>

#include <memory>
#include <string>

namespace xaas::known {

// False if a run of this compile must not be recorded, or found.
bool may_record_inputs(const clang::CompilerInvocation& invocation);

class InputsRecorder {
public:
  // `files` as for preprocess().
  InputsRecorder(const session::Session& session, const clang::CompilerInvocation& invocation,
                 llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files);
  ~InputsRecorder();
  InputsRecorder(const InputsRecorder&) = delete;
  InputsRecorder& operator=(const InputsRecorder&) = delete;

  // The files that the run must read.
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files() const { return files_; }
  // Call it before the main file is entered.
  void attach(clang::CompilerInstance& compiler);
  // Call it after a run whose messages of the preprocessor are of files alone. The inputs with the run's
  // result, for remember_inputs(); empty if they cannot be described.
  std::string finish(clang::CompilerInstance& compiler, const Preprocessed& result);

private:
  class Names;
  std::vector<FileAnswer> with_unread(clang::CompilerInstance& compiler) const;

  const session::Session& session_;
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_;
  llvm::IntrusiveRefCntPtr<RecordedFiles> recorded_; // null if the inputs cannot be described
  MacroWatch macros_;
  std::unique_ptr<Names> names_;
};

} // namespace xaas::known
