#include "link.h"
#include "other_levels.h"
#include "plugins.h"
#include "working_object.h"

#include <xaas/base/utf8.h>
#include <xaas/harvest/identify.h>
#include <xaas/link/command_line.h>
#include <xaas/link/replay.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

namespace xaas::frontdoor {

namespace {

// One link: its record, and the paths of its inputs on this machine.
struct RecordedLink {
  link::LinkRecord record;   // what this link does here
  link::LinkRecord portable; // what is written down: without the RPATH, which names the build's own
                             // directories (what an installed file has is read from that file), and with
                             // libraries for kernels on the CPU
  std::map<link::FileRef, fs::path> files;
};

Result<link::ArchiveRecord> archive_record(const session::Session& session, const Digest& digest) {
  XAAS_TRY(const std::string text, session.content().get(digest));
  XAAS_TRY(const Json json, parse_json(text, "archive"));
  return link::parse_archive_record(JsonReader(json, "archive"));
}

// Makes a regular archive with the members of a thin one. lld reads the members of a thin archive from beside
// it, but the replay of a record sees only the files that it is given.
Result<fs::path> regular_archive(const session::Session& session, const fs::path& thin, const Digest& digest,
                                 const fs::path& directory) {
  XAAS_TRY(const link::ArchiveRecord record, archive_record(session, digest));
  XAAS_TRY(const std::vector<link::ArchiveMember> members, link::read_archive(thin));
  std::map<link::FileRef, fs::path> files;
  for (size_t i = 0; i < members.size() && i < record.members.size(); ++i) {
    const fs::path file = directory / (digest.hex() + "." + std::to_string(i));
    XAAS_CHECK(write_file(file, members[i].content, 0644, false));
    files[record.members[i].file] = file;
  }
  const link::FileProvider provide = [&](const link::FileRef& file) -> Result<fs::path> {
    return files.at(file);
  };
  XAAS_TRY(const std::string archive, link::write_archive(record, provide));
  const fs::path path = directory / digest.hex();
  XAAS_CHECK(write_file(path, archive, 0644, false));
  return path;
}

Result<bool> is_thin_archive(const fs::path& path) {
  XAAS_TRY(const std::string content, read_file(path));
  return content.starts_with("!<thin>");
}

// If one command compiles and links, Clang's driver names the intermediate object <source>-<six hex
// digits>.o, in the directory for temporary files. Without the digits, the name is the same in every build.
std::string stable_name(const fs::path& path, const std::string& name) {
  constexpr size_t tail = 9; // "-579fce.o"
  const bool temporary = !relative_under(path, temporary_root()).empty() && name.size() > tail &&
                         name.ends_with(".o") && name[name.size() - tail] == '-';
  return temporary ? name.substr(0, name.size() - tail) + ".o" : name;
}

// `directory` holds files that the link reads instead of the build's.
Result<RecordedLink> record_link(const session::Session& session, const link::ParsedLink& parsed,
                                 const fs::path& directory) {
  RecordedLink result;
  result.record.kind = parsed.kind;
  result.record.name = as_utf8(parsed.output.filename().string());
  for (const link::ParsedItem& parsed_item : parsed.items) {
    link::LinkItem item;
    item.kind = parsed_item.kind;
    item.option = parsed_item.option;
    item.value = parsed_item.value;
    if (item.kind != link::LinkItem::Kind::option) {
      const std::string name = stable_name(parsed_item.file, parsed_item.name);
      XAAS_TRY(item.file, harvest::identify(session, parsed_item.file, name));
      fs::path& file = result.files[item.file] = parsed_item.file;
      if (item.file.kind == link::FileRef::Kind::archive) {
        XAAS_TRY(const bool thin, is_thin_archive(file));
        if (thin) {
          XAAS_TRY(file, regular_archive(session, file, item.file.digest, directory));
        }
      }
    }
    if (item.option != "--rpath")
      result.portable.items.push_back(item);
    result.record.items.push_back(std::move(item));
  }
  result.portable.kind = result.record.kind;
  result.portable.name = result.record.name;
  return result;
}

// A link with CUDA's run-time library may be repeated with kernels that run on the CPU (deploy --gpu cpu).
// These need libraries that the program's own link may not read, if a C compiler links it: expf() comes from
// CUDA's libdevice for a GPU and from libm for a CPU, and the threads of the run-time library from libpthread
// before glibc 2.34. The record gets them as needed, so that without kernels nothing changes; the link of the
// build itself does not read them. Libraries that the machine lacks are left out.
constexpr const char* kernel_libraries[] = {"m", "pthread"};

bool may_need_kernel_libraries(const link::ParsedLink& parsed) {
  return parsed.kind != link::OutputKind::relocatable &&
         std::any_of(parsed.items.begin(), parsed.items.end(), [](const link::ParsedItem& item) {
           return item.kind == link::LinkItem::Kind::input && link::is_cuda_runtime(item.name);
         });
}

// libm.so.6, libm.a, libm-2.36.a
bool reads_library(const link::ParsedLink& parsed, const std::string& library) {
  const std::string name = "lib" + library;
  return std::any_of(parsed.items.begin(), parsed.items.end(), [&](const link::ParsedItem& item) {
    return item.kind == link::LinkItem::Kind::input && item.name.starts_with(name) &&
           (item.name[name.size()] == '.' || item.name[name.size()] == '-');
  });
}

Result<void> add_kernel_libraries(const session::Session& session, const std::vector<std::string>& arguments,
                                  const link::ParsedLink& parsed, link::LinkRecord& record) {
  if (!may_need_kernel_libraries(parsed))
    return {};
  for (const std::string library : kernel_libraries) {
    if (reads_library(parsed, library))
      continue;
    // After the command's own arguments, so that the library is searched as those would search it.
    std::vector<std::string> with = arguments;
    with.insert(with.end(), {"--push-state", "--as-needed", "-l" + library, "--pop-state"});
    const Result<link::ParsedLink> more = link::parse_command_line(with, fs::current_path());
    if (!more)
      continue;
    for (size_t i = parsed.items.size(); i < more->items.size(); ++i) {
      const link::ParsedItem& item = more->items[i];
      link::LinkItem& added = record.items.emplace_back();
      added.kind = item.kind;
      added.option = item.option;
      added.value = item.value;
      if (item.kind != link::LinkItem::Kind::option) {
        XAAS_TRY(added.file, harvest::identify(session, item.file, item.name));
      }
    }
  }
  return {};
}

// Adds a unit, or those of an archive.
Result<void> add_units(const session::Session& session, const link::FileRef& file, std::set<Digest>& units) {
  if (file.kind == link::FileRef::Kind::unit)
    units.insert(file.digest);
  if (file.kind != link::FileRef::Kind::archive)
    return {};
  XAAS_TRY(const link::ArchiveRecord record, archive_record(session, file.digest));
  for (const link::ArchiveRecord::Member& member : record.members)
    XAAS_CHECK(add_units(session, member.file, units));
  return {};
}

Result<std::set<Digest>> units_of(const session::Session& session, const link::LinkRecord& record) {
  std::set<Digest> units;
  for (const link::LinkItem& item : record.items)
    if (item.kind == link::LinkItem::Kind::input)
      XAAS_CHECK(add_units(session, item.file, units));
  return units;
}

// Repeats a link with all units, including those in archives, lowered again: at their own -O, because -O0
// leaves references that this removes, or as bitcode, on which the link's pass plugins run.
class RepeatedLink {
public:
  RepeatedLink(const session::Session& session, fs::path directory)
      : session_(session), directory_(std::move(directory)) {}

