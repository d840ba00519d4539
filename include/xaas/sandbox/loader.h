// What the dynamic loader finds, on the host or in a tree: from the ELF files alone, nothing is loaded.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/link/dynamic.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace xaas::sandbox {

// One root and the directories in it, searched in this order (ld.so(8)): DT_RPATH, `path` (LD_LIBRARY_PATH),
// DT_RUNPATH, `defaults`.
class Loader {
public:
  // `trusted`: the host's own files are read here; those of an image in a worker.
  Loader(fs::path root, std::string arch, std::vector<std::string> path, std::vector<std::string> defaults,
         bool trusted);

  struct Library {
    std::string path; // below the root, without links
    link::Dynamic dynamic;
  };
  // Of an ELF file for this architecture; nothing if it is none. Integrity error if it is damaged.
  Result<const Library*> read(const std::string& path);
  // The library that `by` (null: nobody) gets by this name; null if there is none.
  Result<const Library*> find(const std::string& name, const Library* by);

  // Its dynamic symbols; read again each time.
  Result<link::Symbols> symbols(const Library& library) const;

  struct Closure {
    std::map<std::string, const Library*> libraries; // by the names by which they are needed
    std::vector<std::string> missing;                // "A needs B", for people
  };
  // What these need, and what that needs; not beyond names in `without`.
  Result<Closure> closure(const std::vector<const Library*>& start, const std::set<std::string>& without);

private:
  fs::path root_;
  std::string arch_;
  std::vector<std::string> path_, defaults_;
  bool trusted_;
  std::map<std::string, std::unique_ptr<Library>> read_; // by path; null: no ELF file of this architecture
};

// Where the loader in a tree looks by itself: what its /etc/ld.so.conf says, then glibc's own directories.
std::vector<std::string> loader_directories(const fs::path& tree, const std::string& arch);

} // namespace xaas::sandbox
