// The module files of an installation outside its prefix, in a directory that installations share.
#pragma once

#include "manifest.h"

#include <map>
#include <string>

namespace xaas::install {

class SiteModules {
public:
  // `texts`: the files to write. `old`: those of the installation that is replaced.
  SiteModules(fs::path prefix, std::map<std::string, std::string> texts, std::map<std::string, Digest> old)
      : prefix_(std::move(prefix)), texts_(std::move(texts)), old_(std::move(old)) {}
  ~SiteModules(); // takes back what was claimed, unless it was kept
  SiteModules(const SiteModules&) = delete;
  SiteModules& operator=(const SiteModules&) = delete;

  // Usage error if a file exists that is not an unchanged one of the old installation.
  Result<void> check() const;
  // Writes the new files where nothing is, before the installation is in place: of two installations that
  // want the same name, one gets it. Errors as check().
  Result<void> claim();
  // Afterwards: writes those that exist already, and removes the old ones that are not needed any more.
  Result<void> finish();

private:
  Result<bool> is_own(const std::string& path) const;
  fs::path prefix_;
  std::map<std::string, std::string> texts_;
  std::map<std::string, Digest> old_;
  std::vector<std::string> claimed_;
};

// Removes a module file if it is unchanged and names the prefix, and its directory if that is empty. False if
// it stays. A file that is not there counts as removed.
Result<bool> remove_module(const fs::path& prefix, const fs::path& path, const Digest& digest);

} // namespace xaas::install
