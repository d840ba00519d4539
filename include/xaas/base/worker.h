// A worker: a confined child that computes one answer from what this process has in memory.
//
// What reads bytes of strangers (bitcode, objects) may crash, run out of memory, never end, or be taken over
// by what it reads. So it runs in a child, which is forked without exec: no second program, no environment,
// no loader takes part, and start-up costs a millisecond. A child computes one answer: one that somebody has
// taken over has no other's to give. Rejected: threads (a crash takes everything along; LLVM's options are
// process state), exec of this program (needs to know where it is, which an archive started by its own loader
// does not), and children that serve many tasks (see above).
//
// The child computes and nothing else: base/confine.h. Time is counted in CPU seconds of the child, so that a
// busy machine makes nobody late.
#pragma once

#include <xaas/base/child.h>
#include <xaas/base/pipe.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace xaas {

struct WorkerLimits {
  uint64_t memory = 0; // bytes; 0: what this process may have
  double cpu_seconds = 3600;
  uint64_t answer = uint64_t(1) << 32; // bytes; no object is larger than that
};

// What the worker computes: an answer, or an error (only `failed`, `integrity` and `unsatisfied` pass).
using WorkerTask = std::function<Result<std::string>()>;

class Worker {
public:
  // Must be called from a process with one thread.
  static Result<Worker> start(const WorkerTask& task, const WorkerLimits& limits);

  Worker(Worker&& other) noexcept
      : child_(std::exchange(other.child_, -1)), answer_(std::move(other.answer_)),
        words_(std::move(other.words_)), clock_(other.clock_), max_answer_(other.max_answer_),
        received_(std::move(other.received_)) {}
  Worker& operator=(Worker&&) = delete;
  ~Worker();

  int fd() const { return answer_.read_end(); } // readable when there is something to receive()
  std::string overdue() { return clock_.overdue(); }
  // Takes what is there, without waiting; true at the end of the answer.
  bool receive();
  // After the end of the answer: what the task gave. Nothing if the worker died.
  std::optional<Result<std::string>> answer();
  // Of a worker without an answer: how it ended, as an error (failed). `no_memory`: with more it may do.
  struct Death {
    bool no_memory;
    Error error;
  };
  Death death();

private:
  Worker(pid_t child, Pipe answer, Pipe words, const WorkerLimits& limits);
  std::string last_words();

  pid_t child_;
  Pipe answer_, words_;
  ChildClock clock_;
  uint64_t max_answer_;
  std::string received_;
  ChildEnd end_;
};

// One worker, waited for. A death is an error of kind failed; `what` says what was done.
Result<std::string> run_worker(const std::string& what, const WorkerTask& task,
                               const WorkerLimits& limits = {});

} // namespace xaas
