// Which libraries an application takes from its base image.
//
// Problem. A program was linked with the libraries of this machine, and the base has others of the same
// names. Both sets work alone; a mixture may lack a symbol.
//
// Example. The program needs GLIBCXX_3.4.32 and GLIBC_2.34, the base has a libstdc++ with 3.4.30 and a C
// library with 2.36. Its libstdc++ is too old, so this machine's comes along. That one needs GLIBC_2.38,
// which rules out the base's C library, too, with all its parts.
//
// Approach. Nothing comes along at first. From the application's files, the needs are followed: a library
// that lacks a version, a symbol or a library of its own comes along, and its own needs count from then on; a
// library of the base ends the way. This is repeated until nothing changes. The set only grows, so it ends.
//
// Rejected: comparing version numbers of libraries (distributions backport), and bringing every library (the
// base's programs load them, too, and its updates would reach nothing).
#include <xaas/image/base_libraries.h>

#include <xaas/base/text.h>
#include <xaas/loader/c_library.h>

#include <algorithm>
#include <functional>

namespace xaas::image {

namespace {

constexpr const char* libc = "libc.so.6";

std::set<std::string> missing_versions(const std::vector<std::string>& needed,
                                       const std::vector<std::string>& there) {
  std::set<std::string> missing(needed.begin(), needed.end());
  for (const std::string& version : there)
    missing.erase(version);
  return missing;
}

struct ClosureLibrary {
  const loader::Library* library;
  loader::Symbols symbols;
};

class Choice {
public:
  Choice(BaseImage& base, const std::vector<Dependent>& files, const std::set<std::string>& interpreters,
         const std::map<std::string, std::string>& aliases)
      : base_(base), files_(files), interpreters_(interpreters), aliases_(aliases) {}

  Result<BaseChoice> run(const MachineLibraries& closure) {
    for (const auto& [name, library] : closure.by_name) {
      XAAS_TRY(loader::Symbols symbols, closure.symbols(*library));
      closure_[name] = {library, std::move(symbols)};
    }
    find_unnamed();
    base_.restore_loader(); // another configuration may have replaced it
    XAAS_CHECK(look());
    for (const std::string& interpreter : interpreters_)
      if (!base_.has(interpreter))
        bring_c_library();
    XAAS_CHECK(repeat());
    if (brings_c_library()) { // with its loader, which searches elsewhere: what it finds counts
      XAAS_CHECK(base_.replace_loader(closure.loader_directories));
      XAAS_CHECK(look());
      bring_c_library();
      XAAS_CHECK(repeat());
    }
    return finish();
  }

private:
  // Looks for the closure's libraries in the base. Those that it lacks come along.
  Result<void> look() {
    brought_.clear();
    for (const auto& [name, library] : closure_) {
      XAAS_TRY(found_[name], base_.find(name));
      if (!found_.at(name).library || name.find('/') != std::string::npos)
        brought_.insert(name);
      XAAS_TRY(for_levels_[name], base_.find_for_levels(name));
    }
    return {};
  }

  // Each library that is brought needs others; the set only grows.
  Result<void> repeat() {
    for (size_t before = brought_.size() + 1; before != brought_.size();) {
      before = brought_.size();
      XAAS_CHECK(go_through());
    }
    return {};
  }

  bool brings_c_library() const { return closure_.contains(libc) && brought_.contains(libc); }

  void bring_c_library() {
    for (const auto& [name, library] : closure_)
      if (loader::is_of_c_library(name))
        brought_.insert(name);
  }

  // glibc loads some by name, so that no file names them.
  void find_unnamed() {
    for (const auto& [name, library] : closure_)
      unnamed_.insert(name);
    for (const Dependent& file : files_)
      for (const std::string& needed : file.dynamic->needed)
        unnamed_.erase(name_of(needed));
    for (const auto& [name, library] : closure_)
      for (const std::string& needed : library.library->dynamic.needed)
        unnamed_.erase(name_of(needed));
  }

  std::string name_of(const std::string& needed) const {
    const auto alias = aliases_.find(needed);
    return alias == aliases_.end() ? needed : alias->second;
  }

