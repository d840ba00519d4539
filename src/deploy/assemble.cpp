#include "assemble.h"
#include "interposition.h"

#include <xaas/base/process.h>
#include <xaas/base/stopwatch.h>
#include <xaas/base/text.h>
#include <xaas/base/trace.h>
#include <xaas/link/replay.h>
#include <xaas/lower/cpu_guard.h>

#include <algorithm>

namespace xaas::deploy {

namespace {

using RefKind = link::FileRef::Kind;
using FileKind = link::InstalledFile::Kind;

// One output of a link. For example, one output of a record is installed stripped and another is read by
// other links.
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
  Assembler(const AssemblyInputs& inputs, Lowered lowered)
      : inputs_(inputs), objects_(std::move(lowered.objects)), device_(std::move(lowered.device)),
        has_start_files_(std::any_of(inputs.bundle.kit.begin(), inputs.bundle.kit.end(),
                                     [](const auto& entry) { return entry.second.start; })) {}

  Result<Assembly> run() {
    for (const link::InstalledFile& file : inputs_.configuration.installed)
      if (file.kind == FileKind::link)
        finishes_[file.digest].push_back(file.finish);
    const Stopwatch watch;
    const trace::Span span("phase", "link");
    assembly_.links = device_.links;
    XAAS_TRY(program_guard_, lower::cpu_guard(inputs_.target, lower::GuardedFile::program));
    XAAS_TRY(library_guard_, lower::cpu_guard(inputs_.target, lower::GuardedFile::library));
    if (inputs_.count) {
      XAAS_TRY(profile_runtime_, profile::runtime_object(inputs_.target));
    }
    XAAS_CHECK(make_outputs());
    XAAS_CHECK(collect_installed());
    assembly_.seconds = watch.seconds().wall;
    return std::move(assembly_);
  }

private:
  Result<void> keep(const std::string& name, const std::string& content) {
    return write_file(inputs_.work / name, content, 0644, false);
  }

  fs::path archive_path(const Digest& archive, const Reader& reader) const {
    switch (reader.form) {
    case LinkForm::plain:
      break;
    case LinkForm::thin:
      return inputs_.work / ("b" + archive.hex());
    case LinkForm::merged:
      return inputs_.work / ("c" + archive.hex() + reader.link.hex());
    }
    return inputs_.work / ("a" + archive.hex());
  }

  LoweredUnit lowered_unit(const Digest& unit, const Reader& reader) const {
    return {unit, inputs_.forms.of(unit, reader)};
  }

  // The file that such a link, or an archive for one, reads.
  Result<fs::path> provide(const link::FileRef& file, const Reader& reader) {
    switch (file.kind) {
    case RefKind::unit:
      return objects_.path(lowered_unit(file.digest, reader));
    case RefKind::archive:
      return archive_path(file.digest, reader);
    case RefKind::link:
      return inputs_.work / ("l" + digest_of(input_output(file.digest).key()).hex());
    case RefKind::kit:
      return inputs_.contents.path(file.digest);
    }
    return make_error(ErrorKind::integrity, "unknown kind of file");
  }

  link::FileProvider provider(const Reader& reader) {
    return [this, reader](const link::FileRef& file) { return provide(file, reader); };
  }

  // The output that another link reads: an installed one if possible, so that it is linked only once.
  Output input_output(const Digest& record) const {
    const auto found = finishes_.find(record);
    return {record, found == finishes_.end() ? std::nullopt : found->second.front()};
  }

