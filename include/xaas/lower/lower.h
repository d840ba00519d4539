// Lowering: IR module + options + target -> object file, through Clang's own back-end entry.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/base/result.h>
#include <xaas/cpukernel/cpukernel.h>
#include <xaas/ir/unit.h>
#include <xaas/lower/plugins.h>
#include <xaas/target/cpu.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::lower {

enum class Form {
  object,
  working,  // an object compiled as fast as possible, without optimization; only the build runs it
  thin_lto, // bitcode with a summary, after ThinLTO's pre-link pipeline; but an object if the module has
            // inline assembly that a link must not assemble (ir::suits_lto()), or defines one of
            // Job::interposed
  // Bitcode that a link merges with that of other units: of a unit for GPUs for link_device_code()
  // (device_link.h), of one for the host as Clang's -flto=full compiles it, or an object as for thin_lto.
  lto,
  kernels, // of units for NVIDIA's GPUs: an object with their kernels for a CPU (cpukernel/cpukernel.h)
  checked_kernels, // the same, with checks (cpukernel::Options::checked)
  prepared,        // bitcode in prepared form (ir/prepared.h), for any target
  symbols, // the names that the module may define (to_bytes()), for any target; empty if its assembly may
           // define any name (ir/symbols.h)
  kernel_forms, // as kernels, without the object: only Object::kernels. Neither the optimizer nor the back
                // end runs
};

// For reports: "object", "ThinLTO bitcode".
std::string name(Form form);

// Whether the form is the bitcode of a unit, for a link with LTO.
constexpr bool is_for_lto(Form form) {
  return form == Form::thin_lto || form == Form::lto;
}

// LLVM's options ("name=value", as for -mllvm) with which code is optimized by the counts of a profile
// (Profiling::Kind::use), also in links with LTO.
std::vector<std::string> profile_options(bool cold_for_size);

// One of the modules whose device code is linked.
struct LinkedSource {
  std::string source;  // for messages and reports
  std::string bitcode; // of an IR module in canonical form
};

// Counters for a training run, or the counts of one. Both are about the module as the job has it, before any
// pass for its target, so that they fit on every target. Or counts that the project itself brings
// (ir::Unit::profile).
struct Profiling {
  enum class Kind { none, count, use, own };
  Kind kind = Kind::none;
  bool atomic = false;                       // of `count`: the program has threads
  bool cold_for_size = false;                // of `use`: what never ran is optimized for size
  std::shared_ptr<const std::string> counts; // of `use` and `own`: in LLVM's indexed format
  std::string key;                           // what names all of this in the key of a cache; empty if `none`
                                             // or `own`, which is a part of the unit
};

struct Job {
  std::string bitcode; // of an IR module in canonical form, or in prepared form
  ir::Unit unit;
  ir::UnitOptions options; // for Form::thin_lto without an ir::lto_obstacle(), for Form::prepared without an
                           // ir::preparation_obstacle()
  target::Cpu target;      // for a GPU: "nvptx64" and "sm_90", or "amdgcn" and "gfx90a"; no features. For
                           // Form::prepared only the architecture counts
  Form form = Form::object;
  // The bitcode is in prepared form; for Form::object and those of links with LTO.
  bool prepared = false;
  std::vector<std::string> libraries =
      {}; // of a unit for GPUs: the bitcode of unit.libraries, in their order
  std::string device_image =
      {}; // of a unit with `device` and no `offload`: what takes the placeholder's place
  // Of Form::kernels and Form::checked_kernels, where the device code of several units is linked: their
  // modules, in place of `bitcode`. `unit` and `options` then stand for all of them.
  std::vector<LinkedSource> linked = {};
  // Of Form::thin_lto: names that another file of the program may define as well, so that the link must not
  // rely on this definition.
  std::set<std::string> interposed = {};
  Profiling profiling = {}; // for Form::object and forms for links with LTO, of a unit for the host
  // That run on the module, in this order. For the same forms; a module in prepared form runs through the
  // whole optimizer again.
  std::vector<PluginUse> plugins = {};
};

// True for a GPU. Units for NVIDIA are lowered to PTX, which is text; units for AMD to an object, which is
// linked into a code object (link/device.h).
bool is_gpu(const target::Cpu& target);

// Instructions that the source itself asked for beyond the target. The program must check the CPU before it
// runs them.
struct OwnCode {
  std::set<std::string> features; // LLVM's names, from flags and `target` attributes; the target lacks them
  bool assembly = false;          // has inline assembly, whose features are unknown
  bool operator==(const OwnCode&) const = default;
};

struct Object {
  std::string bytes;
  OwnCode own;
  // Names for which a link searches archives (ir::Symbols::wanted), if the form is object, thin_lto or
  // symbols.
  std::set<std::string> wanted;
  std::vector<cpukernel::Kernel> kernels = {}; // if the form is kernels, checked_kernels or kernel_forms
  double cpu_seconds = 0;                      // that lowering took, if a worker did it now
  // With Profiling::Kind::use and own: names of functions that a profile can have counts of, and of those
  // of which it has some. `own` sees only those that a first round of inlining leaves.
  std::set<std::string> profilable = {}, profiled = {};
};
// The form in which a worker answers and a cache stores it. Parsing anything else is an integrity error.
std::string to_bytes(const Object& object);
Result<Object> parse_object(std::string_view bytes);
std::string to_bytes(const std::set<std::string>& names);
Result<std::set<std::string>> parse_names(std::string_view bytes);

// The size limit of an object. The small code model, which nearly all programs use, ends at 2 GiB (System V
// ABI for AMD64, section 3.5.1).
constexpr uint64_t max_object = uint64_t(1) << 31;
struct OutputLimit {
  uint64_t bytes = max_object;
  void (*exceeded)() = nullptr; // called at once, and need not return; if null, the rest is discarded
};

// Lowers in this process. No thread can open a file meanwhile. Bitcode that cannot be parsed, or options that
// cannot be applied: integrity error that names unit and module. An error of the back end (inline assembly
// that the target refuses), or an object over the limit: failed. Plugins are loaded first, for good.
// `loaded` is called after that, and before anything of the job is read.
Result<Object> lower(const Job& job, const OutputLimit& limit = {},
                     const std::function<Result<void>()>& loaded = {});

// Limits for lowering many modules.
struct Limits {
  unsigned workers = 1;         // at once
  uint64_t memory = 0;          // bytes, for all workers together; 0: this process's own limit
  double cpu_seconds = 3600;    // of one module
  uint64_t object = max_object; // bytes
};

using JobSource = std::function<Result<Job>(size_t)>;
using ObjectSink = std::function<Result<void>(size_t, Object)>;

// Lowers `count` jobs in worker processes, in the given order (put the longest first). `job` is called in
// this process when a worker is free, `done` in this process with each object, in any order. Workers are
// confined (base/confine.h); those of jobs with plugins can open these and their libraries until they have
// loaded them. A worker that dies or exceeds a limit is a failed error that names the module.
// The first error ends the work. Must be called from a process with one thread: workers are forked without
// exec, so that no other program of the machine takes part.
Result<void> lower_all(size_t count, const JobSource& job, const ObjectSink& done, const Limits& limits,
                       Progress& progress = no_progress());

} // namespace xaas::lower
