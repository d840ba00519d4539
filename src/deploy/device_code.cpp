// Problem: what a GPU gets depends on three things besides the code: the architectures that the build
// compiled its source for (the source can ask which one it is), the GPU, and the driver, which takes machine
// code of its toolkit's generation and PTX up to its own version. Approach: for each GPU the IR of the best
// architecture that is not above it, lowered for the GPU itself; machine code where there is an assembler,
// which must not be newer than the driver, else PTX in a version that the driver takes. Rejected: both in one
// image (the machine is known), and falling back to PTX silently where the assembler does not fit (a start-up
// of minutes that nobody asked for).
#include "device_code.h"
#include "amd_code.h"

#include <xaas/base/parallel.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/ir/options.h>
#include <xaas/offload/code_object.h>
#include <xaas/offload/drivers.h>
#include <xaas/offload/fat_binary.h>
#include <xaas/target/gpu.h>

#include <algorithm>

namespace xaas::deploy {

namespace {

// The version that the front end compiled the unit for: its builtins may need that.
Result<offload::PtxVersion> written_ptx(const ir::Unit& unit) {
  for (const offload::ReleaseFacts& facts : offload::cuda_releases())
    for (const std::string& feature : unit.machine.features)
      if (feature == "+" + offload::feature(facts.ptx))
        return facts.ptx;
  return make_error(ErrorKind::integrity, "unit " + unit.source +
                                              " for GPUs names no version of PTX that is known: " +
                                              join(unit.machine.features, ","));
}

struct NamedGpu {
  target::GpuArch arch;
  std::optional<offload::DriverVersion> driver;
};

Result<std::vector<NamedGpu>> nvidia_gpus(const std::vector<system::Gpu>& gpus) {
  std::map<std::string, NamedGpu> named;
  for (const system::Gpu& gpu : gpus) {
    if (gpu.vendor != "nvidia")
      continue;
    if (gpu.arch.empty())
      return no_gpu_here("NVIDIA", "the architecture of this one is not known: " + gpu.model);
    XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(gpu.arch));
    NamedGpu each{arch, std::nullopt};
    if (!gpu.driver.empty()) {
      XAAS_TRY(each.driver, offload::parse_driver_version(gpu.driver));
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
    XAAS_TRY(const std::vector<target::GpuArch> code, code_for(unit, target::GpuArch::Vendor::nvidia));
    XAAS_TRY(const target::GpuArch best, offload::best_device_code(code, gpu.arch).in(unit.source));
    XAAS_TRY(const target::GpuArch arch,
             offload::best_target(best, gpu.arch, target::gpu_archs()).in(unit.source));
    DeviceJob job{unit.device.at(to_string(best)), to_string(arch), {}, false, !unit.has_device_image()};
    const std::optional<offload::CudaRelease> release = release_of(bundle_.units.at(job.unit));
    if (release && gpu.driver)
      XAAS_CHECK(offload::check_runtime(*release, *gpu.driver).in(unit.source));
    XAAS_CHECK(choose_form(job, arch, gpu));
    if (unit.offload == "openmp" && !job.assembled)
      return make_error(ErrorKind::unsatisfied,
                        unit.source +
                            ": OpenMP's run-time library takes machine code only, and there is no "
                            "assembler for " +
                            to_string(gpu.arch),
                        "--ptxas FILE names an assembler, --gpu none deploys without code for GPUs");
    plan_.add(host, to_string(gpu.arch), job);
    plan_.code.insert({to_string(gpu.arch), job.arch, job.assembled ? "" : offload::to_string(job.ptx),
                       job.assembled ? plan_.assembler->version : "", release ? to_string(*release) : ""});
    return {};
  }

private:
  // Of CUDA that the unit was compiled with, and its program linked with.
  std::optional<offload::CudaRelease> release_of(const ir::Unit& unit) const {
    const auto options = bundle_.options.find(unit.options);
    if (options == bundle_.options.end())
      return std::nullopt;
    const auto version = options->second.gpu.find(ir::cuda_version);
    if (version == options->second.gpu.end())
      return std::nullopt;
    const auto number = static_cast<unsigned>(version->second);
    return offload::CudaRelease{number / 1000, number % 1000 / 10};
  }

  Result<void> choose_form(DeviceJob& job, const target::GpuArch& arch, const NamedGpu& gpu) const {
    XAAS_TRY(const offload::PtxVersion written, written_ptx(bundle_.units.at(job.unit)));
    XAAS_TRY(const offload::PtxVersion first, offload::first_ptx(arch));
    job.ptx = std::max(written, first);
    job.assembled = plan_.assembler && offload::assembles(plan_.assembler->release, arch);
    if (job.assembled) {
      job.ptx = std::min(job.ptx, offload::newest_ptx(plan_.assembler->release));
    } else if (gpu.driver) {
      XAAS_TRY(const offload::PtxVersion newest, offload::ptx_version_for(arch, *gpu.driver));
      job.ptx = std::min(job.ptx, newest);
    }
    return {};
  }

  const image::Bundle& bundle_;
  DevicePlan& plan_;
};

// The unit as it is lowered: in the version of PTX that was chosen.
ir::Unit with_version(ir::Unit unit, const offload::PtxVersion& version) {
  std::erase_if(unit.machine.features,
                [](const std::string& feature) { return feature.starts_with("+ptx"); });
  unit.machine.features.push_back("+" + offload::feature(version));
  return unit;
}

class Lowering {
public:
  Lowering(const image::Bundle& bundle, const std::set<DeviceJob>& jobs) : bundle_(bundle) {
    for (const DeviceJob& job : jobs)
      all_.push_back({job, is_for_amd(job) ? bundle.units.at(job.unit)
                                           : with_version(bundle.units.at(job.unit), job.ptx)});
  }

