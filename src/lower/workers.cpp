// Lowers many modules, each in its own worker (base/worker.h). A hostile module can then only damage its own
// entry in the object cache.
//
// The workers share the memory evenly. A module that needs more than its share is lowered again at the end,
// alone, with all of it.

#include "describe.h"

#include <xaas/base/confine.h>
#include <xaas/base/huge_pages.h>
#include <xaas/base/process.h>
#include <xaas/base/trace.h>
#include <xaas/base/worker.h>
#include <xaas/ir/back_ends.h>
#include <xaas/lower/lower.h>

#include <llvm/Support/ErrorHandling.h>

#include <numeric>
#include <poll.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace xaas::lower {

namespace {

// With the files that loading the job's plugins takes. A worker without any is confined already.
WorkerLimits worker_limits(const Job& job, uint64_t max_memory, const Limits& limits) {
  constexpr uint64_t heading = uint64_t(1) << 28; // precedes the object: to_bytes()
  WorkerLimits worker{max_memory, limits.cpu_seconds, limits.object + heading};
  if (job.profiling.kind == Profiling::Kind::own)
    worker.fault = "the profile that the project brings may be damaged; otherwise, this is a fault of xaas";
  for (const PluginUse& use : job.plugins) {
    worker.readable.insert(worker.readable.end(), use.plugin.libraries.begin(), use.plugin.libraries.end());
    worker.further = true;
    worker.fault = fault_of_plugin;
  }
  return worker;
}

Result<std::string> lower_in_worker(const Job& job, uint64_t max_memory, uint64_t max_bytes) {
  llvm::install_bad_alloc_error_handler(
      [](void*, const char*, bool) { _exit(no_memory_status); }); // of malloc
  const auto loaded = [&] {
    return job.plugins.empty() ? Result<void>() : confine({.max_memory = max_memory});
  };
  XAAS_TRY(const Object object, lower(job, {max_bytes, [] { _exit(too_large_status); }}, loaded));
  return to_bytes(object);
}

class Pool {
public:
  Pool(size_t count, const JobSource& job, const ObjectSink& done, const Limits& limits, Progress& progress)
      : count_(count), job_(job), done_(done), limits_(limits), progress_(progress), names_(count) {}

  Result<void> run() {
    constexpr size_t many = 8; // of minimap2's modules: copying the code costs as much as it saves for these
    if (count_ >= many)
      use_huge_pages_for_workers();
    memory_ = limits_.memory ? limits_.memory : memory_limit();
    const unsigned workers = std::max(1u, limits_.workers);
    std::vector<size_t> all(count_);
    std::iota(all.begin(), all.end(), size_t(0));
    XAAS_CHECK(work(all, workers, memory_ / workers));
    const std::vector<size_t> alone = std::exchange(too_large_, {});
    last_try_ = true;
    return work(alone, 1, memory_);
  }

private:
  struct Running {
    size_t number;
    trace::Span span;
    Worker worker;
  };

  Result<void> work(const std::vector<size_t>& numbers, unsigned workers, uint64_t max_memory) {
    std::vector<Running> pool;
    for (size_t next = 0; next < numbers.size() || !pool.empty();) {
      while (pool.size() < workers && next < numbers.size()) {
        XAAS_TRY(const Job job, job_(numbers[next]));
        names_[numbers[next]] = describe(job);
        XAAS_TRY(Worker worker, start(job, max_memory));
        pool.push_back({numbers[next++], span_of(job), std::move(worker)});
      }
      XAAS_CHECK(check_interrupt());
      std::vector<pollfd> waiting;
      for (const Running& running : pool)
        waiting.push_back({running.worker.fd(), POLLIN, 0});
      if (poll(waiting.data(), waiting.size(), 200) < 0)
        continue;
      std::vector<Running> alive;
      for (size_t i = 0; i < pool.size(); ++i) {
        Running& running = pool[i];
        if (waiting[i].revents && running.worker.receive()) {
          XAAS_CHECK(take(running));
          continue;
        }
        if (const std::string overdue = running.worker.overdue(); !overdue.empty())
          return make_error(ErrorKind::failed, names_[running.number] + ": " + overdue);
        alive.push_back(std::move(running));
      }
      pool.swap(alive);
    }
    return {};
  }

  static trace::Span span_of(const Job& job) {
    trace::Span span("module", job.unit.source);
    span.set("form", name(job.form));
    span.set("target", job.target.name);
    span.set("cache", "miss");
    return span;
  }

  Result<Worker> start(const Job& job, uint64_t max_memory) const {
    return Worker::start([&] { return lower_in_worker(job, max_memory, limits_.object); },
                         worker_limits(job, max_memory, limits_));
  }

  Result<void> take(Running& running) {
    const size_t number = running.number;
    const std::optional<Result<std::string>> answer = running.worker.answer();
    if (!answer) {
      XAAS_CHECK(check_interrupt());
      Worker::Death death = running.worker.death();
      if (!death.no_memory)
        return std::move(death.error).in(names_[number]);
      if (last_try_)
        return std::move(death.error)
            .in(names_[number])
            .with_hint("try a machine or a batch job with more memory");
      too_large_.push_back(number);
      return {};
    }
    if (!*answer)
      return answer->error();
    XAAS_TRY(Object object, parse_object(**answer).in(names_[number]));
    object.cpu_seconds = running.worker.cpu_seconds();
    running.span.end();
    XAAS_CHECK(done_(number, std::move(object)));
    progress_.advance();
    return {};
  }

  size_t count_;
  const JobSource& job_;
  const ObjectSink& done_;
  Limits limits_;
  Progress& progress_;
  uint64_t memory_ = 0;
  std::vector<std::string> names_; // of the jobs started so far
  std::vector<size_t> too_large_;  // for a share of the memory
  bool last_try_ = false;
};

} // namespace

Result<void> lower_all(size_t count, const JobSource& job, const ObjectSink& done, const Limits& limits,
                       Progress& progress) {
  ir::initialize_back_ends(); // once, and not in each worker
  return Pool(count, job, done, limits, progress).run();
}

} // namespace xaas::lower
