// The capture cache: outcomes of earlier compiles.
#pragma once

#include <xaas/known/preprocess.h>

#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/store/cache.h>

#include <optional>
#include <string>

namespace xaas::known {

// The outcome of a compile, independent of the session.
struct KnownUnit {
  bool plain = false;                // the same for every instruction set, because nothing in it reads that
  bool reads_atomic_width = false;   // and if it is plain, the same only for one width of inline atomics
  bool upward = false;               // the same for every instruction set with at least these features
  std::vector<std::string> features; // sorted; if `upward`
  // Set if the working object is the same for every instruction set for which the outcome is: made for the
  // lowest level and these features, sorted.
  std::optional<std::vector<std::string>> working_features;
  bool needs_optimization = false;
  bool names_places = false;       // its data contains a directory of the build
  bool wants_device_image = false; // the module has a place for device code
  bool has_definitions = false;    // functions or variables of the source
  unsigned vector_returns = 0;     // functions whose ABI was written out (ir/vector_returns.h)
  std::string messages;            // Clang's messages, independent of the build's location
  std::string macros;              // if there are messages: Preprocessed::macros in hexadecimal
  std::string bitcode;             // the canonical module
  std::string lesser; // its IR for the build machine's own level, if that is below the configuration's
  // The working object, without a note; empty for device code, and for an outcome that was compiled for fewer
  // features if the object is made for the level of the configuration.
  std::string object;
};

// The keys of an outcome in the cache; see known.cpp.
struct Keys {
  Digest plain;    // covers everything but features that only add instructions
  Digest of_width; // covers the width of inline atomics, too
  Digest exact;    // covers everything
  // As `plain`; not set if working objects are for another level than the configuration's.
  std::optional<Digest> upward;
  std::vector<std::string> features; // enabled ones, sorted
};

// `working_level` is the level of working objects that read the instruction set. Only the source and the
// machine flags of `unit` are used.
Keys keys_of(const session::Session& session, const clang::CompilerInvocation& invocation,
             const ir::Unit& unit, const Preprocessed& preprocessed, const std::string& working_level);

// The features of `flags` that do more than add instructions (`-sse2`, `+soft-float`, `+retpoline`). Of the
// flags, a working object for every instruction set gets only these.
std::vector<std::string> features_of_meaning(const std::vector<std::string>& flags);

// Marks of a source and its options, whatever its contents: an outcome was filed for every instruction set
// (`plain`), or for this one (`exact`). Without either mark there is nothing to find, and no need to
// preprocess.
struct Marks {
  Digest plain, exact;
};
Marks marks_of(const session::Session& session, const clang::CompilerInvocation& invocation,
               const ir::Unit& unit);
bool may_be_found(const session::Session& session, const Marks& marks);

// True if tokens and options alone determine the invocation's results; those of a file or of standard input.
// False if it reads or writes further files, other than the session's own placeholder for device code.
bool may_be_known(const session::Session& session, const clang::CompilerInvocation& invocation);

// The user's own cache, then the shared one.
store::Cache cache_of(const session::Session& session);

// True if the outcome of one compile is that of another one, which has other keys.
bool serves(const KnownUnit& unit, const Keys& keys, const Keys& other);

std::optional<KnownUnit> find_known(const session::Session& session, const Keys& keys);
// Sets the mark after a compile whose outcome could not be filed, so that the next one looks for it.
void look_next_time(const session::Session& session, const Marks& marks);
void forget(const session::Session& session, const Keys& keys);
// A cache that cannot be written (no space) only costs time.
void remember(const session::Session& session, const Marks& marks, const Keys& keys, const KnownUnit& unit);

} // namespace xaas::known