  Result<LoweredDeviceCode> run(const Contents& contents, const lower::ObjectCache* cache, unsigned threads,
                                Progress& progress) {
    std::vector<const Work*> wanted;
    for (const Work& work : all_) {
      std::optional<lower::Object> known;
      if (cache)
        known = cache->find(work.unit, options_of(work), target_of(work.job), form_of(work));
      if (known)
        result_.code[work.job] = std::move(known->bytes);
      else
        wanted.push_back(&work);
    }
    result_.cached = all_.size() - wanted.size();
    result_.lowered = wanted.size();
    if (wanted.empty())
      return std::move(result_);
    progress.start("lowering for " + archs(wanted), wanted.size());
    const auto job = [&](size_t i) { return job_of(*wanted[i], contents); };
    const auto done = [&](size_t i, lower::Object object) -> Result<void> {
      const Work& work = *wanted[i];
      if (cache)
        cache->keep(work.unit, options_of(work), target_of(work.job), form_of(work), object);
      result_.code[work.job] = std::move(object.bytes);
      return {};
    };
    XAAS_CHECK(lower::lower_all(wanted.size(), job, done, {.workers = threads}, progress));
    progress.finish();
    return std::move(result_);
  }

private:
  struct Work {
    DeviceJob job;
    ir::Unit unit;
  };

  const ir::UnitOptions& options_of(const Work& work) const { return bundle_.options.at(work.unit.options); }
  static lower::Form form_of(const Work& work) {
    return work.job.linked ? lower::Form::lto : lower::Form::object;
  }
  static std::string archs(const std::vector<const Work*>& works) {
    std::set<std::string> names;
    for (const Work* work : works)
      names.insert(work->job.arch);
    return join({names.begin(), names.end()}, ", ");
  }

  Result<lower::Job> job_of(const Work& work, const Contents& contents) const {
    lower::Job job;
    job.unit = work.unit;
    XAAS_TRY(job.bitcode, contents.read(job.unit.module));
    for (const Digest& library : job.unit.libraries) {
      XAAS_TRY(job.libraries.emplace_back(), contents.read(library));
    }
    job.options = options_of(work);
    job.target = target_of(work.job);
    job.form = form_of(work);
    return job;
  }

  const image::Bundle& bundle_;
  std::vector<Work> all_;
  LoweredDeviceCode result_;
};

class Maker {
public:
  Maker(const image::Bundle& bundle, const DevicePlan& plan, unsigned threads, Progress& progress)
      : bundle_(bundle), plan_(plan), threads_(threads), progress_(progress) {}

