// Machines that have a name on this site: their system descriptions, as `xaas detect --save NAME` writes
// them, are the files NAME.json in the directories `machines` beside the settings files of site and user.
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/result.h>

#include <string>
#include <sys/types.h>
#include <vector>

namespace xaas::config {

enum class Origin;
struct Sources;

struct Machine {
  std::string name;
  Origin origin; // site or user
  fs::path path;
};

class Machines {
public:
  Machines() = default; // none
  explicit Machines(const Sources& sources);

  // By name. The user's machine hides the site's of the same name. A directory that cannot be read has none.
  std::vector<Machine> all() const;

  // The file that `--system TEXT` means: TEXT itself if it contains `/` or ends in `.json`, else that of the
  // machine. Errors: not_found for an unknown machine, with those that exist in the hint; storage for a
  // machine's file that others can change.
  Result<fs::path> file_of(const std::string& text) const;

  // Writes a machine's file. Creates the directory. Usage error: no name of a machine (letters, digits, `.`,
  // `_`, `-`, the first a letter or digit; not `*.json`), or no home directory for a user's.
  Result<fs::path> save(const std::string& name, Origin origin, const std::string& text) const;

private:
  struct Directory {
    Origin origin;
    fs::path path; // empty: none
  };
  std::vector<Directory> directories_; // the user's, then the site's
  std::vector<uid_t> owners_;
};

} // namespace xaas::config
