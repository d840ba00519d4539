#include "closure.h"

#include <xaas/loader/loading.h>

#include <algorithm>
#include <set>

namespace xaas::check {

namespace {

using Files = std::map<std::string, loader::Library>;

// The files of an image that were read already, and those of its base.
class ImageRoot : public loader::Root {
public:
  ImageRoot(const Tree& tree, Files& files, const ReadLibrary& read)
      : tree_(tree), files_(files), read_(read) {}

  Result<loader::Candidate> look(const std::string& path) override {
    using Kind = loader::Candidate::Kind;
    const std::string file = tree_.resolve(path);
    if (file.empty())
      return loader::Candidate{};
    if (const auto found = files_.find(file); found != files_.end())
      return loader::Candidate{Kind::library, &found->second};
    if (tree_.is_of_base(file) && tree_.programs().contains(file)) {
      XAAS_TRY(std::optional<loader::Library> library, read_(file));
      if (library)
        return loader::Candidate{Kind::library, &files_.emplace(file, *std::move(library)).first->second};
    }
    return loader::Candidate{tree_.is_elf(file) ? Kind::other_machine : Kind::no_library, nullptr};
  }

private:
  const Tree& tree_;
  Files& files_;
  const ReadLibrary& read_;
};

std::string text_of(const loader::Missing& missing) {
  return "needs " + missing.name +
         (missing.no_library.empty()
              ? ", which is not in a directory that the loader searches"
              : ", for which the loader finds " + missing.no_library + ", which is not a library");
}

// The symbol versions that a loaded file needs of the others. The loader accepts a library without versions
// for any version.
void check_versions(const loader::Library& file, const loader::Loading& loading,
                    std::vector<Problem>& problems) {
  for (const auto& [name, versions] : file.dynamic.needed_versions) {
    const auto found = loading.names.find(name);
    if (found == loading.names.end())
      continue; // a missing library is a separate problem
    const loader::Library& library = *found->second->library;
    const std::vector<std::string>& defined = library.dynamic.versions;
    for (const std::string& version : versions)
      if (!defined.empty() && std::find(defined.begin(), defined.end(), version) == defined.end())
        problems.push_back(
            {Problem::Kind::symbol_version, file.path,
             "needs version " + version + " of " + name + ", which " + library.path + " does not have"});
  }
}

// What the loader does for one program, or for a library that no program here needs.
Result<std::vector<Problem>> problems_of(loader::Root& root, const loader::Settings& settings,
                                         const loader::Library& start, std::set<std::string>& reached) {
  XAAS_TRY(const loader::Loading loading, loader::load(root, settings, {{&start}}));
  std::vector<Problem> problems;
  for (const loader::Missing& missing : loading.missing)
    problems.push_back({Problem::Kind::library, missing.by->library->path, text_of(missing), missing.name});
  for (const auto* objects : {&loading.loaders, &loading.objects})
    for (const auto& object : *objects)
      reached.insert(object->library->path);
  for (const auto& object : loading.objects)
    check_versions(*object->library, loading, problems);
  return problems;
}

// Whether the library that a problem is about is one of `loaded`.
bool is_library_of(const Files& files, const std::set<std::string>& loaded, const Problem& problem) {
  return std::any_of(loaded.begin(), loaded.end(), [&](const std::string& path) {
    const std::string& soname = files.at(path).dynamic.soname;
    return problem.library == (soname.empty() ? fs::path(path).filename().string() : soname);
  });
}

} // namespace

Result<loader::Settings> loader_settings(const Tree& tree, const std::string& arch,
                                         std::vector<std::string> library_path,
                                         std::vector<std::string> hwcaps) {
  loader::Settings settings{arch, std::move(library_path), {}, std::move(hwcaps), {}};
  XAAS_TRY(const std::string loader, tree.loader(arch));
  settings.directories.defaults = loader::default_directories_of(loader, arch);
  settings.directories.cache = loader::parse_cache(tree.loader_cache(), arch);
  settings.directories.lib = "lib/" + arch + "-linux-gnu";
  return settings;
}

Result<std::vector<Problem>> check_closure(const Tree& tree, Files& files, const loader::Settings& settings,
                                           const ReadLibrary& read) {
  ImageRoot root(tree, files, read);
  std::vector<const loader::Library*> own_files; // those that are added later are loaded by these
  for (const auto& [path, file] : files)
    own_files.push_back(&file);
  std::vector<Problem> problems;
  std::set<std::string> reached;
  for (const loader::Library* const file : own_files) {
    if (file->dynamic.interpreter.empty())
      continue;
    XAAS_TRY(const loader::Candidate loader, root.look(file->dynamic.interpreter));
    if (!loader.library) {
      problems.push_back({Problem::Kind::loader, file->path,
                          "its loader " + file->dynamic.interpreter + " is not in the image"});
      reached.insert(file->path);
      continue;
    }
    XAAS_TRY(const std::vector<Problem> own, problems_of(root, settings, *file, reached));
    problems.insert(problems.end(), own.begin(), own.end());
  }
  const std::set<std::string> of_programs = reached;
  for (const loader::Library* const file : own_files) // libraries for other programs, and plugins
    if (!reached.count(file->path)) {
      XAAS_TRY(const std::vector<Problem> own, problems_of(root, settings, *file, reached));
      // A plugin finds the libraries that the program has loaded.
      for (const Problem& problem : own)
        if (problem.kind != Problem::Kind::library || !is_library_of(files, of_programs, problem))
          problems.push_back(problem);
    }
  // Programs share libraries, and with them problems.
  std::vector<Problem> once;
  std::set<std::pair<std::string, std::string>> said;
  for (Problem& problem : problems)
    if (said.insert({problem.file, problem.message}).second)
      once.push_back(std::move(problem));
  return once;
}

} // namespace xaas::check
