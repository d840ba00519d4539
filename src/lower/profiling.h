// Profiles in the optimizer's pipeline: counters, or the counts of a profile.
#pragma once

#include <xaas/lower/lower.h>

#include <llvm/ADT/IntrusiveRefCntPtr.h>

#include <memory>
#include <set>
#include <string>

namespace clang {
class CodeGenOptions;
} // namespace clang
namespace llvm {
class Function;
namespace vfs {
class FileSystem;
} // namespace vfs
} // namespace llvm

namespace xaas::lower {

// What the profile has for the functions of a module.
struct ProfileMatch {
  std::set<std::string> functions, matched;  // by their names in profiles
  std::set<const llvm::Function*> cold = {}; // by the source's own attribute
};

// The file system of a compile: it has the profile's counts and nothing else.
llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> file_system_with(const Profiling& profiling);

// Sets which profile Clang's own pipeline reads: a project's own one, or none.
void set_own_profile(const Profiling& profiling, clang::CodeGenOptions& codegen);

// Adds the passes. `profiling` must outlive the pipeline, which fills `match`.
void add_profiling(const Profiling& profiling, const std::shared_ptr<ProfileMatch>& match,
                   clang::CodeGenOptions& codegen);

} // namespace xaas::lower
