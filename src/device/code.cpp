#include "amd.h"
#include "nvidia.h"
#include <xaas/device/code.h>

#include <xaas/base/parallel.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/device/code_object.h>
#include <xaas/device/drivers.h>
#include <xaas/device/fat_binary.h>
#include <xaas/ir/options.h>
#include <xaas/target/gpu.h>

#include <algorithm>

namespace xaas::device {

namespace {

// The unit as it is lowered: in the version of PTX that was chosen.
ir::Unit with_version(ir::Unit unit, const PtxVersion& version) {
  std::erase_if(unit.machine.features,
                [](const std::string& feature) { return feature.starts_with("+ptx"); });
  unit.machine.features.push_back("+" + feature(version));
  return unit;
}

class Lowering {
public:
  Lowering(const image::Bundle& bundle, const std::set<DeviceJob>& jobs) : bundle_(bundle) {
    for (const DeviceJob& job : jobs)
      all_.push_back({job, is_for_amd(job) ? bundle.units.at(job.unit)
                                           : with_version(bundle.units.at(job.unit), job.ptx)});
  }

  Result<LoweredDeviceCode> run(const image::Contents& contents, const lower::ObjectCache* cache,
                                unsigned threads, Progress& progress) {
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
    return work.job.linked() ? lower::Form::lto : lower::Form::object;
  }
  static std::string archs(const std::vector<const Work*>& works) {
    std::set<std::string> names;
    for (const Work* work : works)
      names.insert(work->job.arch);
    return join({names.begin(), names.end()}, ", ");
  }

  Result<lower::Job> job_of(const Work& work, const image::Contents& contents) const {
    lower::Job job;
    job.unit = work.unit;
    XAAS_TRY(job.bitcode, contents.read(job.unit.module));
    if (work.job.offload != "openmp") // whose run-time library has state, and is linked once
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

  Result<DeviceImages> run(const std::set<Digest>& host_units, const image::Contents& contents,
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
               is_for_amd(bundle_.units.at(host)) ? bundle_of(host) : fat_binary(images_of(jobs_of(host))));
    }
    for (const auto& [path, file] : plan_.files) {
      if (file.jobs.empty())
        continue;
      if (file.form == link::DeviceFile::Form::fatbin) {
        XAAS_TRY(result.files[path], fat_binary(images_of(file.jobs)));
      } else {
        result.files[path] = code_.code.at(file.jobs.front());
      }
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
      XAAS_TRY(code,
               device::assemble(*plan_.assembler, code, job.arch, assemble_options(bundle_.options.at(unit.options)))
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

  std::vector<DeviceImage> images_of(const std::vector<DeviceJob>& jobs) const {
    std::vector<DeviceImage> images;
    for (const DeviceJob& job : jobs)
      images.push_back(
          {job.assembled ? DeviceImage::Kind::cubin : DeviceImage::Kind::ptx, job.arch, code_.code.at(job)});
    return images;
  }

  Result<std::string> bundle_of(const Digest& host) const {
    std::vector<CodeObject> objects;
    for (const DeviceJob& job : jobs_of(host))
      objects.push_back({job.arch, code_.code.at(job)});
    return code_object_bundle(objects);
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

AssembleOptions assemble_options(const ir::UnitOptions& options) {
  AssembleOptions result;
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
                                            const image::Contents& contents, const lower::ObjectCache* cache,
                                            unsigned threads, Progress& progress) {
  return Lowering(bundle, jobs).run(contents, cache, threads, progress);
}

Result<std::vector<target::GpuArch>> code_for(const std::map<std::string, Digest>& devices,
                                              target::GpuArch::Vendor vendor) {
  std::vector<target::GpuArch> archs;
  for (const auto& [name, device] : devices) {
    if (name == ir::host_device)
      continue;
    XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(name));
    if (arch.vendor == vendor)
      archs.push_back(arch);
  }
  return archs;
}

void DevicePlan::add(const Digest& host, const std::string& gpu, const DeviceJob& job) {
  if (job.linked()) {
    linked[gpu].emplace(host, job);
    return;
  }
  add_once(host_units[host], job);
}

void add_once(std::vector<DeviceJob>& jobs, const DeviceJob& job) {
  if (std::find(jobs.begin(), jobs.end(), job) == jobs.end())
    jobs.push_back(job);
}

std::string DevicePlan::key(const Digest& host_unit) const {
  const auto found = host_units.find(host_unit);
  if (found == host_units.end())
    return {};
  std::string key = assembler ? "ptxas " + assembler->version : "ptx";
  for (const DeviceJob& job : found->second)
    key += " " + job.unit.hex() + " " + job.arch + (is_for_amd(job) ? "" : " " + to_string(job.ptx)) +
           (job.assembled ? " assembled" : "");
  return key;
}

std::set<DeviceJob> DevicePlan::jobs(const std::set<Digest>& of) const {
  std::set<DeviceJob> all;
  for (const Digest& host : of)
    if (const auto found = host_units.find(host); found != host_units.end())
      all.insert(found->second.begin(), found->second.end());
  for (const auto& [path, file] : files)
    all.insert(file.jobs.begin(), file.jobs.end());
  return all;
}

std::map<std::string, link::DeviceFile> remade_files(const image::BundleConfiguration& configuration) {
  std::map<std::string, link::DeviceFile> files;
  for (const link::InstalledFile& file : configuration.installed)
    if (file.device && !file.device->units.empty())
      files[file.path] = *file.device;
  return files;
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

Result<DevicePlan> plan_device_code(const image::Bundle& bundle, const std::set<Digest>& host_units,
                                    const std::vector<system::Gpu>& gpus, bool no_gpu,
                                    std::optional<Assembler> assembler,
                                    const std::map<std::string, link::DeviceFile>& files) {
  DevicePlan plan;
  for (const auto& [path, file] : files)
    plan.files[path].form = file.form;
  for (const Digest& host : host_units)
    if (bundle.units.at(host).has_device_image())
      plan.host_units[host]; // its place must be filled, with nothing if need be
  const std::set<Digest> of_nvidia = units_for(bundle, host_units, "sm_");
  const std::set<Digest> of_amd = units_for(bundle, host_units, "gfx");
  const bool for_nvidia = !of_nvidia.empty() || !files.empty();
  if (no_gpu || (!for_nvidia && of_amd.empty()))
    return plan;
  const auto is_here = [&](const char* vendor) {
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](const system::Gpu& gpu) { return gpu.vendor == vendor; });
  };
  if (for_nvidia && is_here("nvidia"))
    XAAS_CHECK(plan_for_nvidia(bundle, of_nvidia, files, gpus, std::move(assembler), plan));
  if (!of_amd.empty() && is_here("amd"))
    XAAS_CHECK(plan_for_amd(bundle, of_amd, gpus, plan));
  if (plan.gpus.empty())
    return no_gpu_here(of_amd.empty() ? "NVIDIA"
                       : for_nvidia   ? "NVIDIA and AMD"
                                      : "AMD",
                       gpus.empty() ? "this system has no GPU" : "this system has none of these");
  std::sort(plan.gpus.begin(), plan.gpus.end());
  return plan;
}

Result<DeviceImages> make_device_images(const image::Bundle& bundle, const DevicePlan& plan,
                                        const std::set<Digest>& host_units, const image::Contents& contents,
                                        const lower::ObjectCache* cache, unsigned jobs, Progress& progress) {
  return Maker(bundle, plan, jobs, progress).run(host_units, contents, cache);
}

} // namespace xaas::device
