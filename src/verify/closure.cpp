#include "closure.h"

#include <xaas/base/file.h>

#include <algorithm>
#include <deque>
#include <set>

namespace xaas::verify {

namespace {

// Compiled into glibc; Debian's have the multiarch directories, others' the lib64 ones.
std::vector<std::string> default_directories(const std::string& arch) {
  std::vector<std::string> directories;
  for (const std::string root : {"/lib", "/usr/lib"})
    for (const std::string& suffix : {"/" + arch + "-linux-gnu", std::string("64"), std::string()})
      directories.push_back(root + suffix);
  return directories;
}

std::string expanded(std::string directory, const std::string& origin, const std::string& arch) {
  const std::pair<std::string, std::string> variables[] = {
      {"ORIGIN", origin}, {"LIB", "lib/" + arch + "-linux-gnu"}, {"PLATFORM", arch}};
  for (const auto& [name, value] : variables)
    for (const std::string& form : {"$" + name, "${" + name + "}"})
      for (size_t at = 0; (at = directory.find(form, at)) != std::string::npos; at += value.size())
        directory.replace(at, form.size(), value);
  return directory;
}

// What one program, or a library that no program here needs, makes the loader do.
class Loading {
public:
  Loading(const Tree& tree, const std::map<std::string, link::Dynamic>& files, const LoaderSettings& settings,
          std::vector<Problem>& problems, std::set<std::string>& reached)
      : tree_(tree), files_(files), settings_(settings), problems_(problems), reached_(reached) {}

  // The loader itself is there from the start.
  void run(const std::string& path, const std::string& loader) {
    if (!loader.empty())
      loaded_[fs::path(files_.at(path).interpreter).filename()] = loaded_[files_.at(loader).soname] = loader;
    load(path, "", {});
    while (!pending_.empty()) {
      const Loaded loaded = pending_.front();
      pending_.pop_front();
      for (const std::string& name : files_.at(loaded.path).needed)
        need(loaded, name);
    }
    for (const std::string& file : order_)
      check_versions(file);
  }

private:
  struct Loaded {
    std::string path;
    std::vector<std::string> rpath; // of it and of who loaded it
  };

  std::vector<std::string> directories(const std::string& path) const {
    std::vector<std::string> list;
    for (const std::string& entry : files_.at(path).runpath)
      list.push_back(expanded(entry, fs::path(path).parent_path(), settings_.arch));
    return list;
  }

  void load(const std::string& path, const std::string& name, const std::vector<std::string>& inherited) {
    const link::Dynamic& file = files_.at(path);
    if (!name.empty())
      loaded_[name] = path;
    if (!file.soname.empty())
      loaded_[file.soname] = path;
    reached_.insert(path);
    if (std::find(order_.begin(), order_.end(), path) != order_.end())
      return;
    order_.push_back(path);
    std::vector<std::string> rpath;
    if (file.rpath_is_first)
      rpath = directories(path);
    rpath.insert(rpath.end(), inherited.begin(), inherited.end());
    pending_.push_back({path, std::move(rpath)});
  }

  void need(const Loaded& by, const std::string& name) {
    if (loaded_.count(name))
      return;
    if (const std::string path = find(by, name); !path.empty())
      return load(path, name, by.rpath);
    loaded_[name] = ""; // said once
    problems_.push_back(
        {Problem::Kind::library, by.path, "needs " + name + ", which is not where the loader looks", name});
  }

  std::string find(const Loaded& by, const std::string& name) const {
    if (name.find('/') != std::string::npos)
      return usable(expanded(name, fs::path(by.path).parent_path(), settings_.arch), by);
    const link::Dynamic& file = files_.at(by.path);
    std::vector<std::string> places;
    if (file.runpath.empty() || file.rpath_is_first)
      places = by.rpath;
    places.insert(places.end(), settings_.library_path.begin(), settings_.library_path.end());
    if (!file.rpath_is_first)
      for (const std::string& directory : directories(by.path))
        places.push_back(directory);
    for (const std::string& directory : default_directories(settings_.arch))
      places.push_back(directory);
    for (const std::string& place : places)
      if (const std::string path = usable(place + "/" + name, by); !path.empty())
        return path;
    return {};
  }

  // The loader passes over libraries for other machines.
  std::string usable(const std::string& path, const Loaded& by) const {
    const std::string file = tree_.resolve(path);
    const auto found = files_.find(file);
    return found != files_.end() && found->second.machine == files_.at(by.path).machine ? file
                                                                                        : std::string();
  }

  void check_versions(const std::string& path) {
    for (const auto& [library, versions] : files_.at(path).needed_versions) {
      const auto found = loaded_.find(library);
      if (found == loaded_.end() || found->second.empty())
        continue; // said already
      const std::vector<std::string>& defined = files_.at(found->second).versions;
      if (defined.empty())
        continue; // the loader takes one without versions for any
      for (const std::string& version : versions)
        if (std::find(defined.begin(), defined.end(), version) == defined.end())
          problems_.push_back({Problem::Kind::symbol_version, path,
                               "needs version " + version + " of " + library + ", which " + found->second +
                                   " does not have"});
    }
  }

  const Tree& tree_;
  const std::map<std::string, link::Dynamic>& files_;
  const LoaderSettings& settings_;
  std::vector<Problem>& problems_;
  std::set<std::string>& reached_;
  std::map<std::string, std::string> loaded_; // by name; empty: not found
  std::vector<std::string> order_;
  std::deque<Loaded> pending_;
};

} // namespace

// Whether the library that a problem is about is one of `loaded`.
static bool is_library_of(const std::map<std::string, link::Dynamic>& files,
                          const std::set<std::string>& loaded, const Problem& problem) {
  return std::any_of(loaded.begin(), loaded.end(), [&](const std::string& path) {
    const std::string& soname = files.at(path).soname;
    return problem.library == (soname.empty() ? fs::path(path).filename().string() : soname);
  });
}

std::vector<Problem> check_closure(const Tree& tree, const std::map<std::string, link::Dynamic>& files,
                                   const LoaderSettings& settings) {
  std::vector<Problem> problems;
  std::set<std::string> reached;
  for (const auto& [path, file] : files) {
    if (file.interpreter.empty())
      continue;
    const std::string loader = tree.resolve(file.interpreter);
    if (!files.count(loader)) {
      problems.push_back(
          {Problem::Kind::loader, path, "its loader " + file.interpreter + " is not in the image"});
      reached.insert(path);
      continue;
    }
    reached.insert(loader);
    Loading(tree, files, settings, problems, reached).run(path, loader);
  }
  const std::set<std::string> of_programs = reached;
  for (const auto& [path, file] : files) // libraries for others, and plugins
    if (!reached.count(path)) {
      std::vector<Problem> own;
      Loading(tree, files, settings, own, reached).run(path, "");
      // A plugin finds what the program that loads it has loaded.
      for (Problem& problem : own)
        if (problem.kind != Problem::Kind::library || !is_library_of(files, of_programs, problem))
          problems.push_back(std::move(problem));
    }
  // Programs share libraries, and their problems.
  std::vector<Problem> once;
  std::set<std::pair<std::string, std::string>> said;
  for (Problem& problem : problems)
    if (said.insert({problem.file, problem.message}).second)
      once.push_back(std::move(problem));
  return once;
}

} // namespace xaas::verify
