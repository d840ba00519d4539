#include "lowering.h"
#include "interposition.h"
#include "members.h"

#include <xaas/base/stopwatch.h>
#include <xaas/base/trace.h>
#include <xaas/link/needs.h>
#include <xaas/lower/lower.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace xaas::deploy {

namespace {

// "cudaMalloc", not "cuda_error": C programs have names like that of their own.
bool is_function_of_cuda(const std::string& name) {
  constexpr std::string_view prefix = "cuda";
  return name.size() > prefix.size() && name.starts_with(prefix) &&
         std::isupper(static_cast<unsigned char>(name[prefix.size()])) != 0;
}

// pthread_create, of C11, OpenMP's run-time libraries, C++, TBB.
bool starts_threads(const std::string& name) {
  for (const std::string_view prefix :
       {"__kmpc_fork_", "GOMP_parallel", "_ZNSt6thread15_M_start_thread", "_ZN3tbb"})
    if (name.starts_with(prefix))
      return true;
  return name == "pthread_create" || name == "thrd_create";
}

class Lowering {
public:
  Lowering(const AssemblyInputs& inputs, const Fetch& fetch)
      : inputs_(inputs), fetch_(fetch), members_(inputs), result_{Objects(inputs.work), {}} {
    any_cpu_.arch = inputs.bundle.arch;
  }

  Result<Lowered> run() {
    const Stopwatch watch;
    XAAS_CHECK(plan_profiling());
    XAAS_CHECK(plan_interposition());
    for (const LoweredUnit& unit : lowered_units(inputs_.forms))
      if (!members_.optional().contains(unit.first))
        XAAS_CHECK(find(unit));
    for (const Digest& unit : members_.optional())
      XAAS_CHECK(find({unit, lower::Form::symbols}));
    XAAS_CHECK(fetch_inputs());
    XAAS_CHECK(make_device_code());
    XAAS_CHECK(want_names_of_kit());
    XAAS_CHECK(lower("lowering for " + inputs_.target.name));
    XAAS_CHECK(lower_members());
    XAAS_CHECK(want_functions_of_kit());
    XAAS_CHECK(make_cuda_runtime());
    XAAS_CHECK(make_stand_ins());
    result_.lower_seconds = watch.seconds().wall - result_.fetch_seconds;
    return std::move(result_);
  }

private:
  Result<void> plan_profiling() {
    lower::Profiling& profiling = result_.profiling;
    if (inputs_.profile) {
      profiling.kind = lower::Profiling::Kind::use;
      profiling.counts = inputs_.profile->bytes;
      profiling.cold_for_size = inputs_.cold_for_size;
      profiling.key = " profile " + inputs_.profile->digest.to_string() +
                      (profiling.cold_for_size ? image::cold_for_size : "");
    }
    if (!inputs_.count)
      return {};
    profiling.kind = lower::Profiling::Kind::count;
    XAAS_TRY(profiling.atomic, has_threads());
    profiling.key = profiling.atomic ? " atomic counters" : " counters";
    return {};
  }

  // Whether code of the application may start threads, which then share its counters: all units want names,
  // and only the modules tell which.
  Result<bool> has_threads() {
    std::set<Digest> units;
    for (const LoweredUnit& unit : lowered_units(inputs_.forms))
      units.insert(unit.first);
    bool found = false;
    XAAS_CHECK(read_symbols(units, [&](const Digest&, const lower::Object& object) -> Result<void> {
      found = found || std::any_of(object.wanted.begin(), object.wanted.end(), starts_threads);
      return {};
    }));
    return found;
  }

  // Links with LTO see all of a shared library, and must not rely on what other files of the image replace.
  // A link with plugins does as Clang does: its author asked for LTO.
  Result<void> plan_interposition() {
    if (!inputs_.forms.read.contains({LinkForm::thin}) || !may_interpose(inputs_.bundle, inputs_.usage.links))
      return {};
    std::set<Digest> units;
    std::map<Digest, std::string> kit;
    std::set<Digest> asking;
    std::map<Digest, LinkInputs> links;
    for (const Digest& link : inputs_.usage.links) {
      const LinkInputs& read = links.emplace(link, inputs_of_link(inputs_.bundle, link)).first->second;
      for (const auto& [digest, name] : read.kit)
        if (read.exports_wanted)
          asking.insert(digest);
      units.insert(read.units.begin(), read.units.end());
      units.insert(read.relocated.begin(), read.relocated.end());
      kit.insert(read.kit.begin(), read.kit.end());
    }
    FileNames names;
    XAAS_CHECK(read_symbols(units, [&](const Digest& unit, const lower::Object& object) -> Result<void> {
      if (object.bytes.empty())
        return {};
      XAAS_TRY(names.defined[unit], lower::parse_names(object.bytes));
      return {};
    }));
    std::set<Digest> files;
    for (const auto& [digest, name] : kit)
      files.insert(digest);
    XAAS_CHECK(fetch_with_modules(std::move(files)));
    for (const auto& [digest, name] : kit) {
      const std::map<fs::path, std::string> file = {{inputs_.contents.path(digest), name}};
      XAAS_TRY(names.defined[digest], link::names_defined_by(file));
      if (asking.contains(digest)) {
        XAAS_TRY(names.wanted[digest], link::names_wanted_by(file));
      }
    }
    result_.interposed = interposed_names(inputs_.bundle, links, names);
    return {};
  }

