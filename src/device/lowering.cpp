#include "lowering.h"
#include "amd.h"

#include <xaas/base/text.h>
#include <xaas/ir/options.h>

namespace xaas::device {

namespace {

// The unit with the version of PTX that the plan chose.
ir::Unit with_version(ir::Unit unit, const PtxVersion& version) {
  std::erase_if(unit.machine.features,
                [](const std::string& feature) { return feature.starts_with("+ptx"); });
  unit.machine.features.push_back("+" + feature(version));
  return unit;
}

class Lowering {
public:
  Lowering(const DeviceInputs& inputs, const std::set<DeviceJob>& jobs) : inputs_(inputs) {
    for (const DeviceJob& job : jobs) {
      const ir::Unit& unit = inputs.bundle.units.at(job.unit);
      all_.push_back({job, is_for_amd(job) ? unit : with_version(unit, job.ptx)});
    }
  }

  Result<LoweredDeviceCode> run() {
    std::vector<const Work*> wanted;
    for (const Work& work : all_) {
      std::optional<lower::Object> known;
      if (inputs_.cache)
        known = inputs_.cache->find(work.unit, options_of(work), target_of(work.job), form_of(work));
      if (known)
        result_.code[work.job] = std::move(known->bytes);
      else
        wanted.push_back(&work);
    }
    result_.cached = all_.size() - wanted.size();
    result_.lowered = wanted.size();
    if (!wanted.empty())
      XAAS_CHECK(lower_wanted(wanted));
    return std::move(result_);
  }

private:
  struct Work {
    DeviceJob job;
    ir::Unit unit;
  };

  const ir::UnitOptions& options_of(const Work& work) const {
    return inputs_.bundle.options.at(work.unit.options);
  }
  static lower::Form form_of(const Work& work) {
    return work.job.linked() ? lower::Form::lto : lower::Form::object;
  }
  static std::string archs(const std::vector<const Work*>& works) {
    std::set<std::string> names;
    for (const Work* work : works)
      names.insert(work->job.arch);
    return join({names.begin(), names.end()}, ", ");
  }

  Result<void> lower_wanted(const std::vector<const Work*>& wanted) {
    inputs_.progress.start("lowering for " + archs(wanted), wanted.size());
    const auto job = [&](size_t i) { return job_of(*wanted[i]); };
    const auto done = [&](size_t i, lower::Object object) -> Result<void> {
      const Work& work = *wanted[i];
      if (inputs_.cache)
        inputs_.cache->keep(work.unit, options_of(work), target_of(work.job), form_of(work), object);
      result_.code[work.job] = std::move(object.bytes);
      return {};
    };
    XAAS_CHECK(lower::lower_all(wanted.size(), job, done, {.workers = inputs_.threads}, inputs_.progress));
    inputs_.progress.finish();
    return {};
  }

  Result<lower::Job> job_of(const Work& work) const {
    lower::Job job;
    job.unit = work.unit;
    XAAS_TRY(job.bitcode, inputs_.contents.read(job.unit.module));
    if (work.job.offload != "openmp") // OpenMP's run-time library has state, so it is linked once, later
      for (const Digest& library : job.unit.libraries) {
        XAAS_TRY(job.libraries.emplace_back(), inputs_.contents.read(library));
      }
    job.options = options_of(work);
    job.target = target_of(work.job);
    job.form = form_of(work);
    return job;
  }

  const DeviceInputs& inputs_;
  std::vector<Work> all_;
  LoweredDeviceCode result_;
};

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

Result<LoweredDeviceCode> lower_device_code(const DeviceInputs& inputs, const std::set<DeviceJob>& jobs) {
  return Lowering(inputs, jobs).run();
}

} // namespace xaas::device
