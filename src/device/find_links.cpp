#include "find_links.h"

#include <algorithm>

namespace xaas::device {

namespace {

using RefKind = link::FileRef::Kind;

// The units that a link reads, each once.
class Reached {
public:
  explicit Reached(const image::Bundle& bundle) : bundle_(bundle) {}

  void add_link(const link::LinkRecord& record) {
    for (const link::LinkItem& item : record.items)
      if (item.kind == link::LinkItem::Kind::input)
        add(item.file);
  }

  void add_file(const link::FileRef& file) { add(file); }

  std::vector<Digest> units;

private:
  void add(const link::FileRef& file) {
    if (file.kind == RefKind::kit || !seen_.insert(file.digest).second)
      return;
    if (file.kind == RefKind::unit)
      units.push_back(file.digest);
    if (file.kind == RefKind::archive)
      for (const link::ArchiveRecord::Member& member : bundle_.archives.at(file.digest).members)
        add(member.file);
    if (file.kind == RefKind::link)
      if (const link::LinkRecord& record = bundle_.links.at(file.digest);
          record.kind == link::OutputKind::relocatable) // a shared library has its own device code
        add_link(record);
  }

  const image::Bundle& bundle_;
  std::set<Digest> seen_;
};

} // namespace

std::vector<Digest> units_of_link(const image::Bundle& bundle, const link::LinkRecord& record) {
  Reached reached(bundle);
  reached.add_link(record);
  return std::move(reached.units);
}

std::map<Digest, std::vector<DeviceLink>> device_links(const image::Bundle& bundle,
                                                       const image::Usage& usage) {
  std::map<Digest, std::vector<DeviceLink>> links;
  for (const Digest& digest : usage.links) {
    const link::LinkRecord& record = bundle.links.at(digest);
    if (record.kind == link::OutputKind::relocatable)
      continue;
    std::map<std::string, std::vector<Digest>> by_offload;
    for (const Digest& id : units_of_link(bundle, record))
      if (const ir::Unit& unit = bundle.units.at(id); !unit.offload.empty())
        by_offload[unit.offload].push_back(id);
    for (auto& [offload, units] : by_offload)
      links[digest].push_back({offload, std::move(units)});
  }
  return links;
}

std::vector<std::string> files_without_device_code(const image::Bundle& bundle,
                                                   const image::BundleConfiguration& configuration) {
  using FileKind = link::InstalledFile::Kind;
  std::vector<std::string> files;
  for (const link::InstalledFile& file : configuration.installed) {
    if (file.kind != FileKind::unit && file.kind != FileKind::archive)
      continue;
    Reached reached(bundle);
    reached.add_file({file.kind == FileKind::unit ? RefKind::unit : RefKind::archive, file.digest, ""});
    const bool linked = std::any_of(reached.units.begin(), reached.units.end(), [&](const Digest& unit) {
      return !bundle.units.at(unit).offload.empty();
    });
    if (linked)
      files.push_back(file.path);
  }
  return files;
}

} // namespace xaas::device
