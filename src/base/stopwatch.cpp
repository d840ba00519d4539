#include <xaas/base/stopwatch.h>

#include <sys/resource.h>

namespace xaas {

namespace {

double cpu_seconds_so_far() {
  double total = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    if (getrusage(who, &usage) == 0)
      total += cpu_seconds(usage);
  }
  return total;
}

} // namespace

double cpu_seconds(const rusage& usage) {
  double total = 0;
  for (const timeval& part : {usage.ru_utime, usage.ru_stime})
    total += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) * 1e-6;
  return total;
}

Stopwatch::Stopwatch() : start_(std::chrono::steady_clock::now()), cpu_(cpu_seconds_so_far()) {}

Seconds Stopwatch::seconds() const {
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(),
          cpu_seconds_so_far() - cpu_};
}

} // namespace xaas
