// A worker: a confined child that computes one answer from data in this process's memory.
//
// Code that parses untrusted input (bitcode, objects) may crash, run out of memory, never end, or be taken
// over by its input. So it runs in a child, forked without exec: no second program, environment or loader
// takes part, and starting one costs a millisecond. Each child computes a single answer, so a compromised one
// cannot forge others. Rejected: threads (a crash takes down everything, and LLVM's options are process
// state), exec of this program (needs its path, which an archive started through its own loader does not
// know), and children that serve many tasks (see above).
//
// The child can only compute, and use the files that its limits name: base/confine.h. Its time limit counts
// the child's CPU seconds, so that a busy machine does not make it fail.
#pragma once

#include <xaas/base/child.h>
#include <xaas/base/file.h>
#include <xaas/base/pipe.h>
#include <xaas/base/result.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xaas {

struct WorkerLimits {
  uint64_t memory = 0; // bytes; 0: what this process may use
  double cpu_seconds = 3600;
  uint64_t answer = uint64_t(1) << 32; // bytes; no object is larger than that

  // The files that the worker may use, as in base/confine.h; by default none.
  std::vector<fs::path> readable = {};
  std::vector<fs::path> writable = {}; // the first is its working directory
  uint64_t max_file = 0;               // bytes of a file that it writes; 0: no limit of its own
  bool further = false;                // the task calls confine() for what follows

  std::string name = "the worker"; // in messages
  std::string fault = {};          // whose fault a crash is, if not ours, as in crash_error()
};

// What the worker computes: an answer, or an error of kind failed, integrity or unsatisfied.
using WorkerTask = std::function<Result<std::string>()>;

class Worker {
public:
  // Must be called from a process with one thread.
  static Result<Worker> start(const WorkerTask& task, const WorkerLimits& limits);

  Worker(Worker&& other) noexcept
      : child_(std::exchange(other.child_, -1)), answer_(std::move(other.answer_)),
        words_(std::move(other.words_)), clock_(other.clock_), max_answer_(other.max_answer_),
        name_(std::move(other.name_)), fault_(std::move(other.fault_)),
        received_(std::move(other.received_)) {}
  Worker& operator=(Worker&&) = delete;
  ~Worker();

  int fd() const { return answer_.read_end(); } // readable when receive() has something to do
  // Which time limit was exceeded, or an empty string.
  std::string overdue();
  // Takes what has arrived, without waiting; true at the end of the answer.
  bool receive();
  // After the end of the answer: the result of the task, or nothing if the worker died.
  std::optional<Result<std::string>> answer();
  double cpu_seconds() const { return end_.cpu_seconds; } // after answer()
  // How a worker without an answer ended, as an error (failed). `no_memory`: it might succeed with more.
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
  std::string name_, fault_, received_;
  ChildEnd end_;
};

// Runs one worker to its end. Its death is an error of kind failed.
Result<std::string> run_worker(const WorkerTask& task, const WorkerLimits& limits = {});
// The same; `what` begins the message of an error.
Result<std::string> run_worker(const std::string& what, const WorkerTask& task,
                               const WorkerLimits& limits = {});

} // namespace xaas
