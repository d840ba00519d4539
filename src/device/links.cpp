#include "amd.h"
#include <xaas/device/links.h>

#include <xaas/base/process.h>
#include <xaas/device/code_object.h>
#include <xaas/device/fat_binary.h>
#include <xaas/link/replay.h>
#include <xaas/lower/device_link.h>

#include <algorithm>

namespace xaas::device {

namespace {

using RefKind = link::FileRef::Kind;

// The units that a link reads, each once.
class Reached {
public:
  explicit Reached(const image::Bundle& bundle) : bundle_(bundle) {}

  void add_link(const link::LinkRecord& record) {
    for (const link::LinkItem& item : record.items)
      if (item.kind == link::LinkItem::Kind::input)
        add(item.file);
  }

  void add_file(const link::FileRef& file) { add(file); }

  std::vector<Digest> units;

private:
  void add(const link::FileRef& file) {
    if (file.kind == RefKind::kit || !seen_.insert(file.digest).second)
      return;
    if (file.kind == RefKind::unit)
      units.push_back(file.digest);
    if (file.kind == RefKind::archive)
      for (const link::ArchiveRecord::Member& member : bundle_.archives.at(file.digest).members)
        add(member.file);
    if (file.kind == RefKind::link)
      if (const link::LinkRecord& record = bundle_.links.at(file.digest);
          record.kind == link::OutputKind::relocatable) // a library has device code of its own
        add_link(record);
  }

  const image::Bundle& bundle_;
  std::set<Digest> seen_;
};

class Linker {
public:
  Linker(const image::Bundle& bundle, const DevicePlan& plan, const image::Contents& contents,
         const target::Cpu& cpu, const lower::ObjectCache* cache, const fs::path& work, unsigned threads,
         Progress& progress)
      : bundle_(bundle), plan_(plan), contents_(contents), cpu_(cpu), cache_(cache), work_(work),
        threads_(threads), progress_(progress) {}

  Result<DeviceObjects> run(const std::map<Digest, std::vector<DeviceLink>>& links) {
    XAAS_CHECK(lower_for_gpus(links));
    XAAS_CHECK(lower_for_host(links));
    progress_.start("linking device code", links.size());
    for (const auto& [record, parts] : links) {
      for (const DeviceLink& part : parts) {
        XAAS_CHECK(check_interrupt());
        XAAS_CHECK(link(record, part).in(bundle_.links.at(record).name));
      }
      progress_.advance();
    }
    progress_.finish();
    return std::move(result_);
  }

private:
  // One device's code of one link, and what it is called for.
  struct Image {
    std::string arch;
    std::string triple;
    bool machine_code;
    std::string bytes;
  };

  Result<void> lower_for_gpus(const std::map<Digest, std::vector<DeviceLink>>& links) {
    std::set<DeviceJob> jobs;
    for (const auto& [record, parts] : links)
      for (const DeviceLink& part : parts)
        for (const auto& [gpu, planned] : plan_.linked)
          for (const DeviceJob& job : jobs_of(part, planned))
            jobs.insert(job);
    XAAS_TRY(code_, lower_device_code(bundle_, jobs, contents_, cache_, threads_, progress_));
    result_.lowered += code_.lowered;
    result_.cached += code_.cached;
    return {};
  }

  static std::vector<DeviceJob> jobs_of(const DeviceLink& part, const std::map<Digest, DeviceJob>& planned) {
    std::vector<DeviceJob> jobs;
    for (const Digest& host : part.host_units)
      if (const auto job = planned.find(host); job != planned.end())
        add_once(jobs, job->second);
    return jobs;
  }

