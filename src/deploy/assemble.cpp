#include "assemble.h"
#include <xaas/device/code.h>

#include <xaas/base/process.h>
#include <xaas/link/replay.h>
#include <xaas/lower/cpu_guard.h>
#include <xaas/lower/lower.h>

#include <algorithm>
#include <chrono>

namespace xaas::deploy {

namespace {

using RefKind = link::FileRef::Kind;
using FileKind = link::InstalledFile::Kind;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One output of a link: the same record can be installed stripped and read by another link, say.
struct Output {
  Digest record;
  std::optional<link::Finish> finish;
  std::string key() const {
    if (!finish)
      return record.hex();
    return record.hex() + " " + std::to_string(static_cast<int>(finish->strip)) + " " +
           finish->runpath.value_or("-") +
           (finish->tag ? std::to_string(static_cast<int>(*finish->tag)) : "");
  }
};

class Assembler {
public:
  Assembler(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
            const image::Usage& usage, const Forms& forms, const image::Contents& contents,
            const target::Cpu& target, const device::DevicePlan& device,
            const std::map<Digest, std::string>& device_images,
            const std::map<Digest, std::vector<std::string>>& device_objects, Objects objects,
            const lower::ObjectCache* cache, const fs::path& work, unsigned jobs, Progress& progress)
      : bundle_(bundle), configuration_(configuration), usage_(usage), forms_(forms), contents_(contents),
        target_(target), device_(device), device_images_(device_images), device_objects_(device_objects),
        objects_(std::move(objects)), cache_(cache), work_(work), jobs_(jobs), progress_(progress) {}

  Result<Assembly> run() {
    for (const link::InstalledFile& file : configuration_.installed)
      if (file.kind == FileKind::link)
        finishes_[file.digest].push_back(file.finish);
    const Clock::time_point start = Clock::now();
    XAAS_CHECK(lower_units());
    assembly_.lower_seconds = since(start);
    const Clock::time_point linking = Clock::now();
    XAAS_TRY(program_guard_, lower::cpu_guard(target_, lower::GuardedFile::program));
    XAAS_TRY(library_guard_, lower::cpu_guard(target_, lower::GuardedFile::library));
    XAAS_CHECK(make_outputs());
    XAAS_CHECK(collect_installed());
    assembly_.link_seconds = since(linking);
    return std::move(assembly_);
  }

private:
  Result<void> lower_units() {
    std::vector<LoweredUnit> wanted;
    for (const LoweredUnit& unit : lowered_units(forms_))
      if (!objects_.has(unit))
        wanted.push_back(unit);
    auto bytes = [&](const LoweredUnit& unit) {
      return bundle_.modules.at(bundle_.units.at(unit.first).module);
    };
    // The longest first, so that no core waits for it at the end.
    std::sort(wanted.begin(), wanted.end(), [&](const LoweredUnit& a, const LoweredUnit& b) {
      return bytes(a) != bytes(b) ? bytes(a) > bytes(b) : a < b;
    });
    if (!wanted.empty()) {
      progress_.start("lowering for " + target_.name, wanted.size());
      auto job = [&](size_t i) -> Result<lower::Job> {
        const ir::Unit& unit = bundle_.units.at(wanted[i].first);
        XAAS_TRY(std::string bitcode, contents_.read(unit.module));
        lower::Job job;
        job.bitcode = std::move(bitcode);
        job.unit = unit;
        job.options = bundle_.options.at(unit.options);
        job.target = target_;
        job.form = wanted[i].second;
        if (const auto image = device_images_.find(wanted[i].first); image != device_images_.end())
          job.device_image = image->second;
        return job;
      };
      auto done = [&](size_t i, const lower::Object& object) -> Result<void> {
        ++assembly_.lowered;
        const ir::Unit& unit = bundle_.units.at(wanted[i].first);
        if (cache_)
          cache_->keep(unit, bundle_.options.at(unit.options), target_, wanted[i].second, object,
                       device_.key(wanted[i].first));
        return objects_.keep(wanted[i], object);
      };
      XAAS_CHECK(lower::lower_all(wanted.size(), job, done, {.workers = jobs_}, progress_));
      progress_.finish();
    }
    assembly_.refused_bitcode = objects_.refused_bitcode();
    return {};
  }

