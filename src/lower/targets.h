// LLVM's back ends.
#pragma once

namespace xaas::lower {

// Makes them known; does nothing the second time.
void initialize_targets();

} // namespace xaas::lower