  Result<void> make_outputs() {
    inputs_.progress.start("linking", inputs_.usage.links.size());
    // Archives and links are each listed after the records that they read. An archive may hold a relocatable
    // link's output and a link may read an archive, so both lists advance together.
    size_t archives = 0;
    size_t links = 0;
    std::set<Digest> ready;
    while (archives < inputs_.usage.archives.size() || links < inputs_.usage.links.size()) {
      const size_t before = archives + links;
      while (archives < inputs_.usage.archives.size() &&
             is_ready(inputs_.bundle.archives.at(inputs_.usage.archives[archives]), ready)) {
        const Digest& digest = inputs_.usage.archives[archives++];
        XAAS_CHECK(make_archive(digest));
        ready.insert(digest);
      }
      while (links < inputs_.usage.links.size() &&
             is_ready(inputs_.bundle.links.at(inputs_.usage.links[links]), ready)) {
        const Digest& digest = inputs_.usage.links[links++];
        XAAS_CHECK(make_link(digest));
        ready.insert(digest);
        inputs_.progress.advance();
      }
      if (archives + links == before)
        return make_error(ErrorKind::integrity, "bundle: archive and link records wait for each other");
    }
    inputs_.progress.finish();
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

  // Without the units that no link needs.
  link::ArchiveRecord needed_members(const Digest& digest, const Reader& reader) const {
    link::ArchiveRecord record = inputs_.bundle.archives.at(digest);
    std::erase_if(record.members, [&](const link::ArchiveRecord::Member& member) {
      return member.file.kind == RefKind::unit && !objects_.has(lowered_unit(member.file.digest, reader));
    });
    return record;
  }

  Result<void> make_archive(const Digest& digest) {
    for (const auto& [reader, read] : inputs_.forms.read) {
      if (!read.archives.contains(digest))
        continue;
      const link::ArchiveRecord record = needed_members(digest, reader);
      XAAS_TRY(const std::string archive, reader.form == LinkForm::plain
                                              ? link::write_archive_in_worker(record, provider(reader))
                                              : link::write_lto_archive(record, provider(reader)));
      XAAS_CHECK(keep(archive_path(digest, reader).filename(), archive));
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
    XAAS_TRY(const link::LinkRecord record, with_objects_of_ours(digest));
    std::set<std::string> made;
    for (const Output& output : outputs)
      if (made.insert(output.key()).second)
        XAAS_CHECK(make_output(record, output));
    return {};
  }

  static Error lacks_libraries(const link::LinkRecord& record, std::vector<std::string> missing) {
    std::sort(missing.begin(), missing.end()); // the linker's threads list them in any order
    return make_error(ErrorKind::failed,
                      "linking " + record.name +
                          ": no library of the link has these functions, which kernels on the CPU need: " +
                          join(missing, ", "),
                      "link it with -lm in the build, or build the image again with this version, which adds "
                      "libm to links with CUDA");
  }

  Result<void> make_output(const link::LinkRecord& record, const Output& output) {
    XAAS_CHECK(check_interrupt());
    const trace::Span span("link", record.name);
    link::ReplayOptions options;
    options.arch = inputs_.bundle.arch;
    options.finish = output.finish;
    options.threads = inputs_.jobs;
    const Reader reader = inputs_.forms.reader(output.record, record);
    if (reader.form != LinkForm::plain) {
      options.lto_level = reader.form == LinkForm::thin ? inputs_.forms.lto_level : record.lto_level;
      XAAS_TRY(options.lto_target, plain_attributes(output.record, reader));
      if (inputs_.profile)
        options.llvm_options = lower::profile_options(inputs_.cold_for_size);
      options.cpu_seconds += 60 * static_cast<double>(inputs_.forms.bitcode());
    }
    if (reader.form == LinkForm::thin) {
      options.lto_cache = inputs_.work / "thinlto";
      XAAS_CHECK(make_directories(options.lto_cache));
    }
    if (const auto uses = inputs_.plugins.links.find(output.record); uses != inputs_.plugins.links.end())
      options.plugins = uses->second;
    options.guard = record.kind == link::OutputKind::shared ? library_guard_ : program_guard_;
    Result<link::ReplayResult> linked = link::replay(record, provider(reader), options);
    if (!linked && inputs_.device.kernel_links.contains(output.record))
      if (std::vector<std::string> missing = link::undefined_symbols(linked.error().message);
          !missing.empty())
        return lacks_libraries(record, std::move(missing));
    if (!linked && reader.form == LinkForm::thin && linked.error().kind == ErrorKind::failed)
      return std::move(linked).error().with_hint("the link may succeed without --lto");
    XAAS_TRY(const link::ReplayResult result, std::move(linked));
    XAAS_CHECK(keep("l" + digest_of(output.key()).hex(), result.output));
    ++assembly_.links;
    return {};
  }

  // Of functions that plugins make.
  Result<ir::TargetAttributes> plain_attributes(const Digest& link, const Reader& reader) const {
    std::vector<ir::MachineFlags> flags;
    for (const Digest& unit : inputs_of_link(inputs_.bundle, link).units)
      if (inputs_.forms.of(unit, reader) != lower::Form::object)
        flags.push_back(inputs_.bundle.units.at(unit).machine);
    return ir::plain_attributes(flags, inputs_.target);
  }

  // The link with the objects that register its device code, and with the one that writes its counters.
  Result<link::LinkRecord> with_objects_of_ours(const Digest& digest) {
    link::LinkRecord record = inputs_.bundle.links.at(digest);
    std::erase_if(record.items, [&](const link::LinkItem& item) {
      return item.kind == link::LinkItem::Kind::input &&
             device::is_replaced(inputs_.device, digest, item.file);
    });
    std::vector<std::pair<std::string, std::string>> objects; // names and contents
    if (const auto found = device_.objects.find(digest); found != device_.objects.end())
      for (const std::string& object : found->second)
        objects.emplace_back("device.o", object);
    if (!objects.empty()) {
      // These find their entries through the symbols for the ends of a section. This option keeps them with
      // --gc-sections, although nothing refers to the section.
      link::LinkItem& keep = record.items.emplace_back();
      keep.kind = link::LinkItem::Kind::option;
      keep.option = "-z";
      keep.value = "nostart-stop-gc";
    }
    // LLVM keeps counters together with their functions, without that option.
    if (!profile_runtime_.empty() && record.kind != link::OutputKind::relocatable)
      objects.emplace_back("profile.o", profile_runtime_);
    for (const auto& [name, object] : objects) {
      link::LinkItem& item = record.items.emplace_back();
      item.file = {RefKind::kit, digest_of(object), name};
      XAAS_CHECK(inputs_.contents.keep(item.file.digest, object));
    }
    return record;
  }

  // Objects and archives of the build machine that may choose code at run time (libc.a).
  bool is_foreign_code(const link::FileRef& file) const {
    return (file.name.ends_with(".o") || file.name.ends_with(".a")) && !is_start_file(file);
  }

  bool is_start_file(const link::FileRef& file) const {
    if (has_start_files_)
      return inputs_.bundle.kit.at(file.digest).start;
    // The image was made before start files were recorded.
    for (const char* own : {"libgcc.a", "libgcc_eh.a", "libc_nonshared.a"})
      if (file.name == own)
        return true;
    return file.name.ends_with(".o") && file.name.find("crt") != std::string::npos;
  }

  // The origin of the code of a file, including everything that was linked into it.
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
      for (const lower::Form form : {lower::Form::object, lower::Form::thin_lto, lower::Form::lto})
        if (objects_.has({file.digest, form}))
          origin.own = objects_.own({file.digest, form});
      break;
    case RefKind::archive:
      for (const link::ArchiveRecord::Member& member : inputs_.bundle.archives.at(file.digest).members)
        add(member.file);
      break;
    case RefKind::link:
      for (const link::LinkItem& item : inputs_.bundle.links.at(file.digest).items)
        if (item.kind == link::LinkItem::Kind::input)
          add(item.file);
      break;
    case RefKind::kit:
      origin.native = inputs_.bundle.kit.at(file.digest).native || is_foreign_code(file);
      break;
    }
    return origin;
  }

