// From a bundle's device code to the fat binaries and bundles of code objects of one machine's GPUs. What is
// AMD's own is in src/device/amd.h.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/device/assembler.h>
#include <xaas/image/bundle.h>
#include <xaas/image/contents.h>
#include <xaas/image/deployed.h>
#include <xaas/lower/object_cache.h>
#include <xaas/system/system.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::device {

// One unit for GPUs, made for one architecture.
struct DeviceJob {
  Digest unit;
  std::string arch;       // that code is generated for: sm_100, gfx90a
  PtxVersion ptx;         // that it is written in, for NVIDIA's
  bool assembled = false; // and made machine code of
  // How it is linked with that of other units before (links.h), as in ir::Unit; empty: not at all.
  std::string offload = {};
  bool linked() const { return !offload.empty(); }
  auto operator<=>(const DeviceJob&) const = default;
};

// A file with device code of its own.
struct PlannedFile {
  link::DeviceFile::Form form = link::DeviceFile::Form::ptx;
  std::vector<DeviceJob> jobs; // one, but in a fat binary; none: the file stays as the build made it
};

// What takes the place of the device code of each unit of the host, before any of it is made.
struct DevicePlan {
  std::vector<std::string> gpus;      // architectures of the machine's GPUs, sorted; none: no device code
  std::optional<Assembler> assembler; // absent: PTX is left to the driver
  std::map<Digest, std::vector<DeviceJob>> host_units; // one job for each GPU that needs its own
  // Of units whose device code is linked: the job of each, by GPU. No GPU: nothing is linked for any.
  std::map<std::string, std::map<Digest, DeviceJob>> linked;
  std::map<std::string, PlannedFile> files; // by path
  std::set<image::GpuCode> code;            // what each GPU gets
  void add(const Digest& host_unit, const std::string& gpu, const DeviceJob& job);
  // Whether anything of the configuration has a place for device code, whatever the GPUs.
  bool wants_device_code() const { return !host_units.empty() || !linked.empty() || !files.empty(); }
  // Names what one of them gets, for a cache; "" for a unit without device code.
  std::string key(const Digest& host_unit) const;
  // Of some of the host's units, and of all files.
  std::set<DeviceJob> jobs(const std::set<Digest>& host_units) const;
};

// The error of a configuration with code for these GPUs ("NVIDIA") where there is none.
Error no_gpu_here(const std::string& vendors, const std::string& why);

// Units of the configuration that have device code. Without any there is nothing to plan, whatever the GPUs.
std::set<Digest> units_with_device_code(const image::Bundle& bundle, const image::Usage& usage);

// Installed files of the configuration that are made again, by path.
std::map<std::string, link::DeviceFile> remade_files(const image::BundleConfiguration& configuration);

// True if any of the units has code for NVIDIA's GPUs.
bool is_for_nvidia(const image::Bundle& bundle, const std::set<Digest>& host_units);

// `no_gpu`: the programs get no device code, as was asked for; else a system without a GPU that the code can
// serve is an unsatisfied error. Of code for two vendors' GPUs that of a vendor that is not here is left out.
// Errors: a GPU whose architecture is not known, that no device code of the image serves, or a driver that
// takes neither what the assembler makes nor PTX (unsatisfied, with the way out). A file is made for the GPUs
// that its IR can serve; where one file cannot serve all of these, or is machine code and there is no
// assembler for it, that is an unsatisfied error, too.
Result<DevicePlan> plan_device_code(const image::Bundle& bundle, const std::set<Digest>& host_units,
                                    const std::vector<system::Gpu>& gpus, bool no_gpu,
                                    std::optional<Assembler> assembler,
                                    const std::map<std::string, link::DeviceFile>& files = {});

// Code of device jobs: PTX, or bitcode of those that are linked.
struct LoweredDeviceCode {
  std::map<DeviceJob, std::string> code;
  uint64_t lowered = 0, cached = 0;
};
Result<LoweredDeviceCode> lower_device_code(const image::Bundle& bundle, const std::set<DeviceJob>& jobs,
                                            const image::Contents& contents, const lower::ObjectCache* cache,
                                            unsigned threads, Progress& progress);

// The GPUs of a vendor among devices that there is code for.
Result<std::vector<target::GpuArch>> code_for(const std::map<std::string, Digest>& devices,
                                              target::GpuArch::Vendor vendor);

void add_once(std::vector<DeviceJob>& jobs, const DeviceJob& job);

// The GPU of a job, as LLVM's target.
target::Cpu target_of(const DeviceJob& job);

// As Clang's driver would have called the assembler; -O3 where the unit does not say it.
AssembleOptions assemble_options(const ir::UnitOptions& options);

struct DeviceImages {
  std::map<Digest, std::string> fat_binaries; // or bundles; by unit of the host
  std::map<std::string, std::string> files;   // contents by path
  uint64_t lowered = 0, cached = 0;           // units for GPUs
};

// Lowers and assembles the jobs of `host_units`, and those of the plan's files. `contents` has their modules
// and libraries.
Result<DeviceImages> make_device_images(const image::Bundle& bundle, const DevicePlan& plan,
                                        const std::set<Digest>& host_units, const image::Contents& contents,
                                        const lower::ObjectCache* cache, unsigned jobs, Progress& progress);

} // namespace xaas::device
