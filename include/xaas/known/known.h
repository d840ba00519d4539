// Outcomes of compiles that are known already: the capture cache.
#pragma once

#include <xaas/known/preprocess.h>

#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/store/cache.h>

#include <optional>
#include <string>

namespace xaas::known {

// What a compile gives, for every session.
struct KnownUnit {
  bool plain = false; // nothing in it reads the instruction set: the same for every one
  bool needs_optimisation = false;
  bool names_places = false;   // a directory of the build is in its data
  unsigned vector_returns = 0; // functions whose ABI was written out (ir/vector_returns.h)
  std::string messages;        // that Clang printed, independent of where the build lies
  std::string bitcode;         // the canonical module
  std::string lesser; // its IR for the build machine's own level, where that is below the configuration's
  std::string object; // the working object, without a note
};

// The names of an outcome in the cache.
struct Keys {
  Digest plain; // everything but features that only add instructions
  Digest exact; // everything
};

// `working_level` is what working objects that read the instruction set are made for; `unit` has its source
// and its machine flags.
Keys keys_of(const session::Session& session, const clang::CompilerInvocation& invocation,
             const ir::Unit& unit, const Preprocessed& preprocessed, const std::string& working_level);

// The features of `flags` that do more than add instructions (`-sse2`, `+soft-float`, `+retpoline`): what
// remains of a plain unit's flags for its working object.
std::vector<std::string> features_of_meaning(const std::vector<std::string>& flags);

// What is kept of a source and its options, whatever its contents: that an outcome was filed for every
// instruction set, or for this one. Where neither is kept nothing can be found, and it need not be looked
// for.
struct Marks {
  Digest plain, exact;
};
Marks marks_of(const session::Session& session, const clang::CompilerInvocation& invocation,
               const ir::Unit& unit);
bool may_be_found(const session::Session& session, const Marks& marks);

// Can the invocation's results be told by its tokens and options alone? Not where it reads or writes further
// files.
bool may_be_known(const clang::CompilerInvocation& invocation);

std::optional<KnownUnit> find_known(const session::Session& session, const Keys& keys);
// Nothing could be filed of a compile: next time it is to be looked for.
void look_next_time(const session::Session& session, const Marks& marks);
void forget(const session::Session& session, const Keys& keys);
// A cache that cannot be written (no space) only costs time.
void remember(const session::Session& session, const Marks& marks, const Keys& keys, const KnownUnit& unit);

} // namespace xaas::known