  // `files` has the paths of inputs without IR; others come from the store.
  Result<link::ReplayResult> replay(const link::LinkRecord& record,
                                    const std::map<link::FileRef, fs::path>& files,
                                    link::ReplayOptions options) {
    const bool merges = !record.plugins.empty();
    form_ = merges ? lower::Form::lto : lower::Form::object;
    if (merges) {
      XAAS_TRY(options.plugins, remembered_plugins(session_, record.plugins));
      options.lto_level = record.lto_level;
      XAAS_TRY(options.lto_target, plain_attributes(record));
      objects_ = record.objects;
    }
    const link::FileProvider provide = [&](const link::FileRef& file) -> Result<fs::path> {
      const auto original = files.find(file);
      const bool stays = file.kind == link::FileRef::Kind::kit ||
                         (merges && file.kind == link::FileRef::Kind::link); // it has no IR
      return stays && original != files.end() ? original->second : this->file(file);
    };
    return link::replay(record, provide, options);
  }

private:
  // Of functions that plugins make.
  Result<ir::TargetAttributes> plain_attributes(const link::LinkRecord& record) const {
    XAAS_TRY(const std::set<Digest> units, units_of(session_, record));
    std::vector<ir::MachineFlags> flags;
    for (const Digest& id : units)
      if (!record.objects.contains(id)) {
        XAAS_TRY(ir::Unit unit, stored_unit(session_, id));
        flags.push_back(std::move(unit.machine));
      }
    XAAS_TRY(const target::Cpu cpu, target::cpu_by_name(session_.arch, working_level(session_)));
    return ir::plain_attributes(flags, cpu);
  }

