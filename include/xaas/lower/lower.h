// Lowering: IR module + options + target -> object file, through Clang's own back-end entry.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/ir/unit.h>
#include <xaas/target/cpu.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace xaas::lower {

enum class Form {
  object,
  working,  // an object made as fast as it can be, without optimisation: only the build runs it
  thin_lto, // bitcode with a summary, optimised as far as ThinLTO has it done before the link. An object
            // all the same where only lowering can be trusted with the inline assembly
  lto,      // of a unit for GPUs: bitcode, for link_device_code() (device_link.h)
};

struct Job {
  std::string bitcode; // of an IR module in canonical form
  ir::Unit unit;
  ir::UnitOptions options; // with Form::thin_lto without ir::lto_obstacle()
  target::Cpu target;      // a GPU's: "nvptx64", "sm_90" or "amdgcn", "gfx90a", and no features
  Form form = Form::object;
  std::vector<std::string> libraries =
      {}; // of a unit for GPUs: the bitcode of unit.libraries, in their order
  std::string device_image =
      {}; // of a unit with `device` and no `offload`: what takes the placeholder's place
};

// True for a target of GPU code. Units for NVIDIA's are lowered to PTX, a text; for AMD's to an object, which
// is linked into a code object (link/device.h).
bool is_gpu(const target::Cpu& target);

// What the source itself asked for on top of the target: code that it must not run before it has asked the
// CPU.
struct OwnCode {
  std::set<std::string> features; // of its flags and `target` attributes, LLVM's names, that the target lacks
  bool assembly = false;          // inline assembly, of which no feature is known
  bool operator==(const OwnCode&) const = default;
};

struct Object {
  std::string bytes;
  OwnCode own;
};
// As a worker answers and a cache keeps it.
std::string to_bytes(const Object& object);
Result<Object> parse_object(const std::string& bytes); // anything else: integrity error

// How large an object may be. The small code model, which nearly all programs have, ends at 2 GiB (System V
// ABI for AMD64, section 3.5.1).
constexpr uint64_t max_object = uint64_t(1) << 31;
struct OutputLimit {
  uint64_t bytes = max_object;
  void (*exceeded)() = nullptr; // called at once, and need not return; else the rest is thrown away
};

// Lowers in this process, which can open no file meanwhile, so other threads must not need one. Bitcode that
// cannot be parsed, or options that cannot be applied: integrity error that names unit and module. An error
// of the back end (inline assembly that the target refuses), an object that is too large: failed.
Result<Object> lower(const Job& job, const OutputLimit& limit = {});

// What lowering many modules may use.
struct Limits {
  unsigned workers = 1;         // at once
  uint64_t memory = 0;          // bytes, of all workers together; 0: what this process may have
  double cpu_seconds = 3600;    // of one module
  uint64_t object = max_object; // bytes
};

using JobSource = std::function<Result<Job>(size_t)>;
using ObjectSink = std::function<Result<void>(size_t, Object)>;

// Lowers `count` jobs in worker processes, in the order given (put the longest first). `job` is called in
// this process when a worker is free; `done` in this process with each object, in any order. Workers are
// confined (base/confine.h). One that dies, takes too long or all the memory, or makes too much, is a failed
// error that names the module. The first error ends the work. Must be called from a process with
// one thread: workers are forked, without exec, so that nothing on the machine but this program takes part.
Result<void> lower_all(size_t count, const JobSource& job, const ObjectSink& done, const Limits& limits,
                       Progress& progress = no_progress());

} // namespace xaas::lower
