// Libraries installed by package managers for clusters, Spack and EasyBuild, each version in its own prefix.
#pragma once

#include "machine.h"

#include <string>
#include <vector>

namespace xaas::system {

struct Installed {
  std::string package, version, prefix;
  std::string evidence; // the index or directory that lists it
};

// The installed versions of these packages, according to Spack's indexes and EasyBuild's directories. The
// time for an index and the number of versions per package are limited; notes report what was skipped.
std::vector<Installed> spack_installed(const Machine& machine, const std::vector<std::string>& packages);
std::vector<Installed> easybuild_installed(const Machine& machine, const std::vector<std::string>& packages);

constexpr size_t most_versions = 32;                       // of one package
constexpr std::chrono::milliseconds most_index_time{1000}; // for one index of Spack

} // namespace xaas::system
