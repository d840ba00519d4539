// Problem: the code of a GPU depends on three things besides the code itself: the architectures that the
// build compiled the source for (the source can ask which one it is), the GPU, and the driver, which accepts
// machine code of its toolkit's generation and PTX up to its own version. Approach: for each GPU, take the IR
// of the best architecture that is not above it and lower it for the GPU itself. Make machine code if there
// is an assembler, which must not be newer than the driver, and PTX in a version that the driver accepts
// otherwise. Rejected: both in one image, because the machine is known; falling back to PTX silently if the
// assembler does not fit, because that can mean minutes of start-up time that nobody asked for.
#include "nvidia.h"

#include <xaas/base/text.h>
#include <xaas/device/drivers.h>
#include <xaas/ir/options.h>
#include <xaas/target/gpu.h>

#include <algorithm>

namespace xaas::device {

namespace {

// The version that the front end compiled the unit for, whose builtins may need it.
Result<PtxVersion> written_ptx(const ir::Unit& unit) {
  for (const ReleaseFacts& facts : cuda_releases())
    for (const std::string& feature : unit.machine.features)
      if (feature == "+" + device::feature(facts.ptx))
        return facts.ptx;
  return make_error(ErrorKind::integrity,
                    "unit " + unit.source +
                        " for GPUs names no known version of PTX: " + join(unit.machine.features, ","));
}

Error no_file_serves(const std::string& gpu, const std::map<std::string, link::DeviceFile>& files) {
  std::set<std::string> archs;
  for (const auto& [path, file] : files)
    for (const auto& [arch, unit] : file.units)
      archs.insert(arch);
  return make_error(ErrorKind::unsatisfied,
                    "no device code of the image serves " + gpu + "; its files were compiled for " +
                        join({archs.begin(), archs.end()}, ", "),
                    "build it with --gpu " + gpu);
}

// Whether there is work for an assembler.
bool assembles_any(const std::set<Digest>& host_units, const std::map<std::string, link::DeviceFile>& files) {
  return !host_units.empty() || std::any_of(files.begin(), files.end(), [](const auto& file) {
    return file.second.form != link::DeviceFile::Form::ptx;
  });
}

struct NamedGpu {
  target::GpuArch arch;
  std::optional<DriverVersion> driver;
};

Result<std::vector<NamedGpu>> nvidia_gpus(const std::vector<system::Gpu>& gpus) {
  std::map<std::string, NamedGpu> named;
  for (const system::Gpu& gpu : gpus) {
    if (gpu.vendor != "nvidia")
      continue;
    if (gpu.arch.empty())
      return no_gpu_here("NVIDIA", "the architecture of this one is unknown: " + gpu.model);
    XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(gpu.arch));
    NamedGpu each{arch, std::nullopt};
    if (!gpu.driver.empty()) {
      XAAS_TRY(each.driver, parse_driver_version(gpu.driver).in("driver of the system's " + gpu.arch));
    }
    const auto [known, added] = named.emplace(gpu.arch, each);
    if (!added && each.driver && (!known->second.driver || *each.driver < *known->second.driver))
      known->second.driver = each.driver; // the code must load on all of them
  }
  std::vector<NamedGpu> result;
  for (auto& [name, gpu] : named)
    result.push_back(std::move(gpu));
  return result;
}

class Planner {
public:
  Planner(const image::Bundle& bundle, DevicePlan& plan) : bundle_(bundle), plan_(plan) {}

  Result<void> add(const Digest& host, const NamedGpu& gpu) {
    const ir::Unit& unit = bundle_.units.at(host);
    XAAS_TRY(DeviceJob job, best_job(unit.device, gpu).in(unit.source));
    job.offload = unit.offload;
    const std::optional<CudaRelease> release = release_of(bundle_.units.at(job.unit));
    if (release && gpu.driver)
      XAAS_CHECK(check_runtime(*release, *gpu.driver).in(unit.source));
    XAAS_CHECK(choose_form(job, gpu));
    if (unit.offload == "openmp" && !job.assembled)
      return make_error(ErrorKind::unsatisfied,
                        unit.source +
                            ": OpenMP's run-time library accepts only machine code, and there is no "
                            "assembler for " +
                            to_string(gpu.arch),
                        "--ptxas FILE names an assembler, --gpu none deploys without code for GPUs");
    plan_.add(host, to_string(gpu.arch), job);
    note_code(gpu, job, release ? to_string(*release) : "", false);
    return {};
  }

  // For the GPUs that the file can serve. A program may have one file for each GPU, and choose.
  Result<void> add_file(const std::string& path, const link::DeviceFile& file,
                        const std::vector<NamedGpu>& gpus) {
    std::vector<NamedGpu> served;
    std::vector<DeviceJob> jobs;
    for (const NamedGpu& gpu : gpus) {
      Result<DeviceJob> job = best_job(file.units, gpu);
      if (!job && job.error().kind == ErrorKind::unsatisfied)
        continue;
      XAAS_CHECK(job);
      XAAS_CHECK(choose_form(*job, gpu));
      served.push_back(gpu);
      jobs.push_back(*std::move(job));
    }
    PlannedFile& planned = plan_.files[path] = {file.form, {}};
    const bool alone = file.form != link::DeviceFile::Form::fatbin;
    if (alone && !served.empty()) {
      XAAS_TRY(const DeviceJob job, job_for_all(jobs, served, file.form));
      jobs.assign(served.size(), job);
    }
    for (size_t i = 0; i < served.size(); ++i) {
      add_once(planned.jobs, jobs[i]);
      note_code(served[i], jobs[i], "", alone);
    }
    return {};
  }

private:
  // The best IR for the GPU, and the architecture that it is lowered for.
  static Result<DeviceJob> best_job(const std::map<std::string, Digest>& units, const NamedGpu& gpu) {
    XAAS_TRY(const std::vector<target::GpuArch> code, code_for(units, target::GpuArch::Vendor::nvidia));
    XAAS_TRY(const target::GpuArch best, best_device_code(code, gpu.arch));
    XAAS_TRY(const target::GpuArch arch, best_target(best, gpu.arch, target::gpu_archs()));
    return DeviceJob{units.at(to_string(best)), to_string(arch), {}, false, {}};
  }

