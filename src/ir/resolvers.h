// The functions that run while the loader resolves ifuncs.
#pragma once

#include <set>

namespace llvm {
class Function;
class Module;
class Value;
} // namespace llvm

namespace xaas::ir {

// The function that `value` is or is an alias of; null if it is neither.
const llvm::Function* function_of(const llvm::Value* value);

// The resolvers of the module's ifuncs and the functions of the module that they call.
std::set<const llvm::Function*> resolver_functions(const llvm::Module& module);

// The functions whose addresses those functions take: the versions that a resolver chooses from.
std::set<const llvm::Function*> resolved_functions(const llvm::Module& module);

} // namespace xaas::ir
