// Lowering: IR module + options + target -> object file, through Clang's own back-end entry.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/target/cpu.h>

#include <functional>
#include <string>

namespace xaas::lower {

struct Job {
  std::string bitcode; // of an IR module in canonical form
  ir::Unit unit;
  ir::UnitOptions options;
  target::Cpu target;
  bool working =
      false; // as fast as it can be made, without optimisation: for objects that only the build runs
};

// Lowers in this process, which can open no file meanwhile, so other threads must not need one. Bitcode that
// cannot be parsed, or options that cannot be applied: integrity error that names unit and module. An error
// of the back end (inline assembly that the target refuses): failed.
Result<std::string> lower(const Job& job);

// Lowers `count` jobs in worker processes, at most `workers` at once, in the order given (put the longest
// first). `job` is called in this process when a worker is free; `done` in this process with each object, in
// any order. A worker that dies is an integrity error that names the module. The first error ends the work.
// Must be called from a process with one thread: workers are forked, without exec, so that nothing on the
// machine but this program takes part.
Result<void> lower_all(size_t count, const std::function<Result<Job>(size_t)>& job,
                       const std::function<Result<void>(size_t, std::string)>& done, unsigned workers,
                       Progress& progress = no_progress());

} // namespace xaas::lower
