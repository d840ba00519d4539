#include "linking.h"
#include "amd.h"
#include "lowering.h"
#include "planning.h"

#include <xaas/base/process.h>
#include <xaas/device/code_object.h>
#include <xaas/device/fat_binary.h>
#include <xaas/link/replay.h>
#include <xaas/lower/device_link.h>

#include <algorithm>

namespace xaas::device {

namespace {

using RefKind = link::FileRef::Kind;

class Linker {
public:
  Linker(const DeviceInputs& inputs, DeviceCode& made) : inputs_(inputs), made_(made) {}

  Result<void> run() {
    XAAS_CHECK(lower_for_gpus());
    XAAS_CHECK(lower_for_host());
    inputs_.progress.start("linking device code", inputs_.plan.links.size());
    for (const auto& [record, parts] : inputs_.plan.links) {
      for (const DeviceLink& part : parts) {
        XAAS_CHECK(check_interrupt());
        XAAS_CHECK(link(record, part).in(inputs_.bundle.links.at(record).name));
      }
      inputs_.progress.advance();
    }
    inputs_.progress.finish();
    return {};
  }

private:
  // The code of one link for one device, and how the run-time library identifies it.
  struct Image {
    std::string arch;
    std::string triple;
    bool machine_code;
    std::string bytes;
  };

  Result<void> lower_for_gpus() {
    std::set<DeviceJob> jobs;
    for (const auto& [record, parts] : inputs_.plan.links)
      for (const DeviceLink& part : parts)
        for (const auto& [gpu, planned] : inputs_.plan.linked)
          for (const DeviceJob& job : jobs_of(part, planned))
            jobs.insert(job);
    XAAS_TRY(code_, lower_device_code(inputs_, jobs));
    made_.lowered += code_.lowered;
    made_.cached += code_.cached;
    return {};
  }

  static std::vector<DeviceJob> jobs_of(const DeviceLink& part, const std::map<Digest, DeviceJob>& planned) {
    std::vector<DeviceJob> jobs;
    for (const Digest& host : part.host_units)
      if (const auto job = planned.find(host); job != planned.end())
        add_once(jobs, job->second);
    return jobs;
  }

  // The CPU as a device gets the same code as any unit for it.
  Result<void> lower_for_host() {
    std::set<Digest> units;
    for (const auto& [record, parts] : inputs_.plan.links)
      for (const DeviceLink& part : parts)
        for (const Digest& unit : units_for_host(inputs_.bundle, part))
          units.insert(unit);
    std::vector<Digest> wanted;
    for (const Digest& id : units) {
      std::optional<lower::Object> known;
      if (inputs_.cache)
        known = inputs_.cache->find(inputs_.bundle.units.at(id), options_of(id), inputs_.cpu,
                                    lower::Form::object);
      if (!known) {
        wanted.push_back(id);
        continue;
      }
      XAAS_CHECK(write_file(object_path(id), known->bytes, 0644, false));
      ++made_.cached;
    }
    if (wanted.empty())
      return {};
    inputs_.progress.start("lowering for the host as a device", wanted.size());
    const auto job = [&](size_t i) -> Result<lower::Job> {
      lower::Job job;
      job.unit = inputs_.bundle.units.at(wanted[i]);
      XAAS_TRY(job.bitcode, inputs_.contents.read(job.unit.module));
      job.options = options_of(wanted[i]);
      job.target = inputs_.cpu;
      return job;
    };
    const auto done = [&](size_t i, const lower::Object& object) -> Result<void> {
      if (inputs_.cache)
        inputs_.cache->keep(inputs_.bundle.units.at(wanted[i]), options_of(wanted[i]), inputs_.cpu,
                            lower::Form::object, object);
      ++made_.lowered;
      return write_file(object_path(wanted[i]), object.bytes, 0644, false);
    };
    XAAS_CHECK(lower::lower_all(wanted.size(), job, done, {.workers = inputs_.threads}, inputs_.progress));
    inputs_.progress.finish();
    return {};
  }

  const ir::UnitOptions& options_of(const Digest& unit) const {
    return inputs_.bundle.options.at(inputs_.bundle.units.at(unit).options);
  }

  fs::path object_path(const Digest& unit) const { return inputs_.work / ("h" + unit.hex()); }

  Result<void> link(const Digest& record, const DeviceLink& part) {
    std::vector<Image> images;
    for (const auto& [gpu, planned] : inputs_.plan.linked)
      if (const std::vector<DeviceJob> jobs = jobs_of(part, planned); !jobs.empty()) {
        XAAS_TRY(images.emplace_back(), link_for_gpu(jobs));
      }
    std::string object;
    if (part.offload == "openmp") {
      XAAS_TRY(object, openmp_object(part, images));
    } else if (!images.empty()) {
      XAAS_TRY(object, part.offload == "hip" ? hip_object(images) : cuda_object(images));
    }
    if (!object.empty())
      made_.objects[record].push_back(std::move(object));
    return {};
  }

