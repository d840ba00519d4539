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
// A program replaces only what its dynamic symbol table has: all its names with an option like
// --export-dynamic, else those that a shared library among its inputs defines or wants (System V ABI, chapter
// "Dynamic Linking", and lld's symbol resolution). So zlib's minigzip, which is linked with libz.a, leaves
// libz.so alone. All prebuilt inputs are looked into, not only the libraries among them: that marks too many
// names, never too few. A program that is linked with a library of the image counts as one that exports
// everything.
//
// Rejected: -Bsymbolic, which breaks such programs for good; objects for all units that export functions,
// which leaves little of LTO in shared libraries; definitions made weak, which LLVM does not rely on. A weak
// definition undoes what the unit's options say of it (-fno-semantic-interposition,
// -Bsymbolic-non-weak-functions), and a linker takes the first of two weak definitions, where the library may
// have a weak one in front of its strong one.
#include "interposition.h"

#include "forms.h"

#include <algorithm>
#include <optional>

namespace xaas::deploy {

namespace {

using RefKind = link::FileRef::Kind;

// By options; files of options are in LinkInputs::kit.
std::set<std::string> assigned_names(const link::LinkRecord& record) {
  std::set<std::string> names;
  for (const link::LinkItem& item : record.items)
    if (link::symbol_effect(item) == link::SymbolEffect::assigns)
      names.insert(item.value.substr(0, item.value.find('=')));
  return names;
}

// Without such an option, a program exports the names that the shared libraries among its inputs ask for.
bool has_export_option(const link::LinkRecord& record) {
  return std::any_of(record.items.begin(), record.items.end(), [](const link::LinkItem& item) {
    return link::symbol_effect(item) == link::SymbolEffect::exports;
  });
}

// nullopt: all that the link defines.
std::optional<std::set<std::string>> exported_names(const LinkInputs& inputs, const FileNames& names) {
  if (!inputs.exports_wanted)
    return std::nullopt;
  std::set<std::string> exported;
  for (const auto& [file, name] : inputs.kit)
    for (const auto* known : {&names.defined, &names.wanted}) {
      const auto of_file = known->find(file);
      if (of_file == known->end())
        return std::nullopt;
      exported.insert(of_file->second.begin(), of_file->second.end());
    }
  return exported;
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
  inputs.exports_wanted =
      bundle.links.at(link).kind == link::OutputKind::executable && !has_export_option(bundle.links.at(link));
  std::set<Digest> archives, relocatable;
  std::vector<Digest> links = {link};
  const auto add = [&](const link::FileRef& file) {
    if (file.kind == RefKind::kit)
      inputs.kit.emplace(file.digest, file.name);
    if (file.kind != RefKind::link)
      return;
    if (bundle.links.at(file.digest).kind != link::OutputKind::relocatable)
      inputs.exports_wanted = false; // lld takes a position-independent program for a shared library
    else if (relocatable.insert(file.digest).second)
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
      if (item.kind == link::LinkItem::Kind::input ||
          link::symbol_effect(item) == link::SymbolEffect::defines)
        add(item.file); // also shared libraries, which the loader may search first
    }
    for (const Digest& archive : read)
      if (archives.insert(archive).second)
        for (const link::ArchiveRecord::Member& member : bundle.archives.at(archive).members)
          add(member.file);
  }
  return inputs;
}

std::map<Digest, std::set<std::string>> interposed_names(const image::Bundle& bundle,
                                                         const std::map<Digest, LinkInputs>& links,
                                                         const FileNames& names) {
  std::map<Digest, std::set<Digest>> definers;    // by link
  std::set<Digest> undetermined;                  // links that may define and export any name
  std::map<std::string, std::set<Digest>> places; // links by name
  for (const auto& [link, inputs] : links) {
    if (bundle.links.at(link).kind == link::OutputKind::relocatable)
      continue;
    std::set<Digest>& files = definers[link];
    files = inputs.units;
    files.insert(inputs.relocated.begin(), inputs.relocated.end());
    for (const auto& [file, name] : inputs.kit)
      files.insert(file);
    const std::optional<std::set<std::string>> exported = exported_names(inputs, names);
    const auto define = [&](const std::string& name) {
      if (!exported || exported->contains(name))
        places[name].insert(link);
    };
    std::for_each(inputs.assigned.begin(), inputs.assigned.end(), define);
    for (const Digest& file : files)
      if (const auto known = names.defined.find(file); known != names.defined.end())
        std::for_each(known->second.begin(), known->second.end(), define);
      else if (exported)
        std::for_each(exported->begin(), exported->end(), define);
      else
        undetermined.insert(link);
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
      if (const auto known = names.defined.find(unit);
          known != names.defined.end() && bundle.units.contains(unit))
        for (const std::string& name : known->second)
          if (any || other_than(link, places.at(name)))
            interposed[unit].insert(name);
  }
  return interposed;
}

} // namespace xaas::deploy
