// Problem: what a GPU gets depends on three things besides the code: the architectures that the build
// compiled its source for (the source can ask which one it is), the GPU, and the driver, which takes machine
// code of its toolkit's generation and PTX up to its own version. Approach: for each GPU the IR of the best
// architecture that is not above it, lowered for the GPU itself; machine code where there is an assembler,
// which must not be newer than the driver, else PTX in a version that the driver takes. Rejected: both in one
// image (the machine is known), and falling back to PTX silently where the assembler does not fit (a start-up
// of minutes that nobody asked for).
#include "device_code.h"

#include <xaas/base/parallel.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/ir/options.h>
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

Error no_gpu_here(const std::string& why) {
  return make_error(ErrorKind::unsatisfied, "this configuration has code for NVIDIA GPUs, and " + why,
                    "--gpu ARCH deploys for a GPU that is not here (sm_90), --gpu none without device code");
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
      return no_gpu_here("the architecture of this one is not known: " + gpu.model);
    XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(gpu.arch));
    NamedGpu each{arch, std::nullopt};
    if (!gpu.driver.empty()) {
      XAAS_TRY(each.driver, offload::parse_driver_version(gpu.driver));
    }
    const auto [known, added] = named.emplace(gpu.arch, each);
    if (!added && each.driver && (!known->second.driver || *each.driver < *known->second.driver))
      known->second.driver = each.driver; // the code must load on all of them
  }
  if (named.empty())
    return no_gpu_here(gpus.empty() ? "this system has no GPU" : "this system has none of these");
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
    std::vector<target::GpuArch> code;
    for (const auto& [name, device] : unit.device) {
      XAAS_TRY(code.emplace_back(), target::parse_gpu_arch(name));
    }
    XAAS_TRY(const target::GpuArch best, offload::best_device_code(code, gpu.arch).in(unit.source));
    XAAS_TRY(const target::GpuArch arch,
             offload::best_target(best, gpu.arch, target::gpu_archs()).in(unit.source));
    DeviceJob job{unit.device.at(to_string(best)), to_string(arch), {}, false};
    const std::optional<offload::CudaRelease> release = release_of(bundle_.units.at(job.unit));
    if (release && gpu.driver)
      XAAS_CHECK(offload::check_runtime(*release, *gpu.driver).in(unit.source));
    XAAS_CHECK(choose_form(job, arch, gpu));
    std::vector<DeviceJob>& jobs = plan_.host_units[host];
    if (std::find(jobs.begin(), jobs.end(), job) == jobs.end())
      jobs.push_back(job);
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

target::Cpu target_of(const DeviceJob& job) {
  return {"nvptx64", job.arch, {}};
}

// As Clang's driver would have called it; -O3 where the unit does not say it.
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

class Maker {
public:
  Maker(const image::Bundle& bundle, const DevicePlan& plan, const Contents& contents,
        const lower::ObjectCache* cache, unsigned threads, Progress& progress)
      : bundle_(bundle), plan_(plan), contents_(contents), cache_(cache), threads_(threads),
        progress_(progress) {}

  Result<DeviceImages> run(const std::set<Digest>& host_units) {
    for (const DeviceJob& job : plan_.jobs(host_units))
      jobs_.push_back({job, with_version(bundle_.units.at(job.unit), job.ptx), {}});
    XAAS_CHECK(lower());
    XAAS_CHECK(assemble());
    for (const Digest& host : host_units) {
      XAAS_TRY(result_.fat_binaries[host], fat_binary_of(host));
    }
    return std::move(result_);
  }

private:
  struct Work {
    DeviceJob job;
    ir::Unit unit;
    std::string code; // PTX, then machine code
  };

  const ir::UnitOptions& options_of(const Work& work) const { return bundle_.options.at(work.unit.options); }

