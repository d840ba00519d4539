// Addresses in memory that the lanes of a warp share.
#pragma once

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
struct SharedAddress {
  const llvm::Value* base = nullptr; // a variable or an argument; null: the address is not of this kind
  int64_t constant = 0;
  std::map<const llvm::Value*, int64_t> terms = {};
};

// In a variable.
SharedAddress shared_address(llvm::Value* pointer, const llvm::DataLayout& layout);

// In memory that a launch passes to the kernel.
SharedAddress global_address(llvm::Value* pointer, const llvm::DataLayout& layout);

// The places, in bytes from the base, at which the lanes of a warp first store if they store at such an
// address, each at its own; empty if they are not known.
std::set<int64_t> places_of_lanes(const SharedAddress& address);

// The places of an address that is the same for all lanes, with all values of counters of loops; empty if
// they are not known.
std::set<int64_t> places_for_all(const SharedAddress& address);

// True if `second` of one lane is `first` of another one, and not the lane's own, as far as the addresses
// show. `varies`: whether a value is another one for each thread.
bool lanes_share(const SharedAddress& first, const SharedAddress& second,
                 const std::function<bool(const llvm::Value&)>& varies);

} // namespace xaas::cpukernel
