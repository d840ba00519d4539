#include "forms.h"

#include <xaas/ir/options.h>

#include <algorithm>

namespace xaas::deploy {

namespace {

using RefKind = link::FileRef::Kind;
using FileKind = link::InstalledFile::Kind;

void read_installed(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
                    Forms::Read& read) {
  for (const link::InstalledFile& file : configuration.installed)
    if (file.kind == FileKind::unit || file.kind == FileKind::archive)
      reach(bundle, {file.kind == FileKind::unit ? RefKind::unit : RefKind::archive, file.digest, ""},
            read.units, read.archives);
}

// Units whose options allow no ThinLTO become objects; the others decide the level of links.
void judge_options(const image::Bundle& bundle, Forms::Read& thin, Forms& forms) {
  for (const Digest& id : thin.units) {
    const ir::UnitOptions& options = bundle.options.at(bundle.units.at(id).options);
    if (const std::optional<std::string> obstacle = ir::lto_obstacle(options)) {
      thin.objects.insert(id);
      ++forms.without["option " + *obstacle];
      continue;
    }
    const auto level = static_cast<unsigned>(options.codegen.at("OptimizationLevel"));
    forms.lto_level = std::clamp(level, forms.lto_level, 3u);
  }
}

} // namespace

void reach(const image::Bundle& bundle, const link::FileRef& file, std::set<Digest>& units,
           std::set<Digest>& archives) {
  if (file.kind == RefKind::unit)
    units.insert(file.digest);
  if (file.kind == RefKind::archive && archives.insert(file.digest).second)
    for (const link::ArchiveRecord::Member& member : bundle.archives.at(file.digest).members)
      reach(bundle, member.file, units, archives);
}

Reader Forms::reader(const Digest& link, const link::LinkRecord& record) const {
  if (record.kind == link::OutputKind::relocatable)
    return {};
  if (!record.plugins.empty())
    return {LinkForm::merged, link};
  return {lto ? LinkForm::thin : LinkForm::plain};
}

lower::Form Forms::of(const Digest& unit, const Reader& reader) const {
  const auto found = read.find(reader);
  if (reader.form == LinkForm::plain || (found != read.end() && found->second.objects.contains(unit)))
    return lower::Form::object;
  return reader.form == LinkForm::thin ? lower::Form::thin_lto : lower::Form::lto;
}

uint64_t Forms::bitcode() const {
  std::set<std::pair<Digest, lower::Form>> units;
  for (const auto& [reader, part] : read)
    for (const Digest& unit : part.units)
      if (const lower::Form form = of(unit, reader); lower::is_for_lto(form))
        units.emplace(unit, form);
  return units.size();
}

Forms forms_of(const image::Bundle& bundle, const image::BundleConfiguration& configuration,
               const image::Usage& usage, bool lto) {
  Forms forms;
  forms.lto = lto;
  read_installed(bundle, configuration, forms.read[{}]);
  std::set<Digest> without_lto;
  for (const Digest& digest : usage.links) {
    const link::LinkRecord& record = bundle.links.at(digest);
    Forms::Read& read = forms.read[forms.reader(digest, record)];
    for (const link::LinkItem& item : record.items)
      if (item.kind != link::LinkItem::Kind::option)
        reach(bundle, item.file, read.units, read.archives);
    for (const Digest& unit : record.objects)
      if (read.units.contains(unit))
        read.objects.insert(unit);
    without_lto.insert(read.objects.begin(), read.objects.end());
  }
  if (!without_lto.empty())
    forms.without["compiled without -flto"] = without_lto.size();
  if (const auto thin = forms.read.find({LinkForm::thin}); thin != forms.read.end())
    judge_options(bundle, thin->second, forms);
  return forms;
}

} // namespace xaas::deploy
