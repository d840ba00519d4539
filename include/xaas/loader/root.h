// Where libraries lie: a directory that is a root, or what else has files by absolute paths.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>
#include <xaas/loader/dynamic.h>

#include <map>
#include <memory>
#include <string>

namespace xaas::loader {

struct Library {
  std::string path; // below the root, without links
  Dynamic dynamic;
};

// What the loader makes of a path (glibc, elf/dl-load.c, open_verify).
struct Candidate {
  enum class Kind {
    none,          // nothing that can be opened
    other_machine, // the search passes over it
    no_library,    // the search ends with it, and so does the program
    library,
  };
  Kind kind = Kind::none;
  const Library* library = nullptr; // as long as the root
};

class Root {
public:
  virtual ~Root() = default;
  // `path` is absolute. Integrity error: an ELF file that is damaged.
  virtual Result<Candidate> look(const std::string& path) = 0;
};

// Each file is read once.
class DirectoryRoot : public Root {
public:
  // `trusted`: the machine's own files are read here; those of an image in a worker, from a process with one
  // thread.
  DirectoryRoot(fs::path root, std::string arch, bool trusted)
      : root_(std::move(root)), arch_(std::move(arch)), trusted_(trusted) {}

  Result<Candidate> look(const std::string& path) override;
  // Null: no library for this architecture.
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
  fs::path root_;
  std::string arch_;
  bool trusted_;
  std::map<std::string, Entry> entries_; // by path without links
};

} // namespace xaas::loader
