// One compile of Clang's front end whose outcome may be known from another configuration or build.
#pragma once

#include "c/frontend.h"

#include <xaas/known/inputs.h>
#include <xaas/known/known.h>

#include <memory>
#include <optional>

namespace xaas::frontdoor {

class KnownCompile {
public:
  // `draft` has the source and the machine flags of the unit that the compile becomes.
  KnownCompile(const session::Session& session, std::shared_ptr<clang::CompilerInvocation> invocation,
               const ir::Unit& draft);

  // The outcome if it is known and need not be compared; then the dependency files have been written. Called
  // once, before compile().
  const known::KnownUnit* find();
  // Runs the front end. Under --check-sharing, a difference to a known outcome is logged. `messages` as for
  // run_frontend().
  Result<FrontendResult> compile(const clang::TextDiagnosticBuffer* messages);
  // What compile() returned in the form that is filed; takes the module.
  known::KnownUnit outcome_of(FrontendResult& frontend) const;
  // Files the outcome of compile(), with what the caller added.
  void file(const known::KnownUnit& unit) const;

  // Empty if the same compile for another level has the same outcome. `invocation` asks for no dependency
  // files.
  std::string difference_for(const session::Session& other, const clang::CompilerInvocation& invocation,
                             const known::KnownUnit& unit) const;

  // The digest of the tokens, if they were read.
  std::optional<Digest> text() const;
  // The files that a further run of the front end over the same source must read.
  const llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>& files() const { return files_; }

private:
  void set_preprocessed(std::optional<known::Preprocessed> preprocessed);
  std::optional<known::Preprocessed> preprocess_for(const session::Session& other,
                                                    const clang::CompilerInvocation& invocation) const;
  std::optional<known::KnownUnit> find_known() const;
  static bool has_messages_for(const known::KnownUnit& unit, const known::Preprocessed& preprocessed);
  void listen();
  const known::KnownUnit* find_by_inputs();
  std::optional<std::vector<std::string>> working_features(const FrontendResult& frontend) const;
  Result<void> compare_inputs();
  Result<void> compare(const FrontendResult& frontend);

  const session::Session& session_;
  std::shared_ptr<clang::CompilerInvocation> invocation_;
  const ir::Unit& draft_;
  // The front end must read the same contents as the preprocessor that ran alone, and as the records of its
  // inputs have.
  llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> files_;
  known::Marks marks_;
  std::optional<known::TokenListener> listener_; // set if no outcome can be known
  std::optional<known::FoundInputs> found_;      // by what an earlier run of the preprocessor read
  std::optional<known::Preprocessed> preprocessed_;
  std::optional<known::Keys> keys_;
  std::optional<known::KnownUnit> known_;
  bool writes_dependencies_;
  bool from_input_ = false; // the source is standard input
  bool differs_ = false;    // compiling contradicts the known outcome
};

} // namespace xaas::frontdoor
