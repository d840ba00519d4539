// The plan for a configuration's device code: what each GPU of the target gets, before any of it is made.
// make.h carries the plan out.
//
// Device code takes one of three ways into a program. The code of most units is put into the object of the
// unit's host code. Where a build links device code across units (CUDA's relocatable device code, OpenMP),
// each link of the host's code also links theirs. And a build may install device code as files.
#pragma once

#include <xaas/device/assembler.h>
#include <xaas/image/bundle.h>
#include <xaas/image/deployed.h>
#include <xaas/system/system.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::device {

// One unit for GPUs, to be lowered for one architecture.
struct DeviceJob {
  Digest unit;
  std::string arch;       // the architecture to generate code for: sm_100, gfx90a
  PtxVersion ptx;         // the version of PTX to write; only for NVIDIA
  bool assembled = false; // the result is machine code; else it is PTX. Only for NVIDIA
  // How the code is linked with that of other units, as in ir::Unit; empty: it is not linked.
  std::string offload = {};
  bool linked() const { return !offload.empty(); }
  auto operator<=>(const DeviceJob&) const = default;
};

// An installed file that holds device code.
struct PlannedFile {
  link::DeviceFile::Form form = link::DeviceFile::Form::ptx;
  std::vector<DeviceJob> jobs; // several only in a fat binary; none: the file stays as the build made it
};

// Those units of one link whose device code is linked in the same way, in the order in which the link first
// names them. All members of an archive count, because only the linker knows which ones it takes; it drops
// what no kernel needs.
struct DeviceLink {
  std::string offload; // as in ir::Unit
  std::vector<Digest> host_units;
};

struct DevicePlan {
  // Architectures of the machine's GPUs, sorted; "cpu" alone if kernels run there; none: no device code.
  std::vector<std::string> gpus;
  std::optional<Assembler> assembler; // absent: the driver assembles PTX
  // Jobs whose code goes into the object of a host unit, one for each GPU that needs its own. A unit without
  // jobs gets an empty image.
  std::map<Digest, std::vector<DeviceJob>> host_units;
  // Jobs whose code is linked, by GPU and host unit. Without GPUs nothing is linked.
  std::map<std::string, std::map<Digest, DeviceJob>> linked;
  std::map<Digest, std::vector<DeviceLink>> links; // by record, of links with device code to be linked
  std::map<std::string, PlannedFile> files;        // by path
  // Kernels that run on the CPU: the device unit of each host unit; the host units whose kernels each link
  // needs, without those in `links`, by record (of links with CUDA's run-time library, too); and what the
  // run-time library says of itself (cpukernel.h).
  bool on_cpu = false;
  bool checks_kernels = false; // they check their accesses and barriers
  std::map<Digest, Digest> kernels;
  std::map<Digest, std::vector<Digest>> kernel_links;
  unsigned cuda_release = 0, architecture = 0;
  // Libraries of CUDA's that need a GPU (cpukernel/gpu_libraries.h) and are replaced by stand-ins, by record.
  std::map<Digest, std::set<link::FileRef>> libraries;
  // Files of device code, by path, which no program can load on the CPU.
  std::map<std::string, link::DeviceFile::Form> useless_files;
  // Installed objects and archives whose device code only links within the image find. Used elsewhere, they
  // have none.
  std::vector<std::string> files_without_device_code;
  std::set<image::GpuCode> code; // what each GPU gets, for reports

  void add(const Digest& host_unit, const std::string& gpu, const DeviceJob& job);
  // Whether anything in the configuration holds device code, whatever the GPUs.
  bool wants_device_code() const {
    return !host_units.empty() || !linked.empty() || !kernels.empty() || !files.empty();
  }
  // Cache key for the device code that a host unit gets; "" for a unit without device code.
  std::string key(const Digest& host_unit) const;
  // The jobs of some host units, and those of all files.
  std::set<DeviceJob> jobs(const std::set<Digest>& host_units) const;
};

struct PlanOptions {
  std::vector<system::Gpu> gpus; // of the target; system::is_cpu() alone: kernels run on the CPU
  bool no_gpu = false;           // leave device code out, whatever the GPUs
  bool check_kernels = false;    // kernels that run on the CPU check their accesses and barriers
  bool stand_ins = false; // where kernels run on the CPU, replace libraries that need a GPU by stand-ins
  // Where to look for an assembler, if the plan has work for one. Absent: the driver assembles PTX.
  std::optional<AssemblerPlaces> assembler;
};

// Code for GPUs of a vendor that the system does not have is left out. Errors, all unsatisfied, with the way
// out as a hint:
// - no GPU of the system is of a vendor that the configuration has code for, unless PlanOptions::no_gpu;
// - a GPU's architecture is not known, or no device code of the image serves it;
// - the driver takes neither the assembler's machine code nor PTX;
// - kernels run on the CPU, and a program is linked with a library that needs a GPU, unless
//   PlanOptions::stand_ins;
// - a file cannot serve all GPUs that its IR serves, or holds machine code and there is no assembler for it.
// And those of find_assembler for an assembler that was given.
Result<DevicePlan> plan_device_code(const image::Bundle& bundle,
                                    const image::BundleConfiguration& configuration,
                                    const image::Usage& usage, const PlanOptions& options);

} // namespace xaas::device
