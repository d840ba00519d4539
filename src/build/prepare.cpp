#include "prepare.h"

#include <xaas/base/stopwatch.h>
#include <xaas/ir/options.h>
#include <xaas/lower/lower.h>
#include <xaas/lower/object_cache.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

namespace xaas::build {

namespace {

// One module to prepare, and the units that it serves.
struct Work {
  ir::Unit unit; // without a source, which is no part of the result
  std::vector<Digest> ids;
};

class Preparation {
public:
  Preparation(image::Bundle& bundle, const store::ContentStore& content, const store::Cache* cache)
      : bundle_(bundle), content_(content) {
    if (cache)
      cache_.emplace(*cache);
  }

  Result<PreparedReport> run(unsigned jobs, Progress& progress) {
    const Stopwatch watch;
    collect();
    std::vector<Work*> wanted;
    for (Work& work : work_)
      if (const std::optional<lower::Object> known = find(work))
        XAAS_CHECK(keep(work, *known));
      else
        wanted.push_back(&work);
    progress.start("preparing IR modules", wanted.size());
    const auto done = [&](size_t i, const lower::Object& object) -> Result<void> {
      if (cache_)
        cache_->keep(wanted[i]->unit, options_of(*wanted[i]), target_, lower::Form::prepared, object);
      return keep(*wanted[i], object);
    };
    XAAS_CHECK(lower::lower_all(
        wanted.size(), [&](size_t i) { return job(*wanted[i]); }, done, {.workers = jobs}, progress));
    progress.finish();
    list_modules();
    report_.seconds = watch.seconds();
    return std::move(report_);
  }

private:
  // Largest modules first, so that no core waits for them at the end.
  void collect() {
    std::set<Digest> for_devices;
    for (const auto& [id, unit] : bundle_.units)
      for (const auto& [arch, device] : unit.device)
        for_devices.insert(device);
    for (const image::BundleConfiguration& configuration : bundle_.configurations)
      for (const link::InstalledFile& file : configuration.installed)
        if (file.device)
          for (const auto& [arch, device] : file.device->units)
            for_devices.insert(device);
    std::map<Digest, Work> distinct;
    for (const auto& [id, unit] : bundle_.units) {
      if (for_devices.contains(id) || !unit.device.empty()) {
        ++report_.without["device code"];
        continue;
      }
      if (const auto obstacle = ir::preparation_obstacle(bundle_.options.at(unit.options))) {
        ++report_.without["option " + *obstacle];
        continue;
      }
      if (!unit.plugins.empty()) {
        ++report_.without["pass plugin"];
        continue;
      }
      ir::Unit alike = unit;
      alike.source.clear();
      alike.unoptimized = false;
      Work& work = distinct[alike.id()];
      work.unit = std::move(alike);
      work.ids.push_back(id);
    }
    for (auto& [key, work] : distinct)
      work_.push_back(std::move(work));
    std::sort(work_.begin(), work_.end(), [&](const Work& a, const Work& b) {
      const auto place = [&](const Work& work) {
        return std::tuple(~bundle_.modules.at(work.unit.module), work.unit.id());
      };
      return place(a) < place(b);
    });
    target_.arch = bundle_.arch;
  }

  const ir::UnitOptions& options_of(const Work& work) const { return bundle_.options.at(work.unit.options); }

  std::optional<lower::Object> find(const Work& work) const {
    if (!cache_)
      return std::nullopt;
    return cache_->find(work.unit, options_of(work), target_, lower::Form::prepared);
  }

  Result<lower::Job> job(const Work& work) const {
    lower::Job job;
    XAAS_TRY(job.bitcode, content_.get(work.unit.module));
    job.unit = work.unit;
    job.unit.source = bundle_.units.at(work.ids.front()).source; // for messages
    job.options = options_of(work);
    job.target = target_;
    job.form = lower::Form::prepared;
    return job;
  }

  Result<void> keep(const Work& work, const lower::Object& object) {
    XAAS_TRY(const Digest digest, content_.put(object.bytes));
    bytes_[digest] = object.bytes.size();
    for (const Digest& id : work.ids)
      bundle_.prepared[id] = digest;
    report_.units += work.ids.size();
    return {};
  }

  void list_modules() {
    std::map<Digest, uint64_t> stored;
    for (const auto& [id, unit] : bundle_.units) {
      const Digest& module = image::stored_module(bundle_, id);
      const auto prepared = bytes_.find(module);
      stored[module] = prepared == bytes_.end() ? bundle_.modules.at(module) : prepared->second;
    }
    report_.modules = bytes_.size();
    bundle_.modules = std::move(stored);
  }

  image::Bundle& bundle_;
  const store::ContentStore& content_;
  std::optional<lower::ObjectCache> cache_;
  target::Cpu target_;
  std::vector<Work> work_;
  std::map<Digest, uint64_t> bytes_; // of prepared modules
  PreparedReport report_;
};

} // namespace

Result<PreparedReport> prepare_modules(image::Bundle& bundle, const store::ContentStore& content,
                                       unsigned jobs, const store::Cache* cache, Progress& progress) {
  return Preparation(bundle, content, cache).run(jobs, progress);
}

} // namespace xaas::build