  Result<void> keep(const std::string& name, const std::string& content) {
    return write_file(work_ / name, content, 0644, false);
  }

  fs::path archive_path(const Digest& archive, bool lto) const {
    return work_ / ((lto ? "b" : "a") + archive.hex());
  }

  // For a link or archive with LTO, or one without.
  Result<fs::path> provide(const link::FileRef& file, bool lto) {
    switch (file.kind) {
    case RefKind::unit:
      return objects_.path({file.digest, lto && forms_.bitcode.count(file.digest) ? lower::Form::thin_lto
                                                                                  : lower::Form::object});
    case RefKind::archive:
      return archive_path(file.digest, lto);
    case RefKind::link:
      return work_ / ("l" + digest_of(input_output(file.digest).key()).hex());
    case RefKind::kit:
      return contents_.path(file.digest);
    }
    return make_error(ErrorKind::integrity, "unknown kind of file");
  }

  // The output that another link reads: the installed one, if there is one, so that it is linked once.
  Output input_output(const Digest& record) const {
    const auto found = finishes_.find(record);
    return {record, found == finishes_.end() ? std::nullopt : found->second.front()};
  }

  Result<void> make_outputs() {
    progress_.start("linking", usage_.links.size());
    // Archives and links are each listed after what they read; an archive may hold a relocatable link's
    // output and a link may read an archive, so both lists advance together.
    size_t archives = 0;
    size_t links = 0;
    std::set<Digest> ready;
    while (archives < usage_.archives.size() || links < usage_.links.size()) {
      const size_t before = archives + links;
      while (archives < usage_.archives.size() &&
             is_ready(bundle_.archives.at(usage_.archives[archives]), ready)) {
        const Digest& digest = usage_.archives[archives++];
        XAAS_CHECK(make_archive(digest));
        ready.insert(digest);
      }
      while (links < usage_.links.size() && is_ready(bundle_.links.at(usage_.links[links]), ready)) {
        const Digest& digest = usage_.links[links++];
        XAAS_CHECK(make_link(digest));
        ready.insert(digest);
        progress_.advance();
      }
      if (archives + links == before)
        return make_error(ErrorKind::integrity, "bundle: archive and link records wait for each other");
    }
    progress_.finish();
    return {};
  }

  static bool is_ready(const link::FileRef& file, const std::set<Digest>& ready) {
    return (file.kind != RefKind::archive && file.kind != RefKind::link) || ready.count(file.digest) != 0;
  }
  static bool is_ready(const link::ArchiveRecord& record, const std::set<Digest>& ready) {
    return std::all_of(record.members.begin(), record.members.end(),
                       [&](const auto& member) { return is_ready(member.file, ready); });
  }
  static bool is_ready(const link::LinkRecord& record, const std::set<Digest>& ready) {
    return std::all_of(record.items.begin(), record.items.end(), [&](const link::LinkItem& item) {
      return item.kind == link::LinkItem::Kind::option || is_ready(item.file, ready);
    });
  }

  Result<void> make_archive(const Digest& digest) {
    const link::ArchiveRecord& record = bundle_.archives.at(digest);
    if (forms_.archives.count(digest)) {
      XAAS_TRY(const std::string archive, link::write_archive_in_worker(record, objects_provider_));
      XAAS_CHECK(keep(archive_path(digest, false).filename(), archive));
    }
    if (forms_.lto_archives.count(digest)) {
      XAAS_TRY(const std::string archive, link::write_lto_archive(record, bitcode_provider_));
      XAAS_CHECK(keep(archive_path(digest, true).filename(), archive));
    }
    return {};
  }

