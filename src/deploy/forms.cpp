#include "forms.h"

#include <xaas/ir/options.h>

#include <algorithm>

namespace xaas::deploy {

namespace {

using RefKind = link::FileRef::Kind;
using FileKind = link::InstalledFile::Kind;

} // namespace

void reach(const image::Bundle& bundle, const link::FileRef& file, std::set<Digest>& units,
           std::set<Digest>& archives) {
  if (file.kind == RefKind::unit)
    units.insert(file.digest);
  if (file.kind == RefKind::archive && archives.insert(file.digest).second)
    for (const link::ArchiveRecord::Member& member : bundle.archives.at(file.digest).members)
      reach(bundle, member.file, units, archives);
}

Forms forms_of(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
               const image::Usage& usage, bool lto) {
  Forms forms;
  if (!lto) {
    forms.objects = usage.units;
    forms.archives = {usage.archives.begin(), usage.archives.end()};
    return forms;
  }
  for (const link::InstalledFile& file : configuration.installed)
    if (file.kind == FileKind::unit || file.kind == FileKind::archive)
      reach(bundle, {file.kind == FileKind::unit ? RefKind::unit : RefKind::archive, file.digest, ""},
            forms.objects, forms.archives);
  std::set<Digest> linked;
  for (const Digest& digest : usage.links) {
    const link::LinkRecord& record = bundle.links.at(digest);
    const bool relocatable = record.kind == link::OutputKind::relocatable;
    for (const link::LinkItem& item : record.items)
      if (item.kind != link::LinkItem::Kind::option)
        reach(bundle, item.file, relocatable ? forms.objects : linked,
              relocatable ? forms.archives : forms.lto_archives);
  }
  forms.lto_level = 1;
  for (const Digest& id : linked) {
    const ir::UnitOptions& options = bundle.options.at(bundle.units.at(id).options);
    if (const std::optional<std::string> obstacle = ir::lto_obstacle(options)) {
      forms.objects.insert(id);
      ++forms.without["option " + *obstacle];
      continue;
    }
    forms.bitcode.insert(id);
    const auto level = static_cast<unsigned>(options.codegen.at("OptimizationLevel"));
    forms.lto_level = std::clamp(level, forms.lto_level, 3u);
  }
  return forms;
}

} // namespace xaas::deploy
