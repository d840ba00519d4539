// The inputs of earlier runs of the preprocessor: a run that would read the same need not be repeated.
#pragma once

#include <xaas/known/preprocess.h>

#include <xaas/ir/unit.h>

#include <string>
#include <vector>

namespace xaas::known {

// A file that a dependency file names.
struct Dependency {
  std::string path;
  bool of_system = false;
  bool operator==(const Dependency&) const = default;
};

struct FoundInputs {
  Preprocessed preprocessed; // as preprocess() would return it
  std::vector<Dependency> dependencies;
};

// What the preprocessor would give for this compile, if it would read what an earlier run read. Only the
// source of `unit` is used. `files` is as for preprocess(); every file that the earlier run read is in it
// afterwards.
std::optional<FoundInputs> find_inputs(const session::Session& session,
                                       const clang::CompilerInvocation& invocation, const ir::Unit& unit,
                                       const llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem>& files);

// The result of another compile of the same files if it reads the same as `run`, which was made for
// `invocation`. The compiles may differ in their instruction set. Nothing if they would read different
// macros, or if that is not known. No file is read.
std::optional<Preprocessed> result_for(const session::Session& session,
                                       const clang::CompilerInvocation& other,
                                       const clang::CompilerInvocation& invocation, const ir::Unit& unit,
                                       const Preprocessed& run);

// False if two runs have not read the same files that dependency files name, or if that is not known.
bool have_same_dependencies(const session::Session& session, const Preprocessed& one,
                            const Preprocessed& other);

// Files the inputs of a run, if they are all that decides its result. A cache that cannot be written (no
// space) only costs time.
void remember_inputs(const session::Session& session, const clang::CompilerInvocation& invocation,
                     const ir::Unit& unit, const Preprocessed& preprocessed);

// False if a run of the preprocessor for the same compile gives something else than was found.
bool is_result_of_run(const session::Session& session, const FoundInputs& found, const Preprocessed& run);

// Removes what was found, and all that is filed with it.
void forget_inputs(const session::Session& session, const clang::CompilerInvocation& invocation,
                   const ir::Unit& unit, const FoundInputs& found);

// Writes the dependency files that the invocation asks for, as the preprocessor would. False if that fails.
bool write_dependencies(const clang::CompilerInvocation& invocation,
                        const std::vector<Dependency>& dependencies);

} // namespace xaas::known
