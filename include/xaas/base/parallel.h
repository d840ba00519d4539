// Work on several threads at once. Not beside forks (see docs/coding-guidelines.md): every thread has ended
// when the call returns.
#pragma once

#include <xaas/base/result.h>

#include <cstddef>
#include <functional>

namespace xaas {

// Calls work(0) to work(count - 1), in this order as far as it begins, `threads` of them at a time. After the
// first error nothing more begins; it is the result.
Result<void> run_parallel(size_t count, unsigned threads, const std::function<Result<void>(size_t)>& work);

} // namespace xaas
