#include <xaas/base/parallel.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace xaas {

Result<void> run_parallel(size_t count, unsigned threads, const std::function<Result<void>(size_t)>& work) {
  if (count < 2 || threads < 2) {
    for (size_t i = 0; i < count; ++i)
      XAAS_CHECK(work(i));
    return {};
  }
  std::mutex mutex;
  size_t next = 0;
  std::optional<Error> first;
  const auto run = [&] {
    while (true) {
      size_t mine = 0;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (first || next == count)
          return;
        mine = next++;
      }
      Result<void> done = work(mine);
      const std::lock_guard<std::mutex> lock(mutex);
      if (!done && !first)
        first = std::move(done).error();
    }
  };
  std::vector<std::jthread> others;
  for (size_t i = 1; i < std::min<size_t>(threads, count); ++i)
    others.emplace_back(run);
  run();
  others.clear(); // joins them
  return first ? Result<void>(*std::move(first)) : Result<void>();
}

} // namespace xaas