  // The device that is the CPU gets what any unit for it gets.
  Result<void> lower_for_host(const std::map<Digest, std::vector<DeviceLink>>& links) {
    std::set<Digest> units;
    for (const auto& [record, parts] : links)
      for (const DeviceLink& part : parts)
        for (const Digest& unit : units_for_host(part))
          units.insert(unit);
    std::vector<Digest> wanted;
    for (const Digest& id : units) {
      std::optional<lower::Object> known;
      if (cache_)
        known = cache_->find(bundle_.units.at(id), options_of(id), cpu_, lower::Form::object);
      if (!known) {
        wanted.push_back(id);
        continue;
      }
      XAAS_CHECK(write_file(object_path(id), known->bytes, 0644, false));
      ++result_.cached;
    }
    if (wanted.empty())
      return {};
    progress_.start("lowering for the host as a device", wanted.size());
    const auto job = [&](size_t i) -> Result<lower::Job> {
      lower::Job job;
      job.unit = bundle_.units.at(wanted[i]);
      XAAS_TRY(job.bitcode, contents_.read(job.unit.module));
      job.options = options_of(wanted[i]);
      job.target = cpu_;
      return job;
    };
    const auto done = [&](size_t i, const lower::Object& object) -> Result<void> {
      if (cache_)
        cache_->keep(bundle_.units.at(wanted[i]), options_of(wanted[i]), cpu_, lower::Form::object, object);
      ++result_.lowered;
      return write_file(object_path(wanted[i]), object.bytes, 0644, false);
    };
    XAAS_CHECK(lower::lower_all(wanted.size(), job, done, {.workers = threads_}, progress_));
    progress_.finish();
    return {};
  }

  std::vector<Digest> units_for_host(const DeviceLink& part) const {
    std::vector<Digest> units;
    for (const Digest& host : part.host_units) {
      const ir::Unit& unit = bundle_.units.at(host);
      if (const auto device = unit.device.find(ir::host_device); device != unit.device.end())
        units.push_back(device->second);
    }
    return units;
  }

  const ir::UnitOptions& options_of(const Digest& unit) const {
    return bundle_.options.at(bundle_.units.at(unit).options);
  }

  fs::path object_path(const Digest& unit) const { return work_ / ("h" + unit.hex()); }

  Result<void> link(const Digest& record, const DeviceLink& part) {
    std::vector<Image> images;
    for (const auto& [gpu, planned] : plan_.linked)
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
      result_.objects[record].push_back(std::move(object));
    return {};
  }