  Result<DeviceImages> run(const std::set<Digest>& host_units, const Contents& contents,
                           const lower::ObjectCache* cache) {
    XAAS_TRY(code_, lower_device_code(bundle_, plan_.jobs(host_units), contents, cache, threads_, progress_));
    XAAS_CHECK(assemble());
    for (auto& [job, code] : code_.code)
      if (is_for_amd(job)) {
        XAAS_TRY(code, make_code_object(code, job.arch).in(bundle_.units.at(job.unit).source));
      }
    DeviceImages result;
    result.lowered = code_.lowered;
    result.cached = code_.cached;
    for (const Digest& host : host_units) {
      XAAS_TRY(result.fat_binaries[host],
               is_for_amd(bundle_.units.at(host)) ? bundle_of(host) : fat_binary_of(host));
    }
    return result;
  }

private:
  Result<void> assemble() {
    std::vector<std::pair<const DeviceJob, std::string>*> wanted;
    for (auto& each : code_.code)
      if (each.first.assembled)
        wanted.push_back(&each);
    if (wanted.empty())
      return {};
    progress_.start("assembling for " + join(plan_.gpus, ", "), wanted.size());
    XAAS_CHECK(run_parallel(wanted.size(), threads_, [&](size_t i) -> Result<void> {
      auto& [job, code] = *wanted[i];
      const ir::Unit& unit = bundle_.units.at(job.unit);
      XAAS_CHECK(check_interrupt());
      XAAS_TRY(code, offload::assemble(*plan_.assembler, code, job.arch,
                                       assemble_options(bundle_.options.at(unit.options)))
                         .in(unit.source));
      return {};
    }));
    progress_.finish();
    return {};
  }

  std::vector<DeviceJob> jobs_of(const Digest& host) const {
    const auto planned = plan_.host_units.find(host);
    return planned == plan_.host_units.end() ? std::vector<DeviceJob>() : planned->second;
  }

  Result<std::string> fat_binary_of(const Digest& host) const {
    std::vector<offload::DeviceImage> images;
    for (const DeviceJob& job : jobs_of(host))
      images.push_back({job.assembled ? offload::DeviceImage::Kind::cubin : offload::DeviceImage::Kind::ptx,
                        job.arch, code_.code.at(job)});
    return offload::fat_binary(images);
  }

  Result<std::string> bundle_of(const Digest& host) const {
    std::vector<offload::CodeObject> objects;
    for (const DeviceJob& job : jobs_of(host))
      objects.push_back({job.arch, code_.code.at(job)});
    return offload::code_object_bundle(objects);
  }

  const image::Bundle& bundle_;
  const DevicePlan& plan_;
  unsigned threads_;
  Progress& progress_;
  LoweredDeviceCode code_;
};

// Units of the host with device code for GPUs whose names begin so.
std::set<Digest> units_for(const image::Bundle& bundle, const std::set<Digest>& host_units,
                           std::string_view prefix) {
  std::set<Digest> units;
  for (const Digest& host : host_units)
    for (const auto& [arch, device] : bundle.units.at(host).device)
      if (arch.starts_with(prefix))
        units.insert(host);
  return units;
}

} // namespace

target::Cpu target_of(const DeviceJob& job) {
  return {is_for_amd(job) ? "amdgcn" : "nvptx64", job.arch, {}};
}

offload::AssembleOptions assemble_options(const ir::UnitOptions& options) {
  offload::AssembleOptions result;
  const auto value = [&](const char* name, int64_t otherwise) {
    const auto found = options.gpu.find(name);
    return found == options.gpu.end() ? otherwise : found->second;
  };
  result.opt_level = static_cast<unsigned>(value(ir::ptxas_level, result.opt_level));
  result.debug = value(ir::ptxas_debug, 0) != 0;
  result.max_registers = static_cast<unsigned>(value(ir::ptxas_registers, 0));
  return result;
}

Result<LoweredDeviceCode> lower_device_code(const image::Bundle& bundle, const std::set<DeviceJob>& jobs,
                                            const Contents& contents, const lower::ObjectCache* cache,
                                            unsigned threads, Progress& progress) {
  return Lowering(bundle, jobs).run(contents, cache, threads, progress);
}

Result<std::vector<target::GpuArch>> code_for(const ir::Unit& unit, target::GpuArch::Vendor vendor) {
  std::vector<target::GpuArch> archs;
  for (const auto& [name, device] : unit.device) {
    if (name == ir::host_device)
      continue;
    XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(name));
    if (arch.vendor == vendor)
      archs.push_back(arch);
  }
  return archs;
}