  Result<fs::path> file(const link::FileRef& file) {
    if (file.kind == link::FileRef::Kind::kit)
      return session_.content().path_of(file.digest);
    if (const auto found = made_.find(file); found != made_.end())
      return found->second;
    XAAS_TRY(const std::string content, make(file));
    const fs::path path = directory_ / ("repeated." + std::to_string(made_.size()));
    XAAS_CHECK(write_file(path, content, 0644, false));
    made_[file] = path;
    return path;
  }

  Result<std::string> make(const link::FileRef& file) {
    if (file.kind == link::FileRef::Kind::unit)
      return form_ == lower::Form::lto && !objects_.contains(file.digest)
                 ? merged_part(file.digest)
                 : working_object(session_, file.digest, lower::Form::object);
    if (file.kind == link::FileRef::Kind::archive) {
      XAAS_TRY(const link::ArchiveRecord record, archive_record(session_, file.digest));
      const link::FileProvider member = [this](const link::FileRef& each) { return this->file(each); };
      return form_ == lower::Form::lto ? link::write_lto_archive(record, member)
                                       : link::write_archive(record, member);
    }
    XAAS_TRY(const std::string text, session_.content().get(file.digest));
    XAAS_TRY(const Json json, parse_json(text, "link"));
    XAAS_TRY(const link::LinkRecord record, link::parse_link_record(JsonReader(json, "link")));
    const fs::path directory = directory_ / ("link." + std::to_string(made_.size()));
    XAAS_CHECK(make_directories(directory));
    link::ReplayOptions options;
    options.arch = session_.arch;
    options.note = file.digest;
    XAAS_TRY(link::ReplayResult result, RepeatedLink(session_, directory).replay(record, {}, options));
    return std::move(result.output);
  }

  // Several links read the members of an archive.
  Result<std::string> merged_part(const Digest& unit) const {
    const fs::path path = session_.directory / "merged" / unit.hex();
    if (std::error_code code; fs::exists(path, code))
      return read_file(path);
    XAAS_TRY(std::string bitcode, working_object(session_, unit, lower::Form::lto));
    if (link::is_elf(bitcode)) {
      XAAS_TRY(const ir::Unit of, stored_unit(session_, unit));
      std::cerr << "warning: " << of.source
                << " is not merged: inline assembly with more than instructions\n";
    }
    XAAS_CHECK(write_file(path, bitcode, 0644, false));
    return bitcode;
  }

