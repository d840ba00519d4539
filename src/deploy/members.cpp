#include "members.h"

#include <xaas/link/needs.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace xaas::deploy {

namespace {

using RefKind = link::FileRef::Kind;
using FileKind = link::InstalledFile::Kind;

} // namespace

Members::Members(const AssemblyInputs& inputs) {
  // Objects that register device code are made later, and want symbols, too.
  if (inputs.device.wants_device_code())
    return;
  const image::Bundle& bundle = inputs.bundle;
  std::set<Digest> required, archives;
  for (const link::InstalledFile& file : inputs.configuration.installed)
    if (file.kind == FileKind::unit || file.kind == FileKind::archive)
      reach(bundle, {file.kind == FileKind::unit ? RefKind::unit : RefKind::archive, file.digest, ""},
            required, archives);
  for (const Digest& digest : inputs.usage.links) {
    const link::Needs needs = link::needs_of(bundle.links.at(digest));
    want(needs.names);
    // A plugin may make references that its units do not have.
    if (!bundle.links.at(digest).plugins.empty())
      for (const link::LinkItem& item : bundle.links.at(digest).items)
        if (item.kind == link::LinkItem::Kind::input)
          reach(bundle, item.file, required, archives);
    for (const link::FileRef& file : needs.whole) {
      reach(bundle, file, required, archives);
      if (file.kind == RefKind::kit)
        kit_.emplace(file.digest, file.name);
    }
  }
  for (const Digest& archive : inputs.usage.archives)
    for (const link::ArchiveRecord::Member& member : bundle.archives.at(archive).members)
      if (member.file.kind == RefKind::kit)
        kit_.emplace(member.file.digest, member.name);
  std::set_difference(inputs.usage.units.begin(), inputs.usage.units.end(), required.begin(), required.end(),
                      std::inserter(optional_, optional_.end()));
  if (optional_.empty())
    kit_.clear();
  else if (inputs.forms.has_lto())
    want(ir::runtime_functions(bundle.arch + "-unknown-linux-gnu"));
}

void Members::want(const std::set<std::string>& names) {
  std::vector<std::string> open(names.begin(), names.end());
  while (!open.empty()) {
    const std::string name = std::move(open.back());
    open.pop_back();
    if (!wanted_.insert(name).second)
      continue;
    const auto definers = definers_.extract(name);
    if (definers.empty())
      continue;
    for (const Digest& unit : definers.mapped())
      if (needed_.insert(unit).second) {
        new_.insert(unit);
        const std::set<std::string>& others = wanted_by_.at(unit);
        open.insert(open.end(), others.begin(), others.end());
      }
  }
}

void Members::add(const Digest& unit, const std::optional<ir::Symbols>& symbols) {
  const auto is_wanted = [&](const std::string& name) { return wanted_.contains(name); };
  if (!symbols || std::any_of(symbols->defined.begin(), symbols->defined.end(), is_wanted)) {
    if (needed_.insert(unit).second)
      new_.insert(unit);
    if (symbols)
      want(symbols->wanted);
    return;
  }
  wanted_by_[unit] = symbols->wanted;
  for (const std::string& name : symbols->defined)
    definers_[name].push_back(unit);
}

std::set<Digest> Members::take() {
  return std::exchange(new_, {});
}

} // namespace xaas::deploy
