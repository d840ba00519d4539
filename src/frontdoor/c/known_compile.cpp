#include "c/known_compile.h"

#include "standard_input.h"
#include "working_object.h"

#include <xaas/known/places.h>
#include <xaas/known/read_once.h>
#include <xaas/known/stable_files.h>
#include <xaas/session/log.h>

#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/VirtualFileSystem.h>

namespace xaas::frontdoor {

KnownCompile::KnownCompile(const session::Session& session,
                           std::shared_ptr<clang::CompilerInvocation> invocation, const ir::Unit& draft)
    : session_(session), invocation_(std::move(invocation)), draft_(draft),
      files_(llvm::vfs::getRealFileSystem()),
      writes_dependencies_(!invocation_->getDependencyOutputOpts().OutputFile.empty()) {
  const clang::LangOptions& language = invocation_->getLangOpts();
  if (!language.OMPTargetTriples.empty() || language.OpenMPIsTargetDevice)
    files_ = known::with_stable_identities(session, files_);
}

const known::KnownUnit* KnownCompile::find() {
  if (session_.cache.empty() || !known::may_be_known(session_, *invocation_))
    return nullptr;
  from_input_ = is_standard_input(invocation_->getFrontendOpts().Inputs.front().getFile().str());
  if (from_input_) { // nothing else can read it beforehand, and no record has its text
    listen();
    return nullptr;
  }
  marks_ = known::marks_of(session_, *invocation_, draft_);
  files_ = known::files_read_once();
  if (!session_.check_sharing && !known::may_be_found(session_, marks_)) {
    listen();
    return nullptr;
  }
  found_ = known::find_inputs(session_, *invocation_, draft_, files_);
  if (found_ && !session_.check_sharing) {
    if (const known::KnownUnit* const unit = find_by_inputs())
      return unit;
    // The compile tells its tokens again, so that a wrong record is noticed, and nothing is filed by it.
    listen();
    return nullptr;
  }
  set_preprocessed(known::preprocess(session_, *invocation_, files_));
  if (!keys_)
    return nullptr;
  if (!found_)
    known::remember_inputs(session_, *invocation_, draft_, *preprocessed_);
  // The preprocessor has written the dependency files.
  invocation_->getDependencyOutputOpts() = clang::DependencyOutputOptions();
  known_ = find_known();
  return known_ && !session_.check_sharing ? &*known_ : nullptr;
}

void KnownCompile::listen() {
  listener_.emplace(session_, *invocation_, files_);
  files_ = listener_->files();
}

const known::KnownUnit* KnownCompile::find_by_inputs() {
  set_preprocessed(found_->preprocessed);
  std::optional<known::KnownUnit> unit = find_known();
  if (unit && known::write_dependencies(*invocation_, found_->dependencies))
    known_ = std::move(unit);
  return known_ ? &*known_ : nullptr;
}

// Messages name places of macros, which the text does not show.
std::optional<known::KnownUnit> KnownCompile::find_known() const {
  std::optional<known::KnownUnit> unit = known::find_known(session_, *keys_);
  return unit && has_messages_for(*unit, *preprocessed_) ? std::move(unit) : std::nullopt;
}

// Lines of predefined macros have other numbers for another instruction set.
bool KnownCompile::has_messages_for(const known::KnownUnit& unit, const known::Preprocessed& preprocessed) {
  return unit.messages.empty() ||
         (unit.macros == preprocessed.macros.hex() && unit.messages.find("<built-in>:") == std::string::npos);
}

void KnownCompile::set_preprocessed(std::optional<known::Preprocessed> preprocessed) {
  preprocessed_ = std::move(preprocessed);
  keys_.reset();
  if (preprocessed_)
    keys_ = known::keys_of(session_, *invocation_, draft_, *preprocessed_, working_level(session_));
}

Result<FrontendResult> KnownCompile::compile(const clang::TextDiagnosticBuffer* messages) {
  FrontendResult frontend =
      run_frontend(session_, invocation_, files_, messages, listener_ ? &*listener_ : nullptr);
  if (listener_ && frontend.compiled && found_ && !frontend.preprocessed)
    frontend.preprocessed = known::preprocess(session_, *invocation_, files_);
  if (listener_)
    set_preprocessed(std::move(frontend.preprocessed));
  if (listener_ && keys_ && !found_ && !from_input_)
    known::remember_inputs(session_, *invocation_, draft_, *preprocessed_);
  const bool reads = !preprocessed_ || preprocessed_->reads_instruction_set;
  if (!reads && frontend.plain && preprocessed_->needs_features) {
    frontend.upward = true;
    frontend.needed_features.emplace(); // builtins that became instructions of every CPU
  }
  frontend.upward &= !reads;
  frontend.plain &= !reads && !preprocessed_->needs_features;
  // It may need one of several sets of features, of which the compile had another one.
  if (frontend.needed_features &&
      (!preprocessed_ || !llvm::includes(preprocessed_->features, *frontend.needed_features)))
    frontend.needed_features.reset();
  frontend.reads_wide_atomics |=
      preprocessed_ && preprocessed_->lock_free_queries != frontend.lock_free_queries;
  if (found_ && frontend.compiled)
    XAAS_CHECK(compare_inputs());
  if (known_)
    XAAS_CHECK(compare(frontend));
  return frontend;
}

// Inputs that the preprocessor contradicts are forgotten.
Result<void> KnownCompile::compare_inputs() {
  if (preprocessed_ && known::is_result_of_run(session_, *found_, *preprocessed_))
    return {};
  known::forget_inputs(session_, *invocation_, draft_, *found_);
  return log_difference(session_, draft_.source +
                                      ": the preprocessor gives something else than an earlier run "
                                      "that read the same");
}

// A known outcome that compiling contradicts is forgotten.
Result<void> KnownCompile::compare(const FrontendResult& frontend) {
  const Digest known = digest_of(known_->bitcode);
  const bool usable = frontend.compiled && frontend.refusal.empty();
  differs_ = !usable || frontend.module.digest != known ||
             frontend.needs_optimization != known_->needs_optimization ||
             frontend.wants_device_image != known_->wants_device_image ||
             frontend.has_definitions != known_->has_definitions || (known_->plain && !frontend.plain) ||
             (known_->upward && !frontend.plain && !frontend.upward) ||
             known_->working_features != working_features(frontend) ||
             (!known_->reads_atomic_width && frontend.reads_wide_atomics);
  if (!differs_)
    return {};
  known::forget(session_, *keys_);
  const std::string compiled = !frontend.compiled         ? "an error"
                               : frontend.refusal.empty() ? "module " + frontend.module.digest.to_string()
                                                          : frontend.refusal;
  return log_difference(session_, draft_.source + ": known as module " + known.to_string() +
                                      (known_->plain ? " for every instruction set" : "") +
                                      ", but compiling it gives " + compiled);
}

// This machine may lack features of a level above its own, also those that the source needs.
std::optional<std::vector<std::string>> KnownCompile::working_features(const FrontendResult& frontend) const {
  if (frontend.plain)
    return std::vector<std::string>();
  const bool runs_here = session_.level.empty() || session_.level == working_level(session_);
  return runs_here && frontend.upward && !frontend.reads_wide_atomics ? frontend.needed_features
                                                                      : std::nullopt;
}

known::KnownUnit KnownCompile::outcome_of(FrontendResult& frontend) const {
  known::KnownUnit unit;
  unit.plain = frontend.plain;
  unit.reads_atomic_width = frontend.reads_wide_atomics;
  unit.upward = frontend.upward && !frontend.reads_wide_atomics;
  unit.working_features = working_features(frontend);
  if (unit.upward && keys_)
    unit.features = keys_->features;
  unit.needs_optimization = frontend.needs_optimization;
  unit.names_places = frontend.names_places;
  unit.wants_device_image = frontend.wants_device_image;
  unit.has_definitions = frontend.has_definitions;
  unit.vector_returns = frontend.vector_returns;
  unit.messages = known::without_places(session_, frontend.messages);
  if (preprocessed_ && !unit.messages.empty())
    unit.macros = preprocessed_->macros.hex();
  unit.bitcode = std::move(frontend.module.bitcode);
  return unit;
}

void KnownCompile::file(const known::KnownUnit& unit) const {
  if (from_input_)
    return;
  if (keys_ && (!known_ || differs_ || known_->object.empty()))
    known::remember(session_, marks_, *keys_, unit);
  else if (listener_)
    known::look_next_time(session_, marks_);
}

// Some sources look at macros that differ, and include other headers of intrinsics by that.
std::optional<known::Preprocessed>
KnownCompile::preprocess_for(const session::Session& other,
                             const clang::CompilerInvocation& invocation) const {
  if (from_input_)
    return std::nullopt;
  if (std::optional<known::FoundInputs> found = known::find_inputs(other, invocation, draft_, files_))
    return std::move(found->preprocessed);
  std::optional<known::Preprocessed> there = known::preprocess(other, invocation, files_);
  if (there)
    known::remember_inputs(other, invocation, draft_, *there);
  return there;
}

std::string KnownCompile::difference_for(const session::Session& other,
                                         const clang::CompilerInvocation& invocation,
                                         const known::KnownUnit& unit) const {
  if (!preprocessed_ || !keys_)
    return "what it reads is not known";
  std::optional<known::Preprocessed> there =
      known::result_for(session_, invocation, *invocation_, draft_, *preprocessed_);
  if (!there) // most sources look at no macro that differs
    there = preprocess_for(other, invocation);
  if (!there || there->text != preprocessed_->text)
    return "its text depends on the instruction set";
  if (writes_dependencies_ && !known::have_same_dependencies(session_, *preprocessed_, *there))
    return "its dependencies depend on the instruction set";
  const known::Keys keys = known::keys_of(other, invocation, draft_, *there, working_level(other));
  if (!known::serves(unit, *keys_, keys))
    return "its code depends on the instruction set";
  if (!has_messages_for(unit, *there))
    return "its messages depend on the instruction set";
  return "";
}

std::optional<Digest> KnownCompile::text() const {
  return preprocessed_ ? std::optional(preprocessed_->text) : std::nullopt;
}

} // namespace xaas::frontdoor
