// Checks of what kernels do (library/checks.h), for Options::checked.
#pragma once

#include "nodes.h"
#include "normalise.h"
#include "regions.h"

namespace llvm {
class Constant;
class Instruction;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// Before all other steps: of debug information, only lines are kept; accesses without a line get the name of
// their function. Before modules are linked, too: functions may get other names then.
void keep_places(llvm::Module& module);

// Puts a check before each access of a kernel, into which everything has been inlined, and notes at each
// operation of a warp or block where it is. The next steps change no access.
void add_checks(llvm::Function& kernel, const SharedVariables& shared);

// Where a call that add_checks() saw is, as a constant of the module; null for another call.
llvm::Constant* place_of(const llvm::Instruction& call);

// The pointer of an access without its check, and the first instruction that belongs to the access.
llvm::Value* without_check(llvm::Value* pointer);
llvm::Instruction& start_of_access(llvm::Instruction& access);

// The function that is called before the threads that were chosen run; null in a module without checks.
llvm::Function* meeting_check(const llvm::Module& module);

// The constant of library/checks.h for a kernel. `name`: mangled.
llvm::Constant* describe_checks(llvm::Module& module, const std::string& name, const Nodes& nodes,
                                const SharedPlaces& places, const SharedVariables& shared);

} // namespace xaas::cpukernel
