// Definitions of a shared library that another file of the application replaces.
#pragma once

#include <xaas/base/result.h>

#include <llvm/IR/Module.h>

#include <set>
#include <string>

namespace xaas::lower {

// Keeps LLVM from relying on the definitions of these names. Hidden ones stay as they are, because nothing
// replaces them. Returns those that were strong, for keep_strong().
std::set<std::string> make_replaceable(llvm::Module& module, const std::set<std::string>& names);

// Makes these names strong definitions for the linker that reads the bitcode. It is what LLVM
// has just written, so an error (failed) is no fault of the image.
Result<void> keep_strong(std::string& bitcode, const std::set<std::string>& names);

} // namespace xaas::lower