  // The symbols of these units, from the cache or from their modules.
  Result<void> read_symbols(const std::set<Digest>& units,
                            const std::function<Result<void>(const Digest&, const lower::Object&)>& take) {
    std::vector<LoweredUnit> unknown;
    for (const Digest& id : units) {
      const LoweredUnit unit{id, lower::Form::symbols};
      std::optional<lower::Object> object;
      if (inputs_.cache)
        object =
            inputs_.cache->find(unit_of(unit), options_of(unit), target_of(unit), unit.second, key_of(unit));
      if (object)
        XAAS_CHECK(take(id, *object));
      else
        unknown.push_back(unit);
    }
    missing_ = unknown;
    XAAS_CHECK(fetch_with_modules({}));
    missing_.clear();
    const auto job = [&](size_t i) { return job_of(unknown[i]); };
    const auto done = [&](size_t i, const lower::Object& object) -> Result<void> {
      if (inputs_.cache)
        inputs_.cache->keep(unit_of(unknown[i]), options_of(unknown[i]), target_of(unknown[i]),
                            lower::Form::symbols, object, key_of(unknown[i]));
      return take(unknown[i].first, object);
    };
    return lower::lower_all(unknown.size(), job, done, {.workers = inputs_.jobs}, inputs_.progress);
  }

  // For the object cache: what the unit's object is made of besides the unit.
  std::string key_of(const LoweredUnit& unit) const {
    const auto interposed = result_.interposed.find(unit.first);
    return parts_key(inputs_, unit, result_.profiling) +
           (unit.second != lower::Form::thin_lto || interposed == result_.interposed.end()
                ? ""
                : " interposed " + digest_of(lower::to_bytes(interposed->second)).to_string());
  }

  // Takes the object from the cache, or lists it for lower().
  Result<void> find(const LoweredUnit& unit) {
    trace::Span span("module", unit_of(unit).source);
    std::optional<lower::Object> object;
    if (inputs_.cache)
      object =
          inputs_.cache->find(unit_of(unit), options_of(unit), target_of(unit), unit.second, key_of(unit));
    if (!object) {
      span.drop(); // lower() records another
      missing_.push_back(unit);
      return {};
    }
    span.set("form", lower::name(unit.second));
    span.set("cache", "hit");
    result_.cached += unit.second != lower::Form::symbols;
    return keep(unit, *object);
  }

  Result<void> keep(const LoweredUnit& unit, const lower::Object& object) {
    if (inputs_.device.on_cpu)
      want_functions(object.wanted);
    if (unit.second != lower::Form::symbols) {
      members_.want(object.wanted);
      result_.profilable.insert(object.profilable.begin(), object.profilable.end());
      result_.profiled.insert(object.profiled.begin(), object.profiled.end());
      if (unit_of(unit).profile && result_.profiling.kind == lower::Profiling::Kind::none &&
          !object.profilable.empty() && object.profiled.empty())
        result_.without_counts.insert(unit_of(unit).source);
      return result_.objects.keep(unit, object);
    }
    std::optional<ir::Symbols> symbols;
    if (!object.bytes.empty()) {
      XAAS_TRY(std::set<std::string> defined, lower::parse_names(object.bytes));
      symbols = {std::move(defined), object.wanted};
    }
    members_.add(unit.first, symbols);
    return {};
  }

  Result<void> fetch_inputs() {
    const std::set<Digest> devices = units_without_device_image(inputs_, result_.objects);
    std::set<Digest> wanted = device::modules_to_read(inputs_.bundle, inputs_.device, devices);
    wanted.insert(inputs_.usage.kit.begin(), inputs_.usage.kit.end());
    wanted.insert(inputs_.usage.tree.begin(), inputs_.usage.tree.end());
    return fetch_with_modules(std::move(wanted));
  }

