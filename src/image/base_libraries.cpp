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

class Choice {
public:
  Choice(BaseImage& base, const std::vector<Dependent>& files, const std::set<std::string>& interpreters,
         const std::map<std::string, ClosureLibrary>& closure,
         const std::map<std::string, std::string>& aliases)
      : base_(base), files_(files), interpreters_(interpreters), closure_(closure), aliases_(aliases) {}

  Result<BaseChoice> run() {
    for (const auto& [name, library] : closure_) {
      XAAS_TRY(found_[name], base_.find(name));
      if (!found_.at(name).library || name.find('/') != std::string::npos)
        brought_.insert(name);
    }
    for (const std::string& interpreter : interpreters_)
      if (!base_.has(interpreter))
        brought_.insert(libc);
    find_unnamed();
    // Each library that is brought needs others; the set only grows.
    for (size_t before = brought_.size() + 1; before != brought_.size();) {
      before = brought_.size();
      XAAS_CHECK(go_through());
    }
    return finish();
  }

private:
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

  // Visits what is reached from the application's files, up to libraries of the base.
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
      const std::string name = pending[next];
      if (!brought_.contains(name))
        continue;
      const ClosureLibrary& library = closure_.at(name);
      XAAS_CHECK(follow({library.library->path, &library.library->dynamic, library.symbols.needed}, reach));
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
      for (const auto& [name, library] : closure_)
        if (loader::is_of_c_library(name))
          brought_.insert(name);
    return {};
  }

  // A part of the C library that is there only because every image has it rules out nothing.
  bool is_used(const std::string& name) const { return name == libc || reached_.contains(name); }

  // What one file needs.
  Result<void> follow(const Dependent& file, const std::function<void(const std::string&)>& reach) {
    for (const std::string& needed : file.dynamic->needed) {
      reach(needed);
      const std::string name = name_of(needed);
      if (!closure_.contains(name) || brought_.contains(name))
        continue;
      const loader::Library& library = *found_.at(name).library;
      const auto versions = file.dynamic->needed_versions.find(needed);
      if (versions != file.dynamic->needed_versions.end() &&
          !missing_versions(versions->second, library.dynamic.versions).empty()) {
        brought_.insert(name);
        continue;
      }
      XAAS_TRY(const loader::Symbols* const there, symbols_of(name));
      const std::set<std::string>& here = closure_.at(name).symbols.defined;
      if (std::any_of(file.symbols.begin(), file.symbols.end(), [&](const std::string& symbol) {
            return here.contains(symbol) && !there->defined.contains(symbol);
          }))
        brought_.insert(name);
    }
    return {};
  }

  Result<const loader::Symbols*> symbols_of(const std::string& name) {
    const auto [known, fresh] = symbols_.try_emplace(name);
    if (fresh) {
      XAAS_TRY(known->second, base_.symbols(*found_.at(name).library));
    }
    return &known->second;
  }

  Result<BaseChoice> finish() {
    BaseChoice choice;
    for (const std::string& name : reached_)
      if (brought_.contains(name))
        choice.brought.insert(name);
      else
        base_.note_library(name, found_.at(name).library->dynamic.versions);
    choice.c_library = closure_.contains(libc) && !brought_.contains(libc);
    if (choice.c_library) {
      XAAS_CHECK(note_c_library());
      XAAS_TRY(const std::string place, base_.place(fs::path(found_.at(libc).place).relative_path()));
      choice.directory = fs::path(place).parent_path();
    }
    for (const std::string& name : choice.brought)
      if (found_.at(name).library && name.find('/') == std::string::npos) {
        XAAS_CHECK(check_replacement(name));
        XAAS_TRY(choice.places[name], base_.place(fs::path(found_.at(name).place).relative_path()));
      }
    return choice;
  }

  // Links on the target may name other parts than those here.
  Result<void> note_c_library() {
    for (const loader::CLibraryPart& part : loader::c_library_parts) {
      XAAS_TRY(const loader::Found found, base_.find(std::string(part.name)));
      if (found.library)
        base_.note_library(std::string(part.name), found.library->dynamic.versions);
    }
    return {};
  }

  // Programs of the base may need what its library has.
  Result<void> check_replacement(const std::string& name) {
    const loader::Library& old = *found_.at(name).library;
    const ClosureLibrary& other = closure_.at(name);
    std::set<std::string> missing = missing_versions(old.dynamic.versions, other.library->dynamic.versions);
    if (old.dynamic.versions.empty()) {
      XAAS_TRY(const loader::Symbols* const symbols, symbols_of(name));
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
  const std::map<std::string, ClosureLibrary>& closure_;
  const std::map<std::string, std::string>& aliases_;
  std::map<std::string, loader::Found> found_;     // in the base, by name
  std::map<std::string, loader::Symbols> symbols_; // of these
  std::set<std::string> unnamed_, reached_, brought_;
};

} // namespace

Result<BaseChoice> choose_libraries(BaseImage& base, const std::vector<Dependent>& files,
                                    const std::set<std::string>& interpreters,
                                    const std::map<std::string, ClosureLibrary>& closure,
                                    const std::map<std::string, std::string>& aliases) {
  return Choice(base, files, interpreters, closure, aliases).run();
}

Error missing_part(const std::string& of_base, const std::string& part, const std::string& where) {
  return make_error(ErrorKind::failed,
                    "the application needs the C library of " + where + ", which does not fit " + of_base +
                        " of the base image, and " + where + " has no " + part,
                    "build on the distribution of the base image");
}

} // namespace xaas::image