  // The output of another link counts if it is linked in, not if it is loaded.
  const CodeOrigin& known_origin(const link::FileRef& part) {
    static const CodeOrigin nothing;
    if (part.kind == RefKind::link && inputs_.bundle.links.at(part.digest).kind == link::OutputKind::shared)
      return nothing;
    const auto found = origins_.find(part.digest);
    return found != origins_.end() ? found->second
                                   : origins_.emplace(part.digest, origin_of(part)).first->second;
  }

  Result<void> collect_installed() {
    for (const link::InstalledFile& file : inputs_.configuration.installed) {
      fs::path path;
      switch (file.kind) {
      case FileKind::directory:
      case FileKind::symlink:
        continue;
      case FileKind::file:
        path = inputs_.contents.path(file.digest);
        break;
      case FileKind::unit:
        path = objects_.path({file.digest, lower::Form::object});
        break;
      case FileKind::archive:
        path = archive_path(file.digest, {});
        break;
      case FileKind::link:
        path = inputs_.work / ("l" + digest_of(Output{file.digest, file.finish}.key()).hex());
        assembly_.origins[file.path] = origin_of({RefKind::link, file.digest, ""});
        break;
      }
      XAAS_TRY(assembly_.contents[file.path], read_file(path));
    }
    for (auto& [path, content] : device_.files)
      assembly_.contents[path] = std::move(content);
    return {};
  }

  const AssemblyInputs& inputs_;
  Objects objects_;
  device::DeviceCode device_;
  bool has_start_files_;                                                // whether the image records them
  std::map<Digest, std::vector<std::optional<link::Finish>>> finishes_; // of installed links, by record
  std::map<Digest, CodeOrigin> origins_;                                // of the records' outputs
  std::string program_guard_, library_guard_;                           // objects
  std::string profile_runtime_; // an object; empty: nothing is counted
  Assembly assembly_;
};

} // namespace

Result<Assembly> assemble(const AssemblyInputs& inputs, Lowered lowered) {
  return Assembler(inputs, std::move(lowered)).run();
}

} // namespace xaas::deploy