  void note_code(const NamedGpu& gpu, const DeviceJob& job, const std::string& runtime, bool in_file) {
    image::GpuCode code;
    code.gpu = to_string(gpu.arch);
    code.arch = job.arch;
    code.ptx = job.assembled ? "" : to_string(job.ptx);
    code.assembler = job.assembled ? plan_.assembler->version : "";
    code.runtime = runtime;
    code.in_file = in_file;
    plan_.code.insert(std::move(code));
  }

  // The job whose code runs on all GPUs, as PTX or as machine code.
  Result<DeviceJob> job_for_all(const std::vector<DeviceJob>& jobs, const std::vector<NamedGpu>& gpus,
                                link::DeviceFile::Form form) const {
    const bool machine_code = form == link::DeviceFile::Form::cubin;
    const auto runs = [&](const target::GpuArch& arch, const NamedGpu& gpu) {
      return machine_code ? target::machine_code_runs(arch, gpu.arch)
                          : target::device_code_serves(arch, gpu.arch);
    };
    for (DeviceJob job : jobs) {
      XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(job.arch));
      if (!std::all_of(gpus.begin(), gpus.end(), [&](const NamedGpu& gpu) { return runs(arch, gpu); }))
        continue;
      if (machine_code && !job.assembled)
        return make_error(ErrorKind::unsatisfied,
                          plan_.assembler ? "it is machine code, and ptxas " + plan_.assembler->version +
                                                " makes none for " + job.arch
                                          : "it is machine code, and there is no ptxas to make it",
                          "--ptxas FILE names one, --gpu none leaves the file as the build made it");
      if (!machine_code)
        for (const NamedGpu& gpu : gpus)
          XAAS_CHECK(choose_ptx(job, arch, gpu));
      return job;
    }
    std::vector<std::string> names;
    std::transform(gpus.begin(), gpus.end(), std::back_inserter(names),
                   [](const NamedGpu& gpu) { return to_string(gpu.arch); });
    return make_error(ErrorKind::unsatisfied,
                      "one " + to_string(form) +
                          " is for one GPU, but there are several: " + join(names, ", "),
                      "--gpu ARCH deploys for one of them; PTX or a fat binary can serve several");
  }

  // Chooses the version of PTX for the driver.
  Result<void> choose_ptx(DeviceJob& job, const target::GpuArch& arch, const NamedGpu& gpu) const {
    XAAS_TRY(const PtxVersion written, written_ptx(bundle_.units.at(job.unit)));
    XAAS_TRY(const PtxVersion first, first_ptx(arch));
    if (job.assembled || job.ptx == PtxVersion{})
      job.ptx = std::max(written, first);
    job.assembled = false;
    if (gpu.driver) {
      XAAS_TRY(const PtxVersion newest, ptx_version_for(arch, *gpu.driver));
      job.ptx = std::min(job.ptx, newest);
    }
    return {};
  }

  // The release of CUDA that the unit was compiled with and its program is linked with.
  std::optional<CudaRelease> release_of(const ir::Unit& unit) const {
    const auto options = bundle_.options.find(unit.options);
    if (options == bundle_.options.end())
      return std::nullopt;
    const auto version = options->second.gpu.find(ir::cuda_version);
    if (version == options->second.gpu.end())
      return std::nullopt;
    const auto number = static_cast<unsigned>(version->second);
    return CudaRelease{number / 1000, number % 1000 / 10};
  }

  Result<void> choose_form(DeviceJob& job, const NamedGpu& gpu) const {
    XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(job.arch));
    job.assembled = plan_.assembler && assembles(plan_.assembler->release, arch);
    if (!job.assembled)
      return choose_ptx(job, arch, gpu);
    XAAS_TRY(const PtxVersion written, written_ptx(bundle_.units.at(job.unit)));
    XAAS_TRY(const PtxVersion first, first_ptx(arch));
    job.ptx = std::min(std::max(written, first), newest_ptx(plan_.assembler->release));
    return {};
  }

  const image::Bundle& bundle_;
  DevicePlan& plan_;
};

} // namespace

Result<void> plan_for_nvidia(const image::Bundle& bundle, const std::set<Digest>& host_units,
                             const std::map<std::string, link::DeviceFile>& files,
                             const std::vector<system::Gpu>& gpus, std::optional<Assembler> assembler,
                             DevicePlan& plan) {
  plan.assembler = std::move(assembler);
  XAAS_TRY(const std::vector<NamedGpu> named, nvidia_gpus(gpus));
  Planner planner(bundle, plan);
  for (const NamedGpu& gpu : named) {
    plan.gpus.push_back(to_string(gpu.arch));
    if (plan.assembler && gpu.driver && assembles_any(host_units, files))
      XAAS_CHECK(check_driver(plan.assembler->release, *gpu.driver));
    for (const Digest& host : host_units)
      XAAS_CHECK(planner.add(host, gpu));
  }
  for (const auto& [path, file] : files)
    XAAS_CHECK(planner.add_file(path, file, named).in("/" + path));
  for (const NamedGpu& gpu : named)
    if (std::none_of(plan.code.begin(), plan.code.end(),
                     [&](const auto& code) { return code.gpu == to_string(gpu.arch); }))
      return no_file_serves(to_string(gpu.arch), files);
  return {};
}

} // namespace xaas::device
