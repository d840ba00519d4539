#include "bundle_maker.h"

#include <xaas/base/text.h>
#include <xaas/device/nvcc_object.h>
#include <xaas/frontdoor/start_files.h>
#include <xaas/loader/dynamic.h>

namespace xaas::build {

namespace {

using RefKind = link::FileRef::Kind;
using FileKind = link::InstalledFile::Kind;

Result<Json> stored_json(const store::ContentStore& content, const Digest& digest, const std::string& what) {
  XAAS_TRY(const std::string text, content.get(digest).in(what));
  return parse_json(text, what);
}

} // namespace

// The same content at several paths: the result does not depend on their order.
void BundleMaker::note_place(const Digest& file, const fs::path& path) {
  const auto place = places_.try_emplace(file, path).first;
  place->second = std::min(place->second, path);
}

Result<void> BundleMaker::reach_unit(const Digest& id, Reached& reached) {
  if (bundle_.units.count(id))
    return {};
  XAAS_TRY(const Json json, stored_json(content_, id, "unit"));
  XAAS_TRY(ir::Unit unit, ir::parse_unit(JsonReader(json, "unit")));
  XAAS_TRY(const Json options_json, stored_json(content_, unit.options, "options"));
  XAAS_TRY(bundle_.options[unit.options], ir::parse_unit_options(JsonReader(options_json, "options")));
  std::error_code code;
  const uint64_t bytes = fs::file_size(content_.path_of(unit.module), code);
  if (code)
    return errno_error(code.value(), "reading " + content_.path_of(unit.module).string());
  bundle_.modules[unit.module] = bytes;
  for (const Digest& library : unit.libraries) {
    const auto origin = origins_.find(library);
    const std::string name = origin == origins_.end() ? "library" : origin->second.path.filename().string();
    XAAS_CHECK(reach_kit({RefKind::kit, library, name}, reached));
  }
  if (unit.profile)
    XAAS_CHECK(reach_kit({RefKind::kit, *unit.profile, "profile"}, reached));
  for (const auto& [arch, device] : unit.device)
    XAAS_CHECK(reach_unit(device, reached));
  bundle_.units.emplace(id, std::move(unit));
  return {};
}

Result<void> BundleMaker::reach_archive(const Digest& digest, Reached& reached) {
  if (!reached.seen.insert(digest).second)
    return {};
  XAAS_TRY(const Json json, stored_json(content_, digest, "archive record"));
  XAAS_TRY(const link::ArchiveRecord record, link::parse_archive_record(JsonReader(json, "archive record")));
  for (const link::ArchiveRecord::Member& member : record.members)
    XAAS_CHECK(reach(member.file, reached));
  bundle_.archives.emplace(digest, record);
  return {};
}

Result<void> BundleMaker::reach_link(const Digest& digest, Reached& reached) {
  if (!reached.seen.insert(digest).second)
    return {};
  XAAS_TRY(const Json json, stored_json(content_, digest, "link record"));
  XAAS_TRY(const link::LinkRecord record, link::parse_link_record(JsonReader(json, "link record")));
  for (const link::LinkItem& item : record.items)
    if (item.kind != link::LinkItem::Kind::option)
      XAAS_CHECK(reach(item.file, reached));
  reached.links.insert(digest);
  bundle_.links.emplace(digest, record);
  return {};
}

Result<void> BundleMaker::reach_kit(const link::FileRef& file, Reached& reached) {
  XAAS_TRY(const std::string content, content_.get(file.digest));
  if (loader::is_elf_for(content, bundle_.arch)) {
    XAAS_TRY(loader::Dynamic dynamic, loader::read_dynamic(content).in(file.name));
    if (dynamic.shared && (!dynamic.soname.empty() || !dynamic.needed.empty()))
      reached.libraries.emplace(file.digest, std::move(dynamic));
  }
  image::KitFile kit;
  kit.name = file.name;
  kit.size = content.size();
  const auto origin = origins_.find(file.digest);
  if (origin != origins_.end() && !origin->second.of_build)
    note_place(file.digest, origin->second.path);
  if (origin != origins_.end() && origin->second.of_build) {
    // Scripts and lists that a link reads belong to the build, too, and no IR is missing for them.
    kit.native = link::is_elf(content) || link::is_archive(content);
    kit.reason = origin->second.reason.empty()
                     ? "not compiled by the compiler front door (assembly, another compiler, prebuilt)"
                     : origin->second.reason;
    if (kit.native)
      kit.kernels = device::nvcc_kernels(content);
  }
  kit.start = start_files_.contains(file.digest) && !reached.libraries.contains(file.digest);
  const auto [known, added] = bundle_.kit.emplace(file.digest, kit);
  if (!added)
    known->second = image::joined(known->second, kit);
  return {};
}

Result<void> BundleMaker::reach(const link::FileRef& file, Reached& reached) {
  switch (file.kind) {
  case RefKind::unit:
    return reach_unit(file.digest, reached);
  case RefKind::archive:
    return reach_archive(file.digest, reached);
  case RefKind::link:
    return reach_link(file.digest, reached);
  case RefKind::kit:
    return reach_kit(file, reached);
  }
  return {};
}

// The output of a link, as the loader will see it.
Linked BundleMaker::linked_by(const link::LinkRecord& record, const Reached& reached) const {
  Linked linked{record.name, {}, {}};
  const auto soname_of = [](const link::LinkRecord& of) {
    std::string soname;
    for (const link::LinkItem& item : of.items)
      if (item.option == "--soname" || item.option == "-soname")
        soname = item.value;
    return soname;
  };
  linked.dynamic.soname = soname_of(record);
  for (const link::LinkItem& item : record.items) {
    if (item.option == "--dynamic-linker" || item.option == "-dynamic-linker")
      linked.dynamic.interpreter = item.value;
    if (item.kind != link::LinkItem::Kind::input)
      continue;
    std::string soname;
    if (const auto library = reached.libraries.find(item.file.digest);
        item.file.kind == RefKind::kit && library != reached.libraries.end())
      soname = library->second.soname;
    else if (item.file.kind == RefKind::link &&
             bundle_.links.at(item.file.digest).kind == link::OutputKind::shared)
      soname = soname_of(bundle_.links.at(item.file.digest));
    else
      continue;
    const std::string name = soname.empty() ? item.file.name : soname;
    linked.dynamic.needed.push_back(name);
    if (const auto origin = origins_.find(item.file.digest);
        item.file.kind == RefKind::kit && origin != origins_.end())
      linked.libraries.emplace(name, origin->second.path);
  }
  return linked;
}

// The outputs of links, as they are installed, or as they are linked if other links only read them.
void BundleMaker::add_linked(const image::BundleConfiguration& configuration, const Reached& reached,
                             ClosureInput& input) const {
  std::set<Digest> installed;
  for (const link::InstalledFile& file : configuration.installed) {
    if (file.kind != FileKind::link || bundle_.links.at(file.digest).kind == link::OutputKind::relocatable)
      continue;
    Linked linked = linked_by(bundle_.links.at(file.digest), reached);
    linked.path = "/" + file.path;
    if (file.finish && file.finish->runpath) {
      linked.dynamic.runpath = split(*file.finish->runpath, ':');
      linked.dynamic.rpath_is_first = file.finish->tag == link::Finish::Tag::rpath;
    }
    installed.insert(file.digest);
    input.linked.push_back(std::move(linked));
  }
  for (const Digest& digest : reached.links)
    if (const link::LinkRecord& record = bundle_.links.at(digest);
        !installed.contains(digest) && record.kind != link::OutputKind::relocatable)
      input.linked.push_back(linked_by(record, reached));
}

// Installed files with native code. Code for another machine counts as data.
Result<void> BundleMaker::add_native(const image::BundleConfiguration& configuration,
                                     ClosureInput& input) const {
  for (const link::InstalledFile& file : configuration.installed) {
    input.installed.insert(fs::path(file.path).filename().string());
    if (file.kind != FileKind::file || !file.native)
      continue;
    XAAS_TRY(const std::string content, content_.get(file.digest));
    if (!loader::is_elf_for(content, bundle_.arch))
      continue;
    XAAS_TRY(loader::Dynamic dynamic, loader::read_dynamic(content).in("/" + file.path));
    input.linked.push_back({"/" + file.path, std::move(dynamic), {}});
  }
  return {};
}

// Adds the symbols, versions and libraries that the build's own outputs need. Deploying makes the same files
// with other machine code. The record of a link does not name libraries that a linker script led to, such as
// the C library.
Result<void> BundleMaker::add_needs(const std::map<std::string, std::string>& built,
                                    ClosureInput& input) const {
  for (Linked& linked : input.linked) {
    const auto file = built.find(linked.path);
    if (file == built.end())
      continue; // it is not installed
    XAAS_TRY(const std::string content, read_file(file->second));
    if (!loader::is_elf_for(content, bundle_.arch))
      continue;
    XAAS_TRY(loader::Dynamic dynamic, loader::read_dynamic(content).in(linked.path));
    XAAS_TRY(loader::Symbols symbols, loader::read_symbols(content).in(linked.path));
    for (std::string& name : dynamic.needed)
      if (std::find(linked.dynamic.needed.begin(), linked.dynamic.needed.end(), name) ==
          linked.dynamic.needed.end())
        linked.dynamic.needed.push_back(std::move(name));
    linked.dynamic.needed_versions = std::move(dynamic.needed_versions);
    linked.symbols = std::move(symbols.needed);
  }
  return {};
}

// The image must bring the libraries that the spec says it brings, because choosing a configuration relies on
// it.
Result<void> BundleMaker::check_claims(const image::BundleConfiguration& configuration) const {
  for (const spec::SpecializationPoint& point : bundle_.points) {
    const std::string* chosen = configuration.configuration.find(point.name);
    const spec::Value* value = chosen ? point.find(*chosen) : nullptr;
    if (!value)
      continue;
    for (const spec::Requirement::Library& library : value->requires_.libraries) {
      if (library.from != spec::Requirement::From::image)
        continue;
      XAAS_TRY(const auto file, image::library_file(bundle_, configuration, library.name));
      if (!file)
        return make_error(ErrorKind::failed,
                          "configuration " + configuration.configuration.id() + ": " + point.name + "=" +
                              value->value + " says that the image brings the library " + library.name +
                              ", but nothing that was built needs lib" + library.name + ".so or has lib" +
                              library.name + ".a",
                          "is it built with it? Else leave it out of `requires`");
    }
  }
  return {};
}

Result<void> BundleMaker::add(const session::Session& session, image::BundleConfiguration configuration,
                              const fs::path& destination, const std::vector<std::string>& runtime_extras) {
  XAAS_TRY(origins_, harvest::kit_origins(session));
  if (start_files_.empty()) { // the same for every configuration
    XAAS_TRY(start_files_, frontdoor::start_files(session));
  }
  Reached reached;
  for (const link::InstalledFile& file : configuration.installed) {
    const std::string name = fs::path(file.path).filename().string();
    if (file.kind == FileKind::unit)
      XAAS_CHECK(reach({RefKind::unit, file.digest, name}, reached));
    else if (file.kind == FileKind::archive)
      XAAS_CHECK(reach({RefKind::archive, file.digest, name}, reached));
    else if (file.kind == FileKind::link)
      XAAS_CHECK(reach({RefKind::link, file.digest, name}, reached));
    else if (file.device)
      for (const auto& [arch, unit] : file.device->units)
        XAAS_CHECK(reach_unit(unit, reached));
  }
  std::map<std::string, std::string> built; // by path in the image
  if (base_) {
    XAAS_TRY(const auto paths, base_->place_files(configuration.installed));
    for (const auto& [path, placed] : paths)
      built.emplace("/" + placed, destination / path);
  }
  ClosureInput input;
  input.arch = bundle_.arch;
  input.base = base_;
  input.sysroot = sysroot_;
  input.library_path = library_path_;
  input.extras = runtime_extras;
  add_linked(configuration, reached, input);
  XAAS_CHECK(add_native(configuration, input));
  if (base_)
    XAAS_CHECK(add_needs(built, input));
  XAAS_TRY(Closure closure, gather_closure(input, content_));
  configuration.runtime = std::move(closure.files);
  configuration.base_libraries = std::move(closure.base_libraries);
  for (const auto& [file, path] : closure.places)
    note_place(file, path);
  loaders_.insert(closure.loaders.begin(), closure.loaders.end());
  XAAS_CHECK(check_claims(configuration));
  bundle_.configurations.push_back(std::move(configuration));
  return {};
}

} // namespace xaas::build
