// Addresses in memory that the lanes of a warp share.
#pragma once

#include "outcome.h"

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>

namespace llvm {
class DataLayout;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// constant + the sum of coefficients times values, in bytes from `base`.
struct Address {
  const llvm::Value* base = nullptr; // a variable or an argument; null: the address is not of this kind
  int64_t constant = 0;
  std::map<const llvm::Value*, int64_t> terms = {};
};

// Of a variable.
Address shared_address(llvm::Value* pointer, const llvm::DataLayout& layout);

// Of memory that a launch passes to the kernel.
Address global_address(llvm::Value* pointer, const llvm::DataLayout& layout);

// Where those lanes of a warp store first that take the branches on the only way to the store, in bytes from
// the base. Empty unless all places are known and different. All lanes take a branch that is not known.
std::set<int64_t> places_of_lanes(const Address& address, llvm::ArrayRef<BranchOutcome> way);

// The places of an address that is the same for all lanes, with all values of counters of loops; empty if
// they are not known.
std::set<int64_t> places_for_all(const Address& address);

// True if `second` of one lane is `first` of another one, and not the lane's own, as far as the addresses
// show. `varies`: whether a value is another one for each thread.
bool lanes_share(const Address& first, const Address& second,
                 const std::function<bool(const llvm::Value&)>& varies);

} // namespace xaas::cpukernel
