// Addresses in shared memory that the lanes of a warp share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

namespace llvm {
class DataLayout;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// constant + the sum of coefficients times values, in bytes from `base`.
struct SharedAddress {
  const llvm::Value* base = nullptr; // a variable; null: the address is not of this kind
  int64_t constant = 0;
  std::map<const llvm::Value*, int64_t> terms = {};
};

SharedAddress shared_address(llvm::Value* pointer, const llvm::DataLayout& layout);

// True if `second` of one lane is `first` of another one, and not the lane's own, as far as the addresses
// show. `varies`: whether a value is another one for each thread.
bool lanes_share(const SharedAddress& first, const SharedAddress& second,
                 const std::function<bool(const llvm::Value&)>& varies);

} // namespace xaas::cpukernel