  // Visits the libraries that the application's files reach, up to those of the base.
  Result<void> go_through() {
    reached_.clear();
    std::vector<std::string> pending;
    const auto reach = [&](const std::string& needed) {
      const std::string name = name_of(needed);
      if (closure_.contains(name) && reached_.insert(name).second)
        pending.push_back(name);
    };
    for (const Dependent& file : files_)
      XAAS_CHECK(follow(file, reach));
    for (const std::string& name : unnamed_)
      reach(name);
    for (size_t next = 0; next < pending.size(); ++next) {
      const auto library = closure_.find(pending[next]); // the list grows below
      if (!brought_.contains(library->first))
        continue;
      XAAS_CHECK(follow(
          {library->second.library->path, &library->second.library->dynamic, library->second.symbols.needed},
          reach));
    }
    for (const std::string& name : reached_) {
      if (brought_.contains(name))
        continue;
      XAAS_TRY(const bool complete, base_.is_complete(*found_.at(name).library));
      if (!complete)
        brought_.insert(name);
    }
    if (std::any_of(brought_.begin(), brought_.end(),
                    [&](const std::string& name) { return loader::is_of_c_library(name) && is_used(name); }))
      bring_c_library();
    return {};
  }

  // A part of the C library that is there only because every image has it rules out nothing.
  bool is_used(const std::string& name) const { return name == libc || reached_.contains(name); }

  // Follows the needs of one file.
  Result<void> follow(const Dependent& file, const std::function<void(const std::string&)>& reach) {
    for (const std::string& needed : file.dynamic->needed) {
      reach(needed);
      const std::string name = name_of(needed);
      if (!closure_.contains(name) || brought_.contains(name))
        continue;
      std::vector<const loader::Library*> copies = for_levels_.at(name);
      copies.push_back(found_.at(name).library);
      for (const loader::Library* const copy : copies) {
        XAAS_TRY(const bool serves, serves_as(*copy, name, needed, file));
        if (!serves)
          brought_.insert(name);
      }
    }
    return {};
  }

  // Whether a library of the base has what a file needs of the one with this name. `needed`: its name in the
  // file.
  Result<bool> serves_as(const loader::Library& library, const std::string& name, const std::string& needed,
                         const Dependent& file) {
    const auto versions = file.dynamic->needed_versions.find(needed);
    if (versions != file.dynamic->needed_versions.end() &&
        !missing_versions(versions->second, library.dynamic.versions).empty())
      return false;
    XAAS_TRY(const loader::Symbols* const there, symbols_of(library));
    const std::set<std::string>& here = closure_.at(name).symbols.defined;
    return std::none_of(file.symbols.begin(), file.symbols.end(), [&](const std::string& symbol) {
      return here.contains(symbol) && !there->defined.contains(symbol);
    });
  }

  Result<const loader::Symbols*> symbols_of(const loader::Library& library) {
    const auto [known, fresh] = symbols_.try_emplace(&library);
    if (fresh) {
      XAAS_TRY(known->second, base_.symbols(library));
    }
    return &known->second;
  }

  Result<BaseChoice> finish() {
    BaseChoice choice;
    for (const std::string& name : reached_)
      if (brought_.contains(name))
        choice.brought.insert(name);
      else
        take(choice, name, *found_.at(name).library);
    choice.c_library = closure_.contains(libc) && !brought_.contains(libc);
    if (choice.c_library) {
      XAAS_CHECK(take_c_library(choice));
      XAAS_TRY(const std::string place, base_.place(fs::path(found_.at(libc).place).relative_path()));
      choice.directory = fs::path(place).parent_path();
    }
    for (const std::string& name : choice.brought)
      if (!for_levels_.at(name).empty())
        return hidden(name, *for_levels_.at(name).front(), "its loader prefers on some CPUs");
    XAAS_CHECK(check_runpaths());
    for (const std::string& name : choice.brought)
      if (found_.at(name).library && name.find('/') == std::string::npos) {
        XAAS_CHECK(check_replacement(name));
        XAAS_TRY(choice.places[name], base_.place(fs::path(found_.at(name).place).relative_path()));
      }
    return choice;
  }

