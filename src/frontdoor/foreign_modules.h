// Fortran module files of other compilers. flang reads only its own.
#pragma once

#include <xaas/session/session.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

// Each compiler has its own format of module files, and distributions ship those of MPI for gfortran. If a
// command of flang's front end (with "-fc1") would find such a `mpi.mod`, this puts a directory in front
// whose `mpi.mod` flang made from the same library's `mpif.h`: it has the same constants, and the procedures
// without interfaces, as in programs that include mpif.h. Returns the command, which is unchanged if there is
// nothing to replace or no mpif.h; flang then reports the file that it cannot read. Module `mpi_f08` contains
// code that only the library's compiler has, so it cannot be replaced.
std::vector<std::string> with_mpi_module(const session::Session& session, const fs::path& flang,
                                         std::vector<std::string> command);

// flang prints an error for nearly every byte of such a file. Returns one explanation instead of these
// messages; nothing if the messages have another cause.
std::optional<std::string> explain_foreign_modules(const std::string& messages);

} // namespace xaas::frontdoor
