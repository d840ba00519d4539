// Where libraries are: a root directory, or another source of files by absolute path.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/loader/dynamic.h>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace xaas::loader {

struct Library {
  std::string path; // relative to the root, without links
  Dynamic dynamic;
};

// How the loader treats a path (glibc, elf/dl-load.c, open_verify).
struct Candidate {
  enum class Kind {
    none,          // cannot be opened
    other_machine, // the search skips it
    no_library,    // ends the search, and the program fails
    library,
  };
  Kind kind = Kind::none;
  const Library* library = nullptr; // valid as long as the root
};

class Root {
public:
  virtual ~Root() = default;
  // `path` is absolute. A damaged ELF file is an integrity error.
  virtual Result<Candidate> look(const std::string& path) = 0;
};

// A system below a directory, which files are built for. Its absolute paths lead into that directory, except
// for directories of the root that `others` names.
struct Sysroot {
  fs::path directory; // empty: none
  std::set<std::string> others = {};
};

// Each file is read once.
class DirectoryRoot : public Root {
public:
  // `trusted`: reads the machine's own files in this process. Files of an image are read in a worker, which
  // requires a process with one thread.
  DirectoryRoot(fs::path root, std::string arch, bool trusted, Sysroot sysroot = {})
      : root_(std::move(root)), arch_(std::move(arch)), trusted_(trusted), sysroot_(std::move(sysroot)) {}

  // Looks for a path of the sysroot, if there is one, else of the root.
  Result<Candidate> look(const std::string& path) override;
  // `path` is of the root. Null if it is not a library for this architecture.
  Result<const Library*> read(const std::string& path);
  // Its dynamic symbols; read again each time.
  Result<Symbols> symbols(const Library& library) const;

  const fs::path& path() const { return root_; }
  const std::string& arch() const { return arch_; }

private:
  struct Entry {
    Candidate::Kind kind = Candidate::Kind::none;
    std::unique_ptr<Library> library;
  };
  Result<Candidate> look_in_root(const std::string& path);

  fs::path root_;
  std::string arch_;
  bool trusted_;
  Sysroot sysroot_;
  std::map<std::string, Entry> entries_; // by path, without links
};

} // namespace xaas::loader