  Result<void> make_link(const Digest& digest) {
    std::vector<Output> outputs;
    if (const auto found = finishes_.find(digest); found != finishes_.end())
      for (const std::optional<link::Finish>& finish : found->second)
        outputs.push_back({digest, finish});
    else
      outputs.push_back({digest, std::nullopt});
    std::set<std::string> made;
    for (const Output& output : outputs) {
      if (!made.insert(output.key()).second)
        continue;
      XAAS_CHECK(check_interrupt());
      link::ReplayOptions options;
      options.arch = bundle_.arch;
      options.finish = output.finish;
      options.threads = jobs_;
      XAAS_TRY(const link::LinkRecord record, with_device_objects(digest));
      const bool lto = forms_.lto_level != 0 && record.kind != link::OutputKind::relocatable;
      if (lto) {
        options.lto_level = forms_.lto_level;
        options.lto_cache = work_ / "thinlto";
        XAAS_CHECK(make_directories(options.lto_cache));
        options.cpu_seconds += 60 * static_cast<double>(forms_.bitcode.size());
      }
      options.guard = record.kind == link::OutputKind::shared ? library_guard_ : program_guard_;
      Result<link::ReplayResult> linked =
          link::replay(record, lto ? bitcode_provider_ : objects_provider_, options);
      if (!linked && lto && linked.error().kind == ErrorKind::failed)
        return std::move(linked).error().with_hint("without --lto it may link");
      XAAS_TRY(const link::ReplayResult result, std::move(linked));
      XAAS_CHECK(keep("l" + digest_of(output.key()).hex(), result.output));
      ++assembly_.links;
    }
    return {};
  }

  // The link, with what registers its device code.
  Result<link::LinkRecord> with_device_objects(const Digest& digest) {
    link::LinkRecord record = bundle_.links.at(digest);
    const auto found = device_objects_.find(digest);
    if (found == device_objects_.end())
      return record;
    // The entries that a registration finds by the names of their section's ends stay where sections that
    // nothing refers to are dropped (--gc-sections).
    link::LinkItem& keep = record.items.emplace_back();
    keep.kind = link::LinkItem::Kind::option;
    keep.option = "-z";
    keep.value = "nostart-stop-gc";
    for (const std::string& object : found->second) {
      link::LinkItem& item = record.items.emplace_back();
      item.file = {RefKind::kit, digest_of(object), "device.o"};
      XAAS_CHECK(contents_.keep(item.file.digest, object));
    }
    return record;
  }

  // Objects and archives of the machine where the image was built, which choose at run time as they like
  // (libc.a). Not what the compiler puts into every program, which has code for every CPU.
  static bool is_foreign_code(const link::FileRef& file) {
    for (const char* own : {"libgcc.a", "libgcc_eh.a", "libc_nonshared.a"})
      if (file.name == own)
        return false;
    if (file.name.ends_with(".o"))
      return file.name.find("crt") == std::string::npos;
    return file.name.ends_with(".a");
  }

  // Of a file and all that was linked into it.
  CodeOrigin origin_of(const link::FileRef& file) {
    CodeOrigin origin;
    const auto add = [&](const link::FileRef& part) {
      const CodeOrigin& other = known_origin(part);
      origin.own.features.insert(other.own.features.begin(), other.own.features.end());
      origin.own.assembly |= other.own.assembly;
      origin.native |= other.native;
    };
    switch (file.kind) {
    case RefKind::unit:
      for (const lower::Form form : {lower::Form::object, lower::Form::thin_lto})
        if (objects_.has({file.digest, form}))
          origin.own = objects_.own({file.digest, form});
      break;
    case RefKind::archive:
      for (const link::ArchiveRecord::Member& member : bundle_.archives.at(file.digest).members)
        add(member.file);
      break;
    case RefKind::link:
      for (const link::LinkItem& item : bundle_.links.at(file.digest).items)
        if (item.kind == link::LinkItem::Kind::input)
          add(item.file);
      break;
    case RefKind::kit:
      origin.native = bundle_.kit.at(file.digest).native || is_foreign_code(file);
      break;
    }
    return origin;
  }

  // Another link's output counts where it is linked in, not where it is loaded.
  const CodeOrigin& known_origin(const link::FileRef& part) {
    static const CodeOrigin nothing;
    if (part.kind == RefKind::link && bundle_.links.at(part.digest).kind == link::OutputKind::shared)
      return nothing;
    const auto found = origins_.find(part.digest);
    return found != origins_.end() ? found->second
                                   : origins_.emplace(part.digest, origin_of(part)).first->second;
  }