  Result<Image> link_for_gpu(const std::vector<DeviceJob>& jobs) {
    std::vector<lower::DeviceInput> inputs;
    std::vector<ir::UnitOptions> options;
    std::vector<Digest> libraries; // in the order in which they call each other
    // If one unit's code is for a specific GPU only, the whole link must be for that (sm_90 and sm_90a).
    DeviceJob whole = jobs.front();
    XAAS_TRY(target::GpuArch highest, target::parse_gpu_arch(whole.arch));
    for (const DeviceJob& job : jobs) {
      const ir::Unit& unit = inputs_.bundle.units.at(job.unit);
      inputs.push_back({unit.source, code_.code.at(job), options_of(job.unit)});
      options.push_back(options_of(job.unit));
      XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(job.arch));
      highest = std::max(highest, arch);
      whole.ptx = std::max(whole.ptx, job.ptx);
      if (job.offload == "openmp")
        libraries.insert(libraries.end(), unit.libraries.begin(), unit.libraries.end());
    }
    whole.arch = to_string(highest);
    XAAS_TRY(const std::vector<std::string> bitcode, read_once(libraries));
    std::vector<std::string> features;
    if (!is_for_amd(whole))
      features.push_back("+" + feature(whole.ptx));
    XAAS_TRY(std::string code, lower::link_device_code(inputs, bitcode, target_of(whole), features));
    ++made_.links;
    if (is_for_amd(whole)) {
      XAAS_TRY(code, make_code_object(code, whole.arch));
    }
    if (whole.assembled) {
      XAAS_TRY(code, assemble(*inputs_.plan.assembler, code, whole.arch,
                              assemble_options(lower::link_options(options))));
    }
    return Image{whole.arch, is_for_amd(whole) ? "amdgcn-amd-amdhsa" : "nvptx64-nvidia-cuda", whole.assembled,
                 std::move(code)};
  }

  // Reads each file once, at its last position: files before it may still need it.
  Result<std::vector<std::string>> read_once(const std::vector<Digest>& files) const {
    std::vector<std::string> contents;
    std::set<Digest> seen;
    for (auto file = files.rbegin(); file != files.rend(); ++file)
      if (seen.insert(*file).second) {
        XAAS_TRY(contents.emplace_back(), inputs_.contents.read(*file));
      }
    std::reverse(contents.begin(), contents.end());
    return contents;
  }

  Result<std::string> cuda_object(const std::vector<Image>& images) const {
    std::vector<DeviceImage> entries;
    for (const Image& image : images)
      entries.push_back(
          {image.machine_code ? DeviceImage::Kind::cubin : DeviceImage::Kind::ptx, image.arch, image.bytes});
    XAAS_TRY(const std::string fat_binary, fat_binary(entries));
    return lower::cuda_registration(fat_binary, inputs_.bundle.arch);
  }

  Result<std::string> hip_object(const std::vector<Image>& images) const {
    std::vector<CodeObject> objects;
    for (const Image& image : images)
      objects.push_back({image.arch, image.bytes});
    XAAS_TRY(const std::string bundle, code_object_bundle(objects));
    return lower::hip_registration(bundle, inputs_.bundle.arch);
  }

  Result<std::string> openmp_object(const DeviceLink& part, const std::vector<Image>& images) {
    std::vector<lower::OpenMpImage> described;
    for (const Image& image : images)
      described.push_back({image.triple, image.arch, image.bytes});
    if (const std::vector<Digest> units = units_for_host(inputs_.bundle, part); !units.empty()) {
      XAAS_TRY(const std::string library, host_library(units));
      described.push_back({target::triple(inputs_.bundle.arch), "", library});
    }
    // An object is necessary even without images: OpenMP's run-time library starts when a program registers
    // with it, and then runs the regions on the host.
    return lower::openmp_registration(described, inputs_.bundle.arch);
  }

  // A library that the run-time library loads into the program itself, where it finds everything that it
  // needs.
  Result<std::string> host_library(const std::vector<Digest>& units) {
    link::LinkRecord record;
    record.kind = link::OutputKind::shared;
    record.name = "device.so";
    for (const Digest& unit : units) {
      link::LinkItem& item = record.items.emplace_back();
      item.file = {RefKind::unit, unit, unit.hex() + ".o"};
    }
    link::ReplayOptions options;
    options.arch = inputs_.bundle.arch;
    options.threads = inputs_.threads;
    XAAS_TRY(link::ReplayResult linked,
             link::replay(
                 record,
                 [this](const link::FileRef& file) -> Result<fs::path> { return object_path(file.digest); },
                 options));
    ++made_.links;
    return std::move(linked.output);
  }

  const DeviceInputs& inputs_;
  DeviceCode& made_;
  LoweredDeviceCode code_;
};

} // namespace

std::vector<Digest> units_for_host(const image::Bundle& bundle, const DeviceLink& link) {
  std::vector<Digest> units;
  for (const Digest& host : link.host_units) {
    const ir::Unit& unit = bundle.units.at(host);
    if (const auto device = unit.device.find(ir::host_device); device != unit.device.end())
      units.push_back(device->second);
  }
  return units;
}

Result<void> link_device_code(const DeviceInputs& inputs, DeviceCode& made) {
  return inputs.plan.links.empty() ? Result<void>() : Linker(inputs, made).run();
}

} // namespace xaas::device
