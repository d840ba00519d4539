// Traces of the build machine that an image may contain. They are warnings, no reason to fail.
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

// Collects warnings over all configurations. The same place in several of them counts once.
class WarningCollector {
public:
  // What the build system asked about this machine.
  void add_findings(const std::vector<project::Finding>& findings);

  // Paths in this machine's directories. A file below `destination` that contains one gives a warning if it
  // is installed as it is, or made again with the same constants.
  struct Place {
    fs::path path;
    std::string name; // "build directory"
  };
  void add_installed(const fs::path& destination, const std::vector<link::InstalledFile>& files,
                     const std::vector<Place>& places);

  // Units among `sources` (portable names) whose IR contains such a path, as the front end noted.
  void add_vector_returns(const std::map<std::string, unsigned>& counts,
                          const std::set<std::string>& sources);
  void add_leaks(const std::set<std::string>& leaking, const std::set<std::string>& sources);

  // All warnings, sorted, including those about the units of the whole image, which is for `arch`.
  std::vector<Warning> finish(const image::Coverage& coverage, const std::string& arch) const;

private:
  std::set<Warning> warnings_;
  std::set<project::Finding> native_; // places that write -march=native or the like
};

} // namespace xaas::build
