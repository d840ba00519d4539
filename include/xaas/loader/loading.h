// What the loader loads for a program, from the ELF files alone: nothing is run.
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
  std::string no_library; // the file that has the name and is no library; empty: there is none
  bool by_name = false;   // no file names it: see Start::by_name
};
std::string to_string(const Missing& missing); // "/usr/bin/a needs libb.so.1"

// One process.
struct Loading {
  std::vector<std::unique_ptr<Object>> objects; // in the order in which they are loaded
  std::vector<std::unique_ptr<Object>> loaders; // of the programs, where these say
  std::map<std::string, const Object*>
      needed; // by the names that files need; those that are missing are not there
  std::map<std::string, const Object*> names; // these, and sonames
  std::vector<Missing> missing;               // each name once
};

struct Start {
  std::vector<const Library*> libraries; // the program, or libraries for some program
  // What serves these names, before any search. Null: is there, and what it needs is not asked.
  std::map<std::string, const Library*> given = {};
  // The files that `given` serves; others get it where a search finds nothing. Empty: all files.
  std::set<const Library*> served = {};
  // Also what glibc loads by name when a thread is cancelled or ends by pthread_exit.
  bool by_name = false;
};

// A library that is loaded serves all who name it (ld.so looks for each name once). A program's own loader is
// loaded from the start, where the root has it. What `start` names must live as long as the result.
Result<Loading> load(Root& root, const Settings& settings, const Start& start);

// A directory, and how it is searched.
class Loader {
public:
  // `trusted`: see DirectoryRoot.
  Loader(DirectoryRoot root, Settings settings) : root_(std::move(root)), settings_(std::move(settings)) {}
  // As the loader of that machine or tree does.
  Loader(const fs::path& root, const std::string& arch, std::vector<std::string> library_path, bool trusted)
      : Loader({root, arch, trusted}, settings_for(root, arch, std::move(library_path))) {}

  Result<const Library*> read(const std::string& path) { return root_.read(path); }
  // Of this name, whoever asks; null: there is none.
  Result<const Library*> find(const std::string& name);
  Result<Symbols> symbols(const Library& library) const { return root_.symbols(library); }
  Result<Loading> load(const Start& start) { return loader::load(root_, settings_, start); }

  Settings& settings() { return settings_; }

private:
  DirectoryRoot root_;
  Settings settings_;
};

} // namespace xaas::loader
