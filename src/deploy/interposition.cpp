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
// Approach: the image knows all of its links. A unit of a shared library that defines a name which another
// link defines as well is lowered to an object, of which LTO knows nothing. The other units of the library
// are optimized as before.
//
// That holds for the same unit in both, too: what it calls, and its static variables, may be different ones.
//
// Rejected: -Bsymbolic, which breaks such programs for good; objects for all units that export functions,
// which leaves little of LTO in shared libraries; definitions made weak, which LLVM does not rely on. A weak
// definition undoes what the unit's options say of it (-fno-semantic-interposition,
// -Bsymbolic-non-weak-functions), and a linker takes the first of two weak definitions, where the library may
// have a weak one in front of its strong one.
#include "interposition.h"

#include "forms.h"

namespace xaas::deploy {

namespace {

using RefKind = link::FileRef::Kind;

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
  std::set<Digest> archives, relocatable;
  std::vector<Digest> links = {link};
  const auto add = [&](const link::FileRef& file) {
    if (file.kind == RefKind::kit)
      inputs.kit.emplace(file.digest, file.name);
    if (file.kind == RefKind::link && bundle.links.at(file.digest).kind == link::OutputKind::relocatable &&
        relocatable.insert(file.digest).second)
      links.push_back(file.digest);
  };
  while (!links.empty()) {
    const bool own = links.back() == link;
    const link::LinkRecord& record = bundle.links.at(links.back());
    links.pop_back();
    for (const std::string& name : assigned_names(record))
      inputs.assigned.insert(name);
    std::set<Digest> read;
    for (const link::LinkItem& item : record.items) {
      if (item.kind == link::LinkItem::Kind::option)
        continue;
      reach(bundle, item.file, own ? inputs.units : inputs.relocated, read);
      if (item.kind == link::LinkItem::Kind::input)
        add(item.file); // also shared libraries, which the loader may search first
    }
    for (const Digest& archive : read)
      if (archives.insert(archive).second)
        for (const link::ArchiveRecord::Member& member : bundle.archives.at(archive).members)
          add(member.file);
  }
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
    definers[link].insert(inputs.relocated.begin(), inputs.relocated.end());
    for (const auto& [file, name] : inputs.kit)
      definers[link].insert(file);
    for (const std::string& name : inputs.assigned)
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