  const session::Session& session_;
  fs::path directory_;
  lower::Form form_ = lower::Form::object;
  std::set<Digest> objects_; // that are not merged
  std::map<link::FileRef, fs::path> made_;
};

Error refuse_unit(const session::Session& session, const Digest& id, const std::string& how,
                  const std::string& hint) {
  const Result<ir::Unit> unit = stored_unit(session, id);
  if (!unit)
    return unit.error();
  return make_error(ErrorKind::failed, "linker option --load-pass-plugin: " + unit->source + how, hint);
}

// Not in an archive, from which the link may not take it.
bool is_input(const link::LinkRecord& record, const Digest& unit) {
  return std::any_of(record.items.begin(), record.items.end(), [&](const link::LinkItem& item) {
    return item.kind == link::LinkItem::Kind::input && item.file.digest == unit;
  });
}

// The units of a link on which its plugins do not run.
Result<std::set<Digest>> units_without_lto(const session::Session& session, const link::LinkRecord& record) {
  XAAS_TRY(const std::set<Digest> units, units_of(session, record));
  std::set<Digest> objects;
  for (const Digest& unit : units) {
    const std::set<std::string> lto = lto_of(session, unit);
    if (lto.contains("") && lto.contains("full"))
      return refuse_unit(session, unit, " was compiled both with and without -flto",
                         "xaas cannot tell the two objects apart; compile the source in one way");
    if (lto.contains("thin") && is_input(record, unit))
      return refuse_unit(session, unit, " was compiled with -flto=thin",
                         "with -flto, the units of the link become one module, on which the plugin runs");
    if (!lto.contains("full"))
      objects.insert(unit);
  }
  return objects;
}

// Opens the plugins that a link names, each with the options that it adds.
Result<std::vector<lower::PluginUse>> plugins_of(const session::Session& session,
                                                 const link::ParsedLink& parsed) {
  XAAS_TRY(std::vector<lower::PluginUse> plugins, open_plugins(parsed.plugins));
  std::vector<std::string> options = parsed.llvm_options;
  take_options(options, plugins);
  if (!options.empty())
    return make_error(ErrorKind::failed,
                      "linker option -mllvm " + options.front() + ": no pass plugin of the link adds it");
  XAAS_CHECK(remember_plugins(session, plugins));
  return plugins;
}

// True if a link failed only because symbols have no definition, in an object or in a library that was linked
// before.
bool lacks_definitions(const std::string& messages) {
  return !link::undefined_symbols(messages).empty() ||
         messages.find("error: undefined reference: ") != std::string::npos;
}

bool has_code_of_ours(const RecordedLink& recorded) {
  return std::any_of(recorded.files.begin(), recorded.files.end(),
                     [](const auto& entry) { return entry.first.kind != link::FileRef::Kind::kit; });
}

Result<std::string> link_once(const session::Session& session, const std::vector<std::string>& arguments,
                              const link::ParsedLink& parsed) {
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  XAAS_TRY(RecordedLink recorded, record_link(session, parsed, directory.path()));
  XAAS_TRY(const std::vector<lower::PluginUse> plugins, plugins_of(session, parsed));
  if (!plugins.empty()) {
    recorded.record.plugins = asked_plugins(plugins);
    recorded.record.lto_level = parsed.lto_level;
    XAAS_TRY(recorded.record.objects, units_without_lto(session, recorded.record));
    recorded.portable.plugins = recorded.record.plugins;
    recorded.portable.lto_level = recorded.record.lto_level;
    recorded.portable.objects = recorded.record.objects;
    XAAS_CHECK(differs_at_levels(session, recorded.record.name, "a pass plugin runs in its link"));
  }
  XAAS_CHECK(add_kernel_libraries(session, arguments, parsed, recorded.portable));
  XAAS_TRY(const std::string text,
           json_text(link::to_json(recorded.portable), "the link's options and files"));
  XAAS_TRY(const Digest digest, session.content().put(text));
  link::ReplayOptions options;
  options.arch = session.arch;
  options.note = digest;
  const link::FileProvider on_disk = [&](const link::FileRef& file) -> Result<fs::path> {
    return recorded.files.at(file);
  };
  RepeatedLink repeated(session, directory.path());
  Result<link::ReplayResult> result = plugins.empty()
                                          ? link::replay(recorded.record, on_disk, options)
                                          : repeated.replay(recorded.record, recorded.files, options);
  if (!result && plugins.empty() && lacks_definitions(result.error().message) && has_code_of_ours(recorded))
    if (Result<link::ReplayResult> again = repeated.replay(recorded.record, recorded.files, options))
      result = std::move(again);
  if (!result)
    return std::move(result).error();
  std::cerr << result->messages;
  XAAS_TRY(const Digest content, link::content_digest(result->output));
  XAAS_CHECK(harvest::remember_output(session, content, link::Note::Kind::link, digest));
  return std::move(result->output);
}

Result<void> link_to_file(const session::Session& session, const std::vector<std::string>& arguments) {
  XAAS_TRY(const link::ParsedLink parsed, link::parse_command_line(arguments, fs::current_path()));
  XAAS_TRY(const std::string output, link_once(session, arguments, parsed));
  const bool program = parsed.kind != link::OutputKind::relocatable;
  for (const fs::path& map : parsed.maps)
    XAAS_CHECK(write_output(map, "", 0644));
  return write_output(parsed.output, output, program ? 0755 : 0644);
}

// Answers questions by which build systems learn a linker's options: Meson `cc -Wl,--version`, libtool `ld
// -v` and `ld --help`.
bool answer_question(const std::vector<std::string>& arguments) {
  auto asks = [&](const char* option) {
    return std::find(arguments.begin(), arguments.end(), option) != arguments.end();
  };
  const bool alone =
      std::all_of(arguments.begin(), arguments.end(), [](const auto& each) { return each.starts_with("-"); });
  if (asks("--version") || (alone && (asks("-v") || asks("-V")))) {
    std::cout << "LLD " XAAS_LLVM_VERSION " (compatible with GNU linkers)\n";
    return true;
  }
  if (asks("--help")) {
    std::cout << "USAGE: ld [options] file...\nld: supported targets: elf\n";
    return true;
  }
  return false;
}

} // namespace

int capture_link(const session::Session& session, const std::vector<std::string>& arguments) {
  if (answer_question(arguments))
    return 0;
  const Result<void> linked = link_to_file(session, arguments);
  if (linked)
    return 0;
  // Printed in the form of a linker's messages, by which users and tools find the first error in a log.
  if (linked.error().message.find("error: ") == std::string::npos)
    std::cerr << "ld: error: ";
  std::cerr << linked.error().message;
  if (!linked.error().message.ends_with("\n"))
    std::cerr << "\n";
  if (!linked.error().hint.empty())
    std::cerr << "hint: " << linked.error().hint << "\n";
  return 1;
}

} // namespace xaas::frontdoor
