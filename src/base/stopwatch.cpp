#include <xaas/base/stopwatch.h>

#include <sys/resource.h>

namespace xaas {

namespace {

double cpu_seconds() {
  double total = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    if (getrusage(who, &usage) != 0)
      continue;
    for (const timeval& part : {usage.ru_utime, usage.ru_stime})
      total += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) * 1e-6;
  }
  return total;
}

} // namespace

Stopwatch::Stopwatch() : start_(std::chrono::steady_clock::now()), cpu_(cpu_seconds()) {}

Seconds Stopwatch::seconds() const {
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(),
          cpu_seconds() - cpu_};
}

} // namespace xaas