  Result<Image> link_for_gpu(const std::vector<DeviceJob>& jobs) {
    std::vector<lower::DeviceInput> inputs;
    std::vector<ir::UnitOptions> options;
    std::vector<Digest> libraries; // in the order in which they call each other
    // Code for one GPU alone needs all of the link to be for that (sm_90 and sm_90a).
    DeviceJob whole = jobs.front();
    XAAS_TRY(target::GpuArch highest, target::parse_gpu_arch(whole.arch));
    for (const DeviceJob& job : jobs) {
      const ir::Unit& unit = bundle_.units.at(job.unit);
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
    ++result_.links;
    if (is_for_amd(whole)) {
      XAAS_TRY(code, make_code_object(code, whole.arch));
    }
    if (whole.assembled) {
      XAAS_TRY(code,
               assemble(*plan_.assembler, code, whole.arch, assemble_options(lower::link_options(options))));
    }
    return Image{whole.arch, is_for_amd(whole) ? "amdgcn-amd-amdhsa" : "nvptx64-nvidia-cuda", whole.assembled,
                 std::move(code)};
  }

  // Each file where it is named last: what others before it call is then still missing.
  Result<std::vector<std::string>> read_once(const std::vector<Digest>& files) const {
    std::vector<std::string> contents;
    std::set<Digest> seen;
    for (auto file = files.rbegin(); file != files.rend(); ++file)
      if (seen.insert(*file).second) {
        XAAS_TRY(contents.emplace_back(), contents_.read(*file));
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
    return lower::cuda_registration(fat_binary, bundle_.arch);
  }

  Result<std::string> hip_object(const std::vector<Image>& images) const {
    std::vector<CodeObject> objects;
    for (const Image& image : images)
      objects.push_back({image.arch, image.bytes});
    XAAS_TRY(const std::string bundle, code_object_bundle(objects));
    return lower::hip_registration(bundle, bundle_.arch);
  }

  Result<std::string> openmp_object(const DeviceLink& part, const std::vector<Image>& images) {
    std::vector<lower::OpenMpImage> described;
    for (const Image& image : images)
      described.push_back({image.triple, image.arch, image.bytes});
    if (const std::vector<Digest> units = units_for_host(part); !units.empty()) {
      XAAS_TRY(const std::string library, host_library(units));
      described.push_back({target::triple(bundle_.arch), "", library});
    }
    // With none, too: its run-time library starts when a program registers with it, and then runs the regions
    // on the host.
    return lower::openmp_registration(described, bundle_.arch);
  }

  // What the run-time library loads into the program itself: it finds there what it needs.
  Result<std::string> host_library(const std::vector<Digest>& units) {
    link::LinkRecord record;
    record.kind = link::OutputKind::shared;
    record.name = "device.so";
    for (const Digest& unit : units) {
      link::LinkItem& item = record.items.emplace_back();
      item.file = {RefKind::unit, unit, unit.hex() + ".o"};
    }
    link::ReplayOptions options;
    options.arch = bundle_.arch;
    options.threads = threads_;
    XAAS_TRY(link::ReplayResult linked,
             link::replay(
                 record,
                 [this](const link::FileRef& file) -> Result<fs::path> { return object_path(file.digest); },
                 options));
    ++result_.links;
    return std::move(linked.output);
  }

  const image::Bundle& bundle_;
  const DevicePlan& plan_;
  const image::Contents& contents_;
  const target::Cpu& cpu_;
  const lower::ObjectCache* cache_;
  fs::path work_;
  unsigned threads_;
  Progress& progress_;
  LoweredDeviceCode code_;
  DeviceObjects result_;
};

} // namespace

std::map<Digest, std::vector<DeviceLink>> device_links(const image::Bundle& bundle,
                                                       const image::Usage& usage) {
  std::map<Digest, std::vector<DeviceLink>> links;
  for (const Digest& digest : usage.links) {
    const link::LinkRecord& record = bundle.links.at(digest);
    if (record.kind == link::OutputKind::relocatable)
      continue;
    Reached reached(bundle);
    reached.add_link(record);
    std::map<std::string, std::vector<Digest>> by_offload;
    for (const Digest& id : reached.units)
      if (const ir::Unit& unit = bundle.units.at(id); !unit.offload.empty())
        by_offload[unit.offload].push_back(id);
    for (auto& [offload, units] : by_offload)
      links[digest].push_back({offload, std::move(units)});
  }
  return links;
}

std::vector<std::string> files_without_device_code(const image::Bundle& bundle,
                                                   const image::BundleConfiguration& configuration) {
  using FileKind = link::InstalledFile::Kind;
  std::vector<std::string> files;
  for (const link::InstalledFile& file : configuration.installed) {
    if (file.kind != FileKind::unit && file.kind != FileKind::archive)
      continue;
    Reached reached(bundle);
    reached.add_file({file.kind == FileKind::unit ? RefKind::unit : RefKind::archive, file.digest, ""});
    const bool linked = std::any_of(reached.units.begin(), reached.units.end(), [&](const Digest& unit) {
      return !bundle.units.at(unit).offload.empty();
    });
    if (linked)
      files.push_back(file.path);
  }
  return files;
}

std::set<Digest> modules_of(const image::Bundle& bundle, const DevicePlan& plan,
                            const std::map<Digest, std::vector<DeviceLink>>& links) {
  std::set<Digest> modules;
  for (const auto& [gpu, planned] : plan.linked)
    for (const auto& [host, job] : planned)
      modules.insert(bundle.units.at(job.unit).module);
  for (const auto& [record, parts] : links)
    for (const DeviceLink& part : parts)
      for (const Digest& host : part.host_units) {
        const ir::Unit& unit = bundle.units.at(host);
        if (const auto device = unit.device.find(ir::host_device); device != unit.device.end())
          modules.insert(bundle.units.at(device->second).module);
      }
  return modules;
}

Result<DeviceObjects> make_device_objects(const image::Bundle& bundle, const DevicePlan& plan,
                                          const std::map<Digest, std::vector<DeviceLink>>& links,
                                          const image::Contents& contents, const target::Cpu& cpu,
                                          const lower::ObjectCache* cache, const fs::path& work,
                                          unsigned threads, Progress& progress) {
  if (links.empty())
    return DeviceObjects();
  return Linker(bundle, plan, contents, cpu, cache, work, threads, progress).run(links);
}

} // namespace xaas::device
