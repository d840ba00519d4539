// The features that code without a target attribute needs.
#pragma once

#include <xaas/ir/features.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace xaas::ir {

// The features, sorted, that a module in canonical form needs on top of those of `set`, apart from those that
// functions with a target attribute bring along. With these, it can be lowered for `set`; the front end has
// checked the same at the level of its compile. `is_complete` tells which functions need nothing but what
// their attribute says; those of Clang's own headers do not. Nothing if the module has an intrinsic whose
// features are not known.
Result<std::optional<std::vector<std::string>>>
needed_features(const llvm::Module& module, const InstructionSet& set,
                const std::function<bool(const llvm::Function&)>& is_complete);

// The features that an instruction of x86 needs that LLVM has as this intrinsic, by Clang's table of
// builtins. Where there are several such sets of features, it is the first. Nothing if Clang has no builtin
// for it.
std::optional<std::vector<std::string>> features_of_intrinsic(unsigned intrinsic);

} // namespace xaas::ir
