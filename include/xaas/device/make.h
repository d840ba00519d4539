// Makes the device code that a plan (plan.h) asks for: lowered, linked and assembled.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/progress.h>
#include <xaas/cpukernel/cpukernel.h>
#include <xaas/device/plan.h>
#include <xaas/image/contents.h>
#include <xaas/lower/object_cache.h>
#include <xaas/target/cpu.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::device {

// What making reads, and where it works.
struct DeviceInputs {
  const image::Bundle& bundle;
  const DevicePlan& plan;
  std::set<Digest> host_units;     // of the plan's, those whose images are needed
  const image::Contents& contents; // has what modules_to_read lists, and the kit
  const target::Cpu& cpu;          // for the CPU as a device
  const lower::ObjectCache* cache; // null: everything is lowered
  fs::path work;                   // a directory for files
  unsigned threads;
  Progress& progress;
};

struct DeviceCode {
  std::map<Digest, std::string> images; // fat binaries and bundles of code objects, by host unit
  std::map<Digest, std::vector<std::string>> objects; // what a link reads besides its inputs, by record
  std::map<std::string, std::string> files;           // contents, by path
  struct SourceKernel {
    std::string source;
    cpukernel::Kernel kernel;
  };
  std::vector<SourceKernel> kernels = {}; // that were made for the CPU, or refused
  // Libraries that need a GPU, in whose place programs have functions that say so.
  struct Replaced {
    std::string library;            // file name
    std::set<std::string> programs; // and libraries that were linked with it
    std::set<std::string> functions;
  };
  std::vector<Replaced> replaced = {};
  uint64_t lowered = 0, cached = 0, links = 0;
};

// The IR modules that making the plan reads, with the images of `host_units`.
std::set<Digest> modules_to_read(const image::Bundle& bundle, const DevicePlan& plan,
                                 const std::set<Digest>& host_units);

// A link with CUDA or HIP code gets no object where the plan has no code for any device. Errors: failed where
// the units of a link contradict each other; those of lowering, linking and assembling.
Result<DeviceCode> make_device_code(const DeviceInputs& inputs);

// True for a file that links for the CPU do not read: CUDA's run-time library, and those of plan.libraries.
bool is_replaced(const DevicePlan& plan, const Digest& record, const link::FileRef& file);

// An object with the run-time library for a plan with kernels on the CPU, for programs that call these
// functions of CUDA's.
Result<std::string> cuda_runtime(const DevicePlan& plan, const target::Cpu& cpu,
                                 const std::set<std::string>& functions);

// An object with stand-ins for those functions of a library that needs a GPU, whose file has this name.
// `defined`: all its functions.
Result<std::string> stand_ins(const std::string& library, const target::Cpu& cpu,
                              const std::set<std::string>& functions, const std::set<std::string>& defined);

} // namespace xaas::device
