// The release of a library. A soname has the version of the interface, so the release comes from elsewhere.
#pragma once

#include "machine.h"
#include "names.h"

#include <string>
#include <vector>

namespace xaas::system {

struct Version {
  std::string number, evidence; // both empty: unknown
};

// The Version in the first of these pkg-config files (without ".pc") that exists for libraries in
// `directory`. Source: pc(5). Reads the files without running a program.
Version pkgconfig_version(const Machine& machine, const std::string& directory,
                          const std::vector<std::string>& names);

// The version of an MPI library, from its content or else from files around it.
Version mpi_version(const Machine& machine, const std::string& directory, const std::string& file,
                    const MpiName& name);

// 12.4.127 for "libcudart.so.12.4.127"; empty if there are fewer than two numbers.
std::string version_in_name(const std::string& file, const std::string& stem);

} // namespace xaas::system
