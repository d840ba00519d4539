// What the next iteration of a loop around a row of threads reads.
#pragma once

#include <cstdint>

namespace llvm {
class Function;
} // namespace llvm

namespace xaas::cpukernel {

// `part`: of a region that was cut (regions.h), whose node has `code`; the last `uniform` parameters are its
// own values. Returns a function with the part's parameters, where x and t are those of the row's first
// thread, and the length of the row; it prefetches the start of what the row reads when the part runs again.
// Null if the part does not run again, or would read nothing else. `place`: the number of the part's
// parameter `block`.
llvm::Function* make_prefetch(llvm::Function& part, unsigned place, unsigned uniform, uint32_t code);

} // namespace xaas::cpukernel
