#include <xaas/image/bundle.h>
#include <xaas/target/gpu.h>

namespace xaas::image {

namespace {

using RefKind = link::FileRef::Kind;
using FileKind = link::InstalledFile::Kind;

class Walk {
public:
  explicit Walk(const Bundle& bundle) : bundle_(bundle) {}

  Result<void> installed(const link::InstalledFile& file) {
    switch (file.kind) {
    case FileKind::directory:
    case FileKind::symlink:
      return {};
    case FileKind::file:
      usage.tree.insert(file.digest);
      usage.native_objects += file.native;
      if (file.device)
        for (const auto& [arch, unit] : file.device->units)
          XAAS_CHECK(device_unit(unit, arch));
      return {};
    case FileKind::unit:
      return unit(file.digest);
    case FileKind::archive:
      return archive(file.digest);
    case FileKind::link:
      usage.programs += 1;
      return link(file.digest);
    }
    return {};
  }

  Usage usage;

private:
  static Error missing(const std::string& what, const Digest& digest) {
    return make_error(ErrorKind::integrity,
                      "bundle: " + what + " " + digest.to_string() + " is used but does not exist");
  }

  static Error wrong(const Digest& unit, const std::string& why) {
    return make_error(ErrorKind::integrity, "bundle: unit " + unit.to_string() + " " + why);
  }

  Result<void> unit(const Digest& id) {
    XAAS_TRY(const ir::Unit* const unit, named(id));
    usage.units.insert(id);
    if (!unit->libraries.empty())
      return wrong(id, "is for the host but has device libraries");
    if (const std::string arch = machine_of(*unit); !arch.empty() && arch != bundle_.arch)
      return wrong(id, "is for " + arch + ", and the image for " + bundle_.arch);
    for (const auto& [arch, device] : unit->device)
      XAAS_CHECK(device_unit(device, arch));
    return {};
  }

  Result<void> device_unit(const Digest& id, const std::string& arch) {
    XAAS_TRY(const ir::Unit* const unit, named(id));
    if (!unit->device.empty())
      return wrong(id, "is for " + arch + " but has device units of its own");
    std::string machine = bundle_.arch;
    if (arch != ir::host_device) {
      XAAS_TRY(const target::GpuArch gpu, target::parse_gpu_arch(arch));
      machine = gpu.vendor == target::GpuArch::Vendor::amd ? "amdgcn" : "nvptx64";
    }
    if (machine_of(*unit) != machine)
      return wrong(id, "is called one for " + arch + ", which is " + machine + ", and is for \"" +
                           machine_of(*unit) + "\"");
    if (bundle_.prepared.contains(id))
      return wrong(id, "is for " + arch + " and has a prepared module");
    usage.device_units.insert(id);
    return {};
  }

  // The first word of its triple. The options exist: `named` has checked that.
  std::string machine_of(const ir::Unit& unit) const {
    const std::map<std::string, std::string>& text = bundle_.options.at(unit.options).text;
    const auto triple = text.find("triple");
    return triple == text.end() ? std::string() : triple->second.substr(0, triple->second.find('-'));
  }

  // Marks one that exists, with everything that it names.
  Result<const ir::Unit*> named(const Digest& id) {
    const auto found = bundle_.units.find(id);
    if (found == bundle_.units.end())
      return missing("unit", id);
    if (!bundle_.options.count(found->second.options))
      return missing("options", found->second.options);
    const Digest& module = stored_module(bundle_, id);
    if (!bundle_.modules.count(module))
      return missing("IR module", module);
    usage.modules.insert(module);
    for (const Digest& library : found->second.libraries)
      XAAS_CHECK(file({RefKind::kit, library, ""}));
    if (found->second.profile)
      XAAS_CHECK(file({RefKind::kit, *found->second.profile, ""}));
    return &found->second;
  }

  Result<void> file(const link::FileRef& ref) {
    switch (ref.kind) {
    case RefKind::unit:
      return unit(ref.digest);
    case RefKind::archive:
      return archive(ref.digest);
    case RefKind::link:
      return link(ref.digest);
    case RefKind::kit: {
      const auto found = bundle_.kit.find(ref.digest);
      if (found == bundle_.kit.end())
        return missing("link kit file", ref.digest);
      if (usage.kit.insert(ref.digest).second)
        usage.native_objects += found->second.native;
      return {};
    }
    }
    return {};
  }

  // A record names its inputs by digest, so records cannot really form a cycle, but a damaged bundle must not
  // make us loop.
  Result<bool> enter(const Digest& digest) {
    if (finished_.count(digest))
      return false;
    if (!active_.insert(digest).second)
      return make_error(ErrorKind::integrity,
                        "bundle: record " + digest.to_string() + " reads its own output");
    if (active_.size() > max_depth)
      return make_error(ErrorKind::integrity,
                        "bundle: records read each other more than " + std::to_string(max_depth) + " deep");
    return true;
  }
  void leave(const Digest& digest) {
    active_.erase(digest);
    finished_.insert(digest);
  }

  Result<void> archive(const Digest& digest) {
    const auto found = bundle_.archives.find(digest);
    if (found == bundle_.archives.end())
      return missing("archive record", digest);
    XAAS_TRY(const bool first, enter(digest));
    if (!first)
      return {};
    for (const link::ArchiveRecord::Member& member : found->second.members)
      XAAS_CHECK(file(member.file));
    leave(digest);
    usage.archives.push_back(digest);
    return {};
  }

  Result<void> link(const Digest& digest) {
    const auto found = bundle_.links.find(digest);
    if (found == bundle_.links.end())
      return missing("link record", digest);
    XAAS_TRY(const bool first, enter(digest));
    if (!first)
      return {};
    for (const link::LinkItem& item : found->second.items)
      if (item.kind != link::LinkItem::Kind::option)
        XAAS_CHECK(file(item.file));
    leave(digest);
    usage.links.push_back(digest);
    return {};
  }

  static constexpr size_t max_depth = 256; // each level takes stack
  const Bundle& bundle_;
  std::set<Digest> active_, finished_;
};

} // namespace

Result<Usage> usage_of(const Bundle& bundle, const BundleConfiguration& configuration) {
  Walk walk(bundle);
  for (const link::InstalledFile& file : configuration.installed)
    XAAS_CHECK(walk.installed(file));
  for (const link::InstalledFile& file : configuration.runtime)
    if (file.kind != FileKind::directory && file.kind != FileKind::symlink && file.kind != FileKind::file)
      return make_error(ErrorKind::integrity, "bundle: run-time file /" + file.path + " is not a plain file");
  return std::move(walk.usage);
}

Result<std::optional<std::string>>
library_file(const Bundle& bundle, const BundleConfiguration& configuration, const std::string& name) {
  const std::string shared = "lib" + name + ".so", archive = "lib" + name + ".a";
  for (const auto* files : {&configuration.runtime, &configuration.installed})
    for (const link::InstalledFile& file : *files) {
      const std::string last = fs::path(file.path).filename().string();
      if (file.kind != FileKind::directory && (last == shared || last.starts_with(shared + ".")))
        return std::optional(last);
    }
  for (const std::string& last : configuration.base_libraries)
    if (last == shared || last.starts_with(shared + "."))
      return std::optional(last);
  XAAS_TRY(const Usage usage, usage_of(bundle, configuration));
  for (const Digest& digest : usage.links)
    for (const link::LinkItem& item : bundle.links.at(digest).items)
      if (item.kind != link::LinkItem::Kind::option && item.file.name == archive)
        return std::optional(archive);
  return std::optional<std::string>();
}

} // namespace xaas::image
