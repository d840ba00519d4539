// Segments of a row in which integer quotients are the same for all threads.
#pragma once

#include <cstddef>
#include <optional>

namespace llvm {
class BinaryOperator;
class Function;
class Value;
} // namespace llvm

namespace xaas::cpukernel {

// The operands of a division, or of a shift or mask that is one. The divisor is no small constant.
struct Quotient {
  llvm::Value *dividend, *divisor;
  bool is_signed, is_remainder;
};
std::optional<Quotient> find_quotient(llvm::BinaryOperator& operation);

// How a row of threads is cut. A pair is a dividend and a divisor. All are null if the region has none.
struct Segments {
  // Has the region's parameters, where x and t are those of the row's first thread, and the length of the
  // row. Returns whether the row may be cut, and, of each pair, the dividend of the row's first thread and
  // the divisor: i1, and i64 that are not negative. The dividend of the thread x is larger by x.
  llvm::Function* numbers = nullptr;
  // Does the same as the region for a segment. Has its parameters, then the segment's first thread (i32),
  // and, of each pair, the quotient and the remainder of that thread (i64). No thread of the segment has
  // another quotient.
  llvm::Function* core = nullptr;
  size_t pairs = 0;
};

// `place`: the number of the region's parameter `block`. The new functions are inlined where they are called.
Segments cut_at_quotients(llvm::Function& region, unsigned place);

} // namespace xaas::cpukernel