  Result<void> lower() {
    std::vector<Work*> wanted;
    for (Work& work : jobs_) {
      std::optional<lower::Object> known;
      if (cache_)
        known = cache_->find(work.unit, options_of(work), target_of(work.job), lower::Form::object);
      if (known)
        work.code = std::move(known->bytes);
      else
        wanted.push_back(&work);
    }
    result_.cached = jobs_.size() - wanted.size();
    result_.lowered = wanted.size();
    if (wanted.empty())
      return {};
    progress_.start("lowering for " + join(plan_.gpus, ", "), wanted.size());
    const auto job = [&](size_t i) -> Result<lower::Job> {
      lower::Job job;
      job.unit = wanted[i]->unit;
      XAAS_TRY(job.bitcode, contents_.read(job.unit.module));
      for (const Digest& library : job.unit.libraries) {
        XAAS_TRY(job.libraries.emplace_back(), contents_.read(library));
      }
      job.options = options_of(*wanted[i]);
      job.target = target_of(wanted[i]->job);
      return job;
    };
    const auto done = [&](size_t i, lower::Object object) -> Result<void> {
      if (cache_)
        cache_->keep(wanted[i]->unit, options_of(*wanted[i]), target_of(wanted[i]->job), lower::Form::object,
                     object);
      wanted[i]->code = std::move(object.bytes);
      return {};
    };
    XAAS_CHECK(lower::lower_all(wanted.size(), job, done, {.workers = threads_}, progress_));
    progress_.finish();
    return {};
  }

  Result<void> assemble() {
    std::vector<Work*> wanted;
    for (Work& work : jobs_)
      if (work.job.assembled)
        wanted.push_back(&work);
    if (wanted.empty())
      return {};
    progress_.start("assembling for " + join(plan_.gpus, ", "), wanted.size());
    XAAS_CHECK(run_parallel(wanted.size(), threads_, [&](size_t i) -> Result<void> {
      Work& work = *wanted[i];
      XAAS_CHECK(check_interrupt());
      XAAS_TRY(work.code, offload::assemble(*plan_.assembler, work.code, work.job.arch,
                                            assemble_options(options_of(work)))
                              .in(work.unit.source));
      return {};
    }));
    progress_.finish();
    return {};
  }

  Result<std::string> fat_binary_of(const Digest& host) const {
    std::vector<offload::DeviceImage> images;
    const auto planned = plan_.host_units.find(host);
    if (planned != plan_.host_units.end())
      for (const DeviceJob& job : planned->second) {
        const auto made =
            std::find_if(jobs_.begin(), jobs_.end(), [&](const Work& work) { return work.job == job; });
        images.push_back({job.assembled ? offload::DeviceImage::Kind::cubin : offload::DeviceImage::Kind::ptx,
                          job.arch, made->code});
      }
    return offload::fat_binary(images);
  }

  const image::Bundle& bundle_;
  const DevicePlan& plan_;
  const Contents& contents_;
  const lower::ObjectCache* cache_;
  unsigned threads_;
  Progress& progress_;
  std::vector<Work> jobs_;
  DeviceImages result_;
};

} // namespace

std::string DevicePlan::key(const Digest& host_unit) const {
  const auto found = host_units.find(host_unit);
  if (found == host_units.end())
    return {};
  std::string key = assembler ? "ptxas " + assembler->version : "ptx";
  for (const DeviceJob& job : found->second)
    key += " " + job.unit.hex() + " " + job.arch + " " + offload::to_string(job.ptx) +
           (job.assembled ? " assembled" : "");
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

Result<DevicePlan> plan_device_code(const image::Bundle& bundle, const std::set<Digest>& host_units,
                                    const std::vector<system::Gpu>& gpus, bool no_gpu,
                                    std::optional<offload::Assembler> assembler) {
  DevicePlan plan;
  if (host_units.empty())
    return plan;
  for (const Digest& host : host_units)
    plan.host_units[host]; // its place must be filled, with nothing if need be
  if (no_gpu)
    return plan;
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
  return plan;
}

Result<DeviceImages> make_device_images(const image::Bundle& bundle, const DevicePlan& plan,
                                        const std::set<Digest>& host_units, const Contents& contents,
                                        const lower::ObjectCache* cache, unsigned jobs, Progress& progress) {
  return Maker(bundle, plan, contents, cache, jobs, progress).run(host_units);
}

} // namespace xaas::deploy
