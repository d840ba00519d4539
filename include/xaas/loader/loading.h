// What the loader would load for a program, determined from the ELF files without running anything.
#pragma once

#include <xaas/loader/search.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace xaas::loader {

struct Missing {
  const Object* by = nullptr;
  std::string name;
  std::string no_library; // a file with this name that is not a library; empty: none
  bool by_name = false;   // not named by any file: see Start::by_name
};
std::string to_string(const Missing& missing); // "/usr/bin/a needs libb.so.1"

// One process.
struct Loading {
  std::vector<std::unique_ptr<Object>> objects; // in load order
  std::vector<std::unique_ptr<Object>> loaders; // of the programs, if they name one
  std::map<std::string, const Object*> needed;  // by the names that files need, without missing ones
  std::map<std::string, const Object*> names;   // these names and sonames
  std::vector<Missing> missing;                 // each name once
};

struct Start {
  std::vector<const Library*> libraries; // the program, or libraries for any program
  // Libraries for these names, used before any search. Null: present, but its needs are not followed.
  std::map<std::string, const Library*> given = {};
  // The files for which `given` is used first; others use it only if a search finds nothing. Empty: all
  // files.
  std::set<const Library*> served = {};
  // Also load what glibc loads by name when a thread is canceled or calls pthread_exit().
  bool by_name = false;
};

// A loaded library serves every file that names it (ld.so searches for each name once). A program's own
// loader is loaded from the start if the root has it. Everything that `start` refers to must live as long as
// the result.
Result<Loading> load(Root& root, const Settings& settings, const Start& start);

// A root directory and its search settings.
class Loader {
public:
  // `trusted`: see DirectoryRoot.
  Loader(DirectoryRoot root, Settings settings) : root_(std::move(root)), settings_(std::move(settings)) {}
  // Searches like the loader of that machine or tree.
  Loader(const fs::path& root, const std::string& arch, std::vector<std::string> library_path, bool trusted)
      : Loader({root, arch, trusted}, settings_for(root, arch, std::move(library_path))) {}

  Result<const Library*> read(const std::string& path) { return root_.read(path); }
  // Finds a library by name, independent of any dependent; null if there is none.
  Result<const Library*> find(const std::string& name);
  Result<Symbols> symbols(const Library& library) const { return root_.symbols(library); }
  Result<Loading> load(const Start& start) { return loader::load(root_, settings_, start); }

  Settings& settings() { return settings_; }

private:
  DirectoryRoot root_;
  Settings settings_;
};

} // namespace xaas::loader
