// What of the build machine may be in an image: for a person to know, no reason to fail.
#pragma once

#include <xaas/build/build.h>
#include <xaas/image/coverage.h>
#include <xaas/link/installed.h>
#include <xaas/project/findings.h>
#include <xaas/session/session.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::build {

// Collects over all configurations; the same place in several of them is one warning.
class WarningCollector {
public:
  // What the build system asked of this machine.
  void add_findings(const std::vector<project::Finding>& findings);

  // Paths that name this machine's directories. A file below `destination` that has one of them in it is a
  // warning, where it is installed as it is or made again with the same constants.
  struct Place {
    fs::path path;
    std::string name; // "build directory"
  };
  void add_installed(const fs::path& destination, const std::vector<link::InstalledFile>& files,
                     const std::vector<Place>& places);

  // Units of `sources` (portable names) whose IR has such a path in it, as the front end noted it.
  void add_vector_returns(const std::map<std::string, unsigned>& counts,
                          const std::set<std::string>& sources);
  void add_leaks(const std::set<std::string>& leaking, const std::set<std::string>& sources);

  // All of them, sorted; with those about `native`, which are about the units of the whole image.
  std::vector<Warning> finish(const image::Coverage& coverage) const;

private:
  std::set<Warning> warnings_;
  std::set<project::Finding> native_; // places that write -march=native or its like
};

} // namespace xaas::build
