#include "link.h"
#include "compile.h"
#include "identify.h"
#include "output.h"

#include <xaas/link/command_line.h>
#include <xaas/link/replay.h>

#include <iostream>
#include <map>
#include <set>

namespace xaas::capture {

namespace {

// One link: its record, and where each of its inputs lies on this machine.
struct RecordedLink {
  link::LinkRecord record;   // what this link does here
  link::LinkRecord portable; // what is written down: without the RPATH, which names the build's own
                             // directories. What an installed file has is read from that file.
  std::map<link::FileRef, fs::path> files;
};

// lld reads the members of a thin archive from beside it, the replay of a record reads what it is given: a
// regular archive with the same members.
Result<fs::path> regular_archive(const Session& session, const fs::path& thin, const Digest& digest,
                                 const fs::path& directory) {
  XAAS_TRY(const std::string text, session.content().get(digest));
  XAAS_TRY(const Json json, parse_json(text, "archive"));
  XAAS_TRY(const link::ArchiveRecord record, link::parse_archive_record(JsonReader(json, "archive")));
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

// `directory` is for files that the link reads in place of the build's.
Result<RecordedLink> record_link(const Session& session, const link::ParsedLink& parsed,
                                 const fs::path& directory) {
  RecordedLink result;
  result.record.kind = parsed.kind;
  result.record.name = parsed.output.filename().string();
  for (const link::ParsedItem& parsed_item : parsed.items) {
    link::LinkItem item;
    item.kind = parsed_item.kind;
    item.option = parsed_item.option;
    item.value = parsed_item.value;
    if (item.kind != link::LinkItem::Kind::option) {
      XAAS_TRY(item.file, identify(session, parsed_item.file, parsed_item.name));
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

void collect_units(const Session& session, const link::FileRef& file, std::set<Digest>& units) {
  if (file.kind == link::FileRef::Kind::unit)
    units.insert(file.digest);
  if (file.kind != link::FileRef::Kind::archive)
    return;
  const Result<std::string> text = session.content().get(file.digest);
  const Result<Json> json = text ? parse_json(*text, "archive") : Result<Json>(text.error());
  if (!json)
    return;
  if (const Result<link::ArchiveRecord> record = link::parse_archive_record(JsonReader(*json, "archive")))
    for (const link::ArchiveRecord::Member& member : record->members)
      collect_units(session, member.file, units);
}

// -O0 leaves references that the project's own -O removes. Links again with the units at their own -O.
Result<link::ReplayResult> replay_optimised(const Session& session, const RecordedLink& recorded,
                                            const link::ReplayOptions& options) {
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  std::map<link::FileRef, fs::path> files;
  std::function<Result<fs::path>(const link::FileRef&)> provide =
      [&](const link::FileRef& file) -> Result<fs::path> {
    if (const auto found = files.find(file); found != files.end())
      return found->second;
    const fs::path path = directory.path() / std::to_string(files.size());
    if (file.kind == link::FileRef::Kind::unit) {
      XAAS_TRY(const std::string object, working_object(session, file.digest, true));
      XAAS_CHECK(write_file(path, object, 0644, false));
    } else if (file.kind == link::FileRef::Kind::archive) {
      XAAS_TRY(const std::string text, session.content().get(file.digest));
      XAAS_TRY(const Json json, parse_json(text, "archive"));
      XAAS_TRY(const link::ArchiveRecord record, link::parse_archive_record(JsonReader(json, "archive")));
      XAAS_TRY(const std::string archive, link::write_archive(record, provide));
      XAAS_CHECK(write_file(path, archive, 0644, false));
    } else if (const auto original = recorded.files.find(file); original != recorded.files.end()) {
      return original->second;
    } else {
      return session.content().path_of(file.digest);
    }
    files[file] = path;
    return path;
  };
  return link::replay(recorded.record, provide, options);
}

Result<std::string> link_once(const Session& session, const link::ParsedLink& parsed) {
  XAAS_TRY(const TemporaryDirectory directory, TemporaryDirectory::create());
  XAAS_TRY(const RecordedLink recorded, record_link(session, parsed, directory.path()));
  XAAS_TRY(const Digest digest, session.content().put(link::to_json(recorded.portable).dump()));
  link::ReplayOptions options;
  options.arch = session.arch;
  options.note = digest;
  const link::FileProvider on_disk = [&](const link::FileRef& file) -> Result<fs::path> {
    return recorded.files.at(file);
  };
  Result<link::ReplayResult> result = link::replay(recorded.record, on_disk, options);
  if (!result && !link::undefined_symbols(result.error().message).empty()) {
    std::set<Digest> units;
    for (const auto& [file, path] : recorded.files)
      collect_units(session, file, units);
    if (!units.empty())
      if (Result<link::ReplayResult> again = replay_optimised(session, recorded, options))
        result = std::move(again);
  }
  if (!result)
    return std::move(result).error();
  std::cerr << result->messages;
  XAAS_TRY(const Digest content, link::content_digest(result->output));
  XAAS_CHECK(remember_output(session, content, link::Note::Kind::link, digest));
  return std::move(result->output);
}

Result<void> link_to_file(const Session& session, const std::vector<std::string>& arguments) {
  XAAS_TRY(const link::ParsedLink parsed, link::parse_command_line(arguments, fs::current_path()));
  XAAS_TRY(const std::string output, link_once(session, parsed));
  const bool program = parsed.kind != link::OutputKind::relocatable;
  for (const fs::path& map : parsed.maps)
    XAAS_CHECK(write_output(map, "", 0644));
  return write_output(parsed.output, output, program ? 0755 : 0644);
}

} // namespace

int capture_link(const Session& session, const std::vector<std::string>& arguments) {
  const Result<void> linked = link_to_file(session, arguments);
  if (linked)
    return 0;
  std::cerr << linked.error().message;
  if (!linked.error().message.ends_with("\n"))
    std::cerr << "\n";
  if (!linked.error().hint.empty())
    std::cerr << "hint: " << linked.error().hint << "\n";
  return 1;
}

int run_linker(const Session& session, const std::vector<std::string>& arguments) {
  bool inputs = false;
  bool version = false;
  for (const std::string& argument : arguments) {
    version |= argument == "--version" || argument == "-v" || argument == "-V" || argument == "--help";
    inputs |= !argument.starts_with("-");
  }
  if (version && !inputs) {
    // libtool and CMake look for "GNU" to know which options the linker takes; lld says the same of itself.
    std::cout << "LLD " XAAS_LLVM_VERSION " (compatible with GNU linkers)\n";
    return 0;
  }
  return capture_link(session, arguments);
}

} // namespace xaas::capture
