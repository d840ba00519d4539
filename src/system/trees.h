// Libraries that a package manager for clusters installed, each version in a prefix of its own: Spack,
// EasyBuild.
#pragma once

#include "machine.h"

#include <string>
#include <vector>

namespace xaas::system {

struct Installed {
  std::string package, version, prefix;
  std::string evidence; // the index, or the directory, that says so
};

// What Spack's indexes and EasyBuild's directories say is installed of these packages. Bounded: a large index
// is read for a limited time, and of each package a limited number of versions; notes say so.
std::vector<Installed> spack_installed(const Machine& machine, const std::vector<std::string>& packages);
std::vector<Installed> easybuild_installed(const Machine& machine, const std::vector<std::string>& packages);

constexpr size_t most_versions = 32;                       // of one package
constexpr std::chrono::milliseconds most_index_time{1000}; // for one index of Spack

} // namespace xaas::system
