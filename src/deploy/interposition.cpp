// Problem: on ELF systems a program may define a function of a shared library anew, and the library then
// calls the program's. A compile of one source does not see the other sources of its library and assumes
// nothing. LTO sees all of them.
//
// Example: LAPACK's test programs bring an error handler that returns. The library's own never does:
//
//     liblapack.so   dgetrf.f   if (info /= 0) then; call xerbla(...); return; end if
//                    xerbla.f   stop
//     xlintstd       xerbla.f   (counts the error and returns)
//
// LTO of the library finds that xerbla() does not return and removes the code behind the call. The test
// program crashes there. Clang's own -flto does the same, but there the author asked for it.
//
// Approach: the image knows all of its links. Where a shared library defines a name that another link
// defines as well, LTO of the library treats the definition as one that may be replaced
// (lower/replaceable.cpp). Everything else is optimized as before.
//
// That holds for the same unit in both, too: what it calls, and its static variables, may be different ones.
//
// Rejected: -Bsymbolic, which breaks such programs for good; treating all exported functions so, which leaves
// little of LTO in shared libraries.
#include "interposition.h"

#include "forms.h"

namespace xaas::deploy {

namespace {

using RefKind = link::FileRef::Kind;

void add_kit(const link::FileRef& file, LinkInputs& inputs) {
  if (file.kind == RefKind::kit)
    inputs.kit.emplace(file.digest, file.name);
}

// By options; scripts are among the link's files.
std::set<std::string> assigned_names(const link::LinkRecord& record) {
  std::set<std::string> names;
  for (const link::LinkItem& item : record.items)
    if (item.kind == link::LinkItem::Kind::option && item.option == "--defsym")
      names.insert(item.value.substr(0, item.value.find('=')));
  return names;
}

} // namespace

bool may_interpose(const image::Bundle& bundle, const std::vector<Digest>& links) {
  size_t shared = 0, others = 0;
  for (const Digest& digest : links) {
    const link::OutputKind kind = bundle.links.at(digest).kind;
    shared += kind == link::OutputKind::shared;
    others += kind == link::OutputKind::executable;
  }
  return shared > 1 || (shared == 1 && others > 0);
}

LinkInputs inputs_of_link(const image::Bundle& bundle, const Digest& link) {
  LinkInputs inputs;
  std::set<Digest> archives;
  for (const link::LinkItem& item : bundle.links.at(link).items) {
    if (item.kind == link::LinkItem::Kind::option)
      continue;
    reach(bundle, item.file, inputs.units, archives);
    if (item.kind == link::LinkItem::Kind::input)
      add_kit(item.file, inputs); // also shared libraries, which the loader may search first
  }
  for (const Digest& archive : archives)
    for (const link::ArchiveRecord::Member& member : bundle.archives.at(archive).members)
      add_kit(member.file, inputs);
  return inputs;
}

std::map<Digest, std::set<std::string>>
interposed_names(const image::Bundle& bundle, const std::vector<Digest>& links,
                 const std::map<Digest, std::set<std::string>>& defined) {
  std::map<Digest, std::set<Digest>> definers;    // by link
  std::set<Digest> undetermined;                  // links that may define any name
  std::map<std::string, std::set<Digest>> places; // links by name
  for (const Digest& link : links) {
    if (bundle.links.at(link).kind == link::OutputKind::relocatable)
      continue;
    const LinkInputs inputs = inputs_of_link(bundle, link);
    definers[link] = inputs.units;
    for (const auto& [file, name] : inputs.kit)
      definers[link].insert(file);
    for (const std::string& name : assigned_names(bundle.links.at(link)))
      places[name].insert(link);
  }
  for (const auto& [link, files] : definers)
    for (const Digest& file : files) {
      const auto names = defined.find(file);
      if (names == defined.end())
        undetermined.insert(link);
      else
        for (const std::string& name : names->second)
          places[name].insert(link);
    }
  const auto other_than = [](const Digest& link, const std::set<Digest>& links) {
    return links.size() > links.count(link);
  };
  std::map<Digest, std::set<std::string>> interposed;
  for (const auto& [link, files] : definers) {
    if (bundle.links.at(link).kind != link::OutputKind::shared)
      continue;
    const bool any = other_than(link, undetermined);
    for (const Digest& unit : files)
      if (const auto names = defined.find(unit); names != defined.end() && bundle.units.contains(unit))
        for (const std::string& name : names->second)
          if (any || other_than(link, places.at(name)))
            interposed[unit].insert(name);
  }
  return interposed;
}

} // namespace xaas::deploy