  // With the modules that lower() reads. One pass over the image's layers is cheaper than two.
  Result<void> fetch_with_modules(std::set<Digest> wanted) {
    for (const LoweredUnit& unit : missing_)
      if (const Digest& module = image::stored_module(inputs_.bundle, unit.first); !fetched_.contains(module))
        wanted.insert(module);
    if (wanted.empty())
      return {};
    const Stopwatch watch;
    const trace::Span span("phase", "fetch");
    XAAS_CHECK(fetch_(wanted));
    fetched_.merge(wanted);
    result_.fetch_seconds += watch.seconds().wall;
    return {};
  }

  Result<void> make_device_code() {
    XAAS_TRY(result_.device,
             device::make_device_code({.bundle = inputs_.bundle,
                                       .plan = inputs_.device,
                                       .host_units = units_without_device_image(inputs_, result_.objects),
                                       .contents = inputs_.contents,
                                       .cpu = inputs_.target,
                                       .cache = inputs_.cache,
                                       .work = inputs_.work,
                                       .threads = inputs_.jobs,
                                       .progress = inputs_.progress}));
    result_.lowered += result_.device.lowered;
    result_.cached += result_.device.cached;
    return {};
  }

  // In place of CUDA's own, where kernels run on the CPU.
  Result<void> make_cuda_runtime() {
    if (inputs_.device.kernel_links.empty())
      return {};
    XAAS_TRY(const std::string object, device::cuda_runtime(inputs_.device, inputs_.target, cuda_functions_));
    for (const auto& [record, kernels] : inputs_.device.kernel_links)
      result_.device.objects[record].push_back(object);
    return {};
  }

  // Functions of CUDA's that the program calls, where kernels run on the CPU.
  void want_functions(const std::set<std::string>& names) {
    for (const std::string& name : names)
      if (is_function_of_cuda(name) || name.starts_with("__cuda"))
        cuda_functions_.insert(name);
    if (!inputs_.device.libraries.empty())
      wanted_.insert(names.begin(), names.end());
  }

  // Of objects and archives of the build machine in links whose CUDA libraries are replaced.
  Result<void> want_functions_of_kit() {
    std::set<Digest> records;
    for (const auto& [record, kernels] : inputs_.device.kernel_links)
      records.insert(record);
    for (const auto& [record, libraries] : inputs_.device.libraries)
      records.insert(record);
    if (records.empty())
      return {};
    std::map<fs::path, std::string> files;
    const auto add = [&](const Digest& record, const link::FileRef& file) {
      if (file.kind == link::FileRef::Kind::kit && (file.name.ends_with(".o") || file.name.ends_with(".a")) &&
          !device::is_replaced(inputs_.device, record, file))
        files[inputs_.contents.path(file.digest)] = file.name;
    };
    for (const Digest& record : records)
      for (const link::LinkItem& item : inputs_.bundle.links.at(record).items)
        if (item.kind == link::LinkItem::Kind::input)
          add(record, item.file);
    for (const Digest& archive : inputs_.usage.archives)
      for (const link::ArchiveRecord::Member& member : inputs_.bundle.archives.at(archive).members)
        add({}, member.file);
    if (files.empty())
      return {};
    XAAS_TRY(const std::set<std::string> names, link::names_wanted_by(files));
    want_functions(names);
    return {};
  }

  // In place of libraries that need a GPU. A link takes only functions of the library itself: a program may
  // have others of similar names.
  Result<void> make_stand_ins() {
    std::map<link::FileRef, std::set<Digest>> records;
    for (const auto& [record, libraries] : inputs_.device.libraries)
      for (const link::FileRef& library : libraries)
        records[library].insert(record);
    if (records.empty())
      return {};
    for (const auto& [library, programs] : records) {
      const fs::path path = inputs_.contents.path(library.digest);
      XAAS_TRY(const std::set<std::string> defined, link::names_defined_by({{path, library.name}}));
      device::DeviceCode::Replaced& replaced = result_.device.replaced.emplace_back();
      replaced.library = library.name;
      for (const std::string& name : defined)
        if (wanted_.contains(name))
          replaced.functions.insert(name);
      for (const Digest& record : programs)
        replaced.programs.insert(inputs_.bundle.links.at(record).name);
      if (replaced.functions.empty())
        continue;
      XAAS_TRY(const std::string object,
               device::stand_ins(library.name, inputs_.target, replaced.functions, defined));
      for (const Digest& record : programs)
        result_.device.objects[record].push_back(object);
    }
    return {};
  }

  Result<void> want_names_of_kit() {
    if (members_.kit().empty())
      return {};
    std::map<fs::path, std::string> files;
    for (const auto& [digest, name] : members_.kit())
      files[inputs_.contents.path(digest)] = name;
    XAAS_TRY(const std::set<std::string> names, link::names_wanted_by(files));
    members_.want(names);
    return {};
  }

