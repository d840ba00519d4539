#include "device_check.h"

#include <xaas/base/parallel.h>
#include <xaas/base/process.h>
#include <xaas/lower/lower.h>
#include <xaas/target/gpu.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace xaas::build {

namespace {

struct Assembly {
  ir::Unit unit;
  target::GpuArch arch;
  std::string ptx;
};

class Check {
public:
  Check(const image::Bundle& bundle, const store::ContentStore& content, const device::Assembler& assembler)
      : bundle_(bundle), content_(content), assembler_(assembler) {}

  Result<void> run(unsigned jobs, Progress& progress) {
    XAAS_CHECK(collect());
    if (work_.empty())
      return {};
    progress.start("lowering device code to check it", work_.size());
    XAAS_CHECK(lower::lower_all(
        work_.size(), [&](size_t i) { return job(work_[i]); },
        [&](size_t i, lower::Object object) -> Result<void> {
          work_[i].ptx = std::move(object.bytes);
          return {};
        },
        {.workers = jobs}, progress));
    progress.finish();
    progress.start("assembling device code to check it", work_.size());
    XAAS_CHECK(run_parallel(work_.size(), jobs, [&](size_t i) { return assemble(work_[i]); }));
    progress.finish();
    return {};
  }

private:
  Result<void> collect() {
    for (const auto& [id, unit] : bundle_.units)
      XAAS_CHECK(add(unit.device));
    for (const image::BundleConfiguration& configuration : bundle_.configurations)
      for (const link::InstalledFile& file : configuration.installed)
        if (file.device)
          XAAS_CHECK(add(file.device->units));
    for (auto& [key, work] : distinct_)
      work_.push_back(std::move(work));
    return {};
  }

  Result<void> add(const std::map<std::string, Digest>& units) {
    for (const auto& [name, id] : units) {
      XAAS_TRY(const target::GpuArch arch, target::parse_gpu_arch(name));
      if (arch.vendor != target::GpuArch::Vendor::nvidia || !device::assembles(assembler_.release, arch))
        continue;
      const ir::Unit& unit = bundle_.units.at(id);
      const auto [known, added] =
          distinct_.try_emplace({unit.module, unit.options, unit.libraries}, Assembly{unit, arch, {}});
      if (!added && known->second.arch < arch)
        known->second = {unit, arch, {}};
    }
    return {};
  }

  Result<lower::Job> job(const Assembly& work) const {
    lower::Job job;
    job.unit = work.unit;
    for (std::string& feature : job.unit.machine.features)
      if (is_newer_ptx(feature))
        feature = "+" + device::feature(device::newest_ptx(assembler_.release));
    XAAS_TRY(job.bitcode, content_.get(work.unit.module));
    for (const Digest& library : work.unit.libraries) {
      XAAS_TRY(job.libraries.emplace_back(), content_.get(library));
    }
    job.options = bundle_.options.at(work.unit.options);
    job.target = {"nvptx64", to_string(work.arch), {}};
    return job;
  }

  // The assembler does not read this version of PTX; deploying with it would choose an older one, too.
  bool is_newer_ptx(const std::string& feature) const {
    const std::vector<device::ReleaseFacts>& all = device::cuda_releases();
    return std::any_of(all.begin(), all.end(), [&](const device::ReleaseFacts& facts) {
      return feature == "+" + device::feature(facts.ptx) &&
             device::newest_ptx(assembler_.release) < facts.ptx;
    });
  }

  // If the assembler knows no version of PTX with this architecture, it says nothing about the code.
  Result<void> assemble(const Assembly& work) const {
    XAAS_CHECK(check_interrupt());
    device::AssembleOptions options;
    options.relocatable = work.ptx.find(".extern .func") != std::string::npos; // it is linked with other code
    const Result<std::string> code =
        device::assemble(assembler_, work.ptx, to_string(work.arch), options).in(work.unit.source);
    return code || code.error().kind == ErrorKind::unsatisfied ? Result<void>() : code.error();
  }

  const image::Bundle& bundle_;
  const store::ContentStore& content_;
  const device::Assembler& assembler_;
  std::map<std::tuple<Digest, Digest, std::vector<Digest>>, Assembly> distinct_;
  std::vector<Assembly> work_;
};

} // namespace

Result<void> check_device_code(const image::Bundle& bundle, const store::ContentStore& content,
                               const device::Assembler& assembler, unsigned jobs, Progress& progress) {
  return Check(bundle, content, assembler).run(jobs, progress);
}

} // namespace xaas::build