  Error hidden(const std::string& name, const loader::Library& of_base, const std::string& why) const {
    return make_error(ErrorKind::failed,
                      "the application needs " + closure_.at(name).library->path +
                          ", and the base image has " + of_base.path + ", which " + why,
                      "build on the distribution of the base image, or choose another base image");
  }

  // The loader searches the RUNPATH of a file before the directories of brought libraries.
  Result<void> check_runpaths() {
    for (const Dependent& file : files_)
      for (const std::string& needed : file.dynamic->needed) {
        const std::string name = name_of(needed);
        if (!reached_.contains(name))
          continue;
        XAAS_TRY(const loader::Library* const first, base_.find_by_runpath(file.path, *file.dynamic, needed));
        if (!first)
          continue;
        XAAS_TRY(const bool serves, serves_as(*first, name, needed, file));
        if (!serves)
          return hidden(name, *first, file.path + " finds first, by its RUNPATH");
      }
    return {};
  }

  void take(BaseChoice& choice, const std::string& name, const loader::Library& library) {
    base_.note_library(name, library.dynamic.versions);
    choice.taken.insert(name);
  }

  // Links on the target may name other parts than those here.
  Result<void> take_c_library(BaseChoice& choice) {
    for (const loader::CLibraryPart& part : loader::c_library_parts) {
      XAAS_TRY(const loader::Found found, base_.find(std::string(part.name)));
      if (found.library)
        take(choice, std::string(part.name), *found.library);
    }
    return {};
  }

  // Programs of the base may need what its library has.
  Result<void> check_replacement(const std::string& name) {
    const loader::Library& old = *found_.at(name).library;
    const ClosureLibrary& other = closure_.at(name);
    std::set<std::string> missing = missing_versions(old.dynamic.versions, other.library->dynamic.versions);
    if (old.dynamic.versions.empty()) {
      XAAS_TRY(const loader::Symbols* const symbols, symbols_of(old));
      std::set_difference(symbols->defined.begin(), symbols->defined.end(), other.symbols.defined.begin(),
                          other.symbols.defined.end(), std::inserter(missing, missing.end()));
    }
    if (missing.empty())
      return {};
    return make_error(ErrorKind::failed,
                      other.library->path + ", which the application needs, cannot replace " + old.path +
                          " of the base image: it lacks " + *missing.begin() +
                          (missing.size() > 1 ? " and " + std::to_string(missing.size() - 1) + " more" : ""),
                      "build on the distribution of the base image, or link without the library");
  }

  BaseImage& base_;
  const std::vector<Dependent>& files_;
  const std::set<std::string>& interpreters_;
  const std::map<std::string, std::string>& aliases_;
  std::map<std::string, ClosureLibrary> closure_;
  std::map<std::string, loader::Found> found_;                            // in the base, by name
  std::map<std::string, std::vector<const loader::Library*>> for_levels_; // copies in glibc-hwcaps
  std::map<const loader::Library*, loader::Symbols> symbols_;             // of libraries of the base
  std::set<std::string> unnamed_, reached_, brought_;
};

} // namespace

Result<BaseChoice> choose_libraries(BaseImage& base, const std::vector<Dependent>& files,
                                    const std::set<std::string>& interpreters,
                                    const MachineLibraries& closure,
                                    const std::map<std::string, std::string>& aliases) {
  return Choice(base, files, interpreters, aliases).run(closure);
}

Result<bool> has_part(BaseImage& base, const std::string& path) {
  const std::string name = fs::path(path).filename();
  if (!loader::is_of_c_library(name))
    return false;
  XAAS_TRY(const loader::Found found, base.find(name));
  if (!found.library)
    return make_error(ErrorKind::failed,
                      "/" + path +
                          ", which the spec names in `runtime`, is a part of the C library, and the "
                          "base image's, which the application uses, has no " +
                          name,
                      "leave it out, or choose another base image");
  return true;
}

Error missing_part(const std::string& of_base, const std::string& part, const std::string& where) {
  return make_error(ErrorKind::failed,
                    "the application needs the C library of " + where + ", which does not fit " + of_base +
                        " of the base image, and " + where + " has no " + part,
                    "build on the distribution of the base image");
}

} // namespace xaas::image
