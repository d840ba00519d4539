// Which release a library is. The number of a soname is that of the interface, so it is looked for elsewhere.
#pragma once

#include "machine.h"
#include "names.h"

#include <string>
#include <vector>

namespace xaas::system {

struct Version {
  std::string number, evidence; // both empty: not known
};

// The Version of the first of these pkg-config files (without ".pc") that is there for libraries in
// `directory`. Source: pc(5). The files are read and no program is run.
Version pkgconfig_version(const Machine& machine, const std::string& directory,
                          const std::vector<std::string>& names);

// Of an MPI's library: what it says itself, else what its surroundings say.
Version mpi_version(const Machine& machine, const std::string& directory, const std::string& file,
                    const MpiName& name);

// "libcudart.so.12.4.127" is 12.4.127; fewer than two numbers are none.
std::string version_in_name(const std::string& file, const std::string& stem);

} // namespace xaas::system