  Result<void> collect_installed() {
    for (const link::InstalledFile& file : configuration_.installed) {
      fs::path path;
      switch (file.kind) {
      case FileKind::directory:
      case FileKind::symlink:
        continue;
      case FileKind::file:
        path = contents_.path(file.digest);
        break;
      case FileKind::unit:
        path = objects_.path({file.digest, lower::Form::object});
        break;
      case FileKind::archive:
        path = archive_path(file.digest, false);
        break;
      case FileKind::link:
        path = work_ / ("l" + digest_of(Output{file.digest, file.finish}.key()).hex());
        assembly_.origins[file.path] = origin_of({RefKind::link, file.digest, ""});
        break;
      }
      XAAS_TRY(assembly_.contents[file.path], read_file(path));
    }
    return {};
  }

  const image::Bundle& bundle_;
  const image::BundleConfiguration& configuration_;
  const image::Usage& usage_;
  const Forms& forms_;
  const image::Contents& contents_;
  const target::Cpu& target_;
  const device::DevicePlan& device_;
  const std::map<Digest, std::string>& device_images_;
  const std::map<Digest, std::vector<std::string>>& device_objects_;
  Objects objects_;
  const lower::ObjectCache* cache_;
  fs::path work_;
  unsigned jobs_;
  Progress& progress_;
  std::map<Digest, std::vector<std::optional<link::Finish>>> finishes_; // of installed links, by record
  std::map<Digest, CodeOrigin> origins_;                                // of what was linked
  std::string program_guard_, library_guard_;                           // objects
  const link::FileProvider objects_provider_ = [this](const link::FileRef& file) {
    return provide(file, false);
  };
  const link::FileProvider bitcode_provider_ = [this](const link::FileRef& file) {
    return provide(file, true);
  };
  Assembly assembly_;
};

} // namespace

std::set<LoweredUnit> lowered_units(const Forms& forms) {
  std::set<LoweredUnit> units;
  for (const Digest& unit : forms.objects)
    units.emplace(unit, lower::Form::object);
  for (const Digest& unit : forms.bitcode)
    units.emplace(unit, lower::Form::thin_lto);
  return units;
}

Result<void> Objects::keep(const LoweredUnit& unit, const lower::Object& object) {
  units_.emplace(unit, object.own);
  refused_bitcode_ += unit.second == lower::Form::thin_lto && link::is_elf(object.bytes);
  return write_file(path(unit), object.bytes, 0644, false);
}

std::set<Digest> units_that_want_device_images(const device::DevicePlan& device,
                                               const std::set<LoweredUnit>& units, const Objects& objects) {
  std::set<Digest> wanted;
  for (const LoweredUnit& unit : units)
    if (device.host_units.count(unit.first) && !objects.has(unit))
      wanted.insert(unit.first);
  return wanted;
}

Result<Objects> known_objects(const image::Bundle& bundle, const std::set<LoweredUnit>& units,
                              const device::DevicePlan& device, const target::Cpu& target,
                              const lower::ObjectCache& cache, const fs::path& directory) {
  Objects objects(directory);
  for (const LoweredUnit& wanted : units) {
    const ir::Unit& unit = bundle.units.at(wanted.first);
    if (const std::optional<lower::Object> object = cache.find(unit, bundle.options.at(unit.options), target,
                                                               wanted.second, device.key(wanted.first)))
      XAAS_CHECK(objects.keep(wanted, *object));
  }
  return objects;
}

Result<Assembly> assemble(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                          const image::Usage& usage, const Forms& forms, const image::Contents& contents,
                          const target::Cpu& target, const device::DevicePlan& device,
                          const std::map<Digest, std::string>& device_images,
                          const std::map<Digest, std::vector<std::string>>& device_objects, Objects objects,
                          const lower::ObjectCache* cache, const fs::path& work, unsigned jobs,
                          Progress& progress) {
  return Assembler(bundle, configuration, usage, forms, contents, target, device, device_images,
                   device_objects, std::move(objects), cache, work, jobs, progress)
      .run();
}

} // namespace xaas::deploy
