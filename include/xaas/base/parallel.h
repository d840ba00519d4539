// Work on several threads. Threads and forks must not meet (see docs/coding-guidelines.md): all threads have
// ended when the call returns.
#pragma once

#include <xaas/base/result.h>

#include <cstddef>
#include <functional>

namespace xaas {

// Calls work(0) to work(count - 1), starting them in this order, `threads` of them at a time. After the first
// error, which is the result, it starts no more.
Result<void> run_parallel(size_t count, unsigned threads, const std::function<Result<void>(size_t)>& work);

} // namespace xaas
