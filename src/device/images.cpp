#include "images.h"
#include "amd.h"
#include "lowering.h"

#include <xaas/base/parallel.h>
#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/device/code_object.h>
#include <xaas/device/fat_binary.h>

namespace xaas::device {

namespace {

class Maker {
public:
  Maker(const DeviceInputs& inputs, DeviceCode& made) : inputs_(inputs), made_(made) {}

  Result<void> run() {
    XAAS_TRY(code_, lower_device_code(inputs_, inputs_.plan.jobs(inputs_.host_units)));
    made_.lowered += code_.lowered;
    made_.cached += code_.cached;
    XAAS_CHECK(assemble());
    for (auto& [job, code] : code_.code)
      if (is_for_amd(job)) {
        XAAS_TRY(code, make_code_object(code, job.arch).in(unit_of(job).source));
      }
    for (const Digest& host : inputs_.host_units) {
      XAAS_TRY(made_.images[host], is_for_amd(inputs_.bundle.units.at(host))
                                       ? bundle_of(host)
                                       : fat_binary(images_of(jobs_of(host))));
    }
    for (const auto& [path, file] : inputs_.plan.files) {
      if (file.jobs.empty())
        continue;
      if (file.form == link::DeviceFile::Form::fatbin) {
        XAAS_TRY(made_.files[path], fat_binary(images_of(file.jobs)));
      } else {
        made_.files[path] = code_.code.at(file.jobs.front());
      }
    }
    return {};
  }

private:
  Result<void> assemble() {
    std::vector<std::pair<const DeviceJob, std::string>*> wanted;
    for (auto& each : code_.code)
      if (each.first.assembled)
        wanted.push_back(&each);
    if (wanted.empty())
      return {};
    inputs_.progress.start("assembling for " + join(inputs_.plan.gpus, ", "), wanted.size());
    XAAS_CHECK(run_parallel(wanted.size(), inputs_.threads, [&](size_t i) -> Result<void> {
      auto& [job, code] = *wanted[i];
      const ir::Unit& unit = unit_of(job);
      const AssembleOptions options = assemble_options(inputs_.bundle.options.at(unit.options));
      XAAS_CHECK(check_interrupt());
      XAAS_TRY(code, device::assemble(*inputs_.plan.assembler, code, job.arch, options).in(unit.source));
      return {};
    }));
    inputs_.progress.finish();
    return {};
  }

  const ir::Unit& unit_of(const DeviceJob& job) const { return inputs_.bundle.units.at(job.unit); }

  std::vector<DeviceJob> jobs_of(const Digest& host) const {
    const auto planned = inputs_.plan.host_units.find(host);
    return planned == inputs_.plan.host_units.end() ? std::vector<DeviceJob>() : planned->second;
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

  const DeviceInputs& inputs_;
  DeviceCode& made_;
  LoweredDeviceCode code_;
};

} // namespace

Result<void> make_images(const DeviceInputs& inputs, DeviceCode& made) {
  return Maker(inputs, made).run();
}

} // namespace xaas::device