  Result<void> lower_members() {
    size_t needed = 0;
    for (std::set<Digest> units; !(units = members_.take()).empty(); needed += units.size()) {
      for (const LoweredUnit& unit : lowered_units(inputs_.forms))
        if (units.contains(unit.first))
          XAAS_CHECK(find(unit));
      XAAS_CHECK(fetch_with_modules({}));
      XAAS_CHECK(lower("lowering members of archives for " + inputs_.target.name));
    }
    result_.unneeded = members_.optional().size() - needed;
    return {};
  }

  Result<void> lower(const std::string& phase) {
    if (missing_.empty())
      return {};
    const trace::Span span("phase", phase);
    const std::vector<LoweredUnit> units = sorted(std::exchange(missing_, {}));
    inputs_.progress.start(phase, units.size());
    const auto job = [&](size_t i) { return job_of(units[i]); };
    const auto done = [&](size_t i, const lower::Object& object) -> Result<void> {
      const LoweredUnit& unit = units[i];
      result_.path.add(unit_of(unit).source, object.cpu_seconds);
      result_.lowered += unit.second != lower::Form::symbols;
      if (inputs_.cache)
        inputs_.cache->keep(unit_of(unit), options_of(unit), target_of(unit), unit.second, object,
                            key_of(unit));
      return keep(unit, object);
    };
    XAAS_CHECK(lower::lower_all(units.size(), job, done, {.workers = inputs_.jobs}, inputs_.progress));
    inputs_.progress.finish();
    return {};
  }

  // The longest first, so that no core waits for it at the end. Reading symbols is short.
  std::vector<LoweredUnit> sorted(std::vector<LoweredUnit> units) const {
    const auto length = [&](const LoweredUnit& unit) {
      const uint64_t bytes = inputs_.bundle.modules.at(image::stored_module(inputs_.bundle, unit.first));
      return unit.second == lower::Form::symbols ? bytes / 64 : bytes;
    };
    std::sort(units.begin(), units.end(), [&](const LoweredUnit& a, const LoweredUnit& b) {
      return length(a) != length(b) ? length(a) > length(b) : a < b;
    });
    return units;
  }

  Result<lower::Job> job_of(const LoweredUnit& wanted) const {
    lower::Job job;
    job.unit = unit_of(wanted);
    XAAS_TRY(job.bitcode, inputs_.contents.read(image::stored_module(inputs_.bundle, wanted.first)));
    job.prepared = inputs_.bundle.prepared.contains(wanted.first);
    job.options = options_of(wanted);
    job.target = target_of(wanted);
    job.form = wanted.second;
    if (wanted.second == lower::Form::object || lower::is_for_lto(wanted.second)) {
      job.profiling = result_.profiling;
      if (job.unit.profile && job.profiling.kind == lower::Profiling::Kind::none) {
        XAAS_TRY(std::string counts, inputs_.contents.read(*job.unit.profile));
        job.profiling.kind = lower::Profiling::Kind::own;
        job.profiling.counts = std::make_shared<const std::string>(std::move(counts));
      }
      job.plugins = inputs_.plugins.of(wanted.first);
    }
    if (const auto names = result_.interposed.find(wanted.first);
        names != result_.interposed.end() && wanted.second == lower::Form::thin_lto)
      job.interposed = names->second;
    if (const auto image = result_.device.images.find(wanted.first); image != result_.device.images.end())
      job.device_image = image->second;
    return job;
  }

  const ir::Unit& unit_of(const LoweredUnit& unit) const { return inputs_.bundle.units.at(unit.first); }
  const ir::UnitOptions& options_of(const LoweredUnit& unit) const {
    return inputs_.bundle.options.at(unit_of(unit).options);
  }
  const target::Cpu& target_of(const LoweredUnit& unit) const {
    return unit.second == lower::Form::symbols ? any_cpu_ : inputs_.target;
  }

  const AssemblyInputs& inputs_;
  const Fetch& fetch_;
  Members members_;
  target::Cpu any_cpu_; // symbols are those of every CPU
  std::vector<LoweredUnit> missing_;
  std::set<Digest> fetched_;             // modules among others
  std::set<std::string> cuda_functions_; // that the objects call
  std::set<std::string> wanted_;         // all names of objects, if libraries of CUDA's are replaced
  Lowered result_;
};

} // namespace

Result<Lowered> lower_units(const AssemblyInputs& inputs, const Fetch& fetch) {
  return Lowering(inputs, fetch).run();
}

} // namespace xaas::deploy