void DevicePlan::add(const Digest& host, const std::string& gpu, const DeviceJob& job) {
  if (job.linked) {
    linked[gpu].emplace(host, job);
    return;
  }
  std::vector<DeviceJob>& jobs = host_units[host];
  if (std::find(jobs.begin(), jobs.end(), job) == jobs.end())
    jobs.push_back(job);
}

std::string DevicePlan::key(const Digest& host_unit) const {
  const auto found = host_units.find(host_unit);
  if (found == host_units.end())
    return {};
  std::string key = assembler ? "ptxas " + assembler->version : "ptx";
  for (const DeviceJob& job : found->second)
    key += " " + job.unit.hex() + " " + job.arch +
           (is_for_amd(job) ? "" : " " + offload::to_string(job.ptx)) + (job.assembled ? " assembled" : "");
  return key;
}

std::set<DeviceJob> DevicePlan::jobs(const std::set<Digest>& of) const {
  std::set<DeviceJob> all;
  for (const Digest& host : of)
    if (const auto found = host_units.find(host); found != host_units.end())
      all.insert(found->second.begin(), found->second.end());
  return all;
}

std::set<Digest> units_with_device_code(const image::Bundle& bundle, const image::Usage& usage) {
  std::set<Digest> units;
  for (const Digest& id : usage.units)
    if (!bundle.units.at(id).device.empty())
      units.insert(id);
  return units;
}

Error no_gpu_here(const std::string& vendors, const std::string& why) {
  return make_error(
      ErrorKind::unsatisfied, "this configuration has code for " + vendors + " GPUs, and " + why,
      "--gpu ARCH deploys for a GPU that is not here (sm_90, gfx90a), --gpu none without device "
      "code");
}

static Result<void> plan_for_nvidia(const image::Bundle& bundle, const std::set<Digest>& host_units,
                                    const std::vector<system::Gpu>& gpus,
                                    std::optional<offload::Assembler> assembler, DevicePlan& plan) {
  plan.assembler = std::move(assembler);
  XAAS_TRY(const std::vector<NamedGpu> named, nvidia_gpus(gpus));
  Planner planner(bundle, plan);
  for (const NamedGpu& gpu : named) {
    plan.gpus.push_back(to_string(gpu.arch));
    if (plan.assembler && gpu.driver)
      XAAS_CHECK(offload::check_driver(plan.assembler->release, *gpu.driver));
    for (const Digest& host : host_units)
      XAAS_CHECK(planner.add(host, gpu));
  }
  return {};
}

Result<DevicePlan> plan_device_code(const image::Bundle& bundle, const std::set<Digest>& host_units,
                                    const std::vector<system::Gpu>& gpus, bool no_gpu,
                                    std::optional<offload::Assembler> assembler) {
  DevicePlan plan;
  if (host_units.empty())
    return plan;
  for (const Digest& host : host_units)
    if (bundle.units.at(host).has_device_image())
      plan.host_units[host]; // its place must be filled, with nothing if need be
  const std::set<Digest> of_nvidia = units_for(bundle, host_units, "sm_");
  const std::set<Digest> of_amd = units_for(bundle, host_units, "gfx");
  if (no_gpu || (of_nvidia.empty() && of_amd.empty()))
    return plan;
  const auto is_here = [&](const char* vendor) {
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](const system::Gpu& gpu) { return gpu.vendor == vendor; });
  };
  if (!of_nvidia.empty() && is_here("nvidia"))
    XAAS_CHECK(plan_for_nvidia(bundle, of_nvidia, gpus, std::move(assembler), plan));
  if (!of_amd.empty() && is_here("amd"))
    XAAS_CHECK(plan_for_amd(bundle, of_amd, gpus, plan));
  if (plan.gpus.empty())
    return no_gpu_here(of_amd.empty()      ? "NVIDIA"
                       : of_nvidia.empty() ? "AMD"
                                           : "NVIDIA and AMD",
                       gpus.empty() ? "this system has no GPU" : "this system has none of these");
  std::sort(plan.gpus.begin(), plan.gpus.end());
  return plan;
}

Result<DeviceImages> make_device_images(const image::Bundle& bundle, const DevicePlan& plan,
                                        const std::set<Digest>& host_units, const Contents& contents,
                                        const lower::ObjectCache* cache, unsigned jobs, Progress& progress) {
  return Maker(bundle, plan, jobs, progress).run(host_units, contents, cache);
}

} // namespace xaas::deploy
