// Module files of Fortran that another compiler wrote: flang reads its own only.
#pragma once

#include <xaas/session/session.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::frontdoor {

// Module files are a compiler's own format, and distributions have those of MPI for gfortran. Where a command
// of flang's front end (with "-fc1") would find such a `mpi.mod`, a directory with one that flang makes of
// the same library's `mpif.h` is put before that one: it has the same constants, and the procedures without
// interfaces, as programs that include mpif.h have always called them. Returns the command, changed or not;
// it is not changed either if mpif.h is not to be found: flang then says what it cannot read. Module
// `mpi_f08` has code of its own, which only the library's compiler has, so nothing can be done for it.
std::vector<std::string> with_mpi_module(const session::Session& session, const fs::path& flang,
                                         std::vector<std::string> command);

// What flang says of such a file is every byte that it takes for Fortran. Returns its messages with one in
// their place; nothing if they are of something else.
std::optional<std::string> explain_foreign_modules(const std::string& messages);

} // namespace xaas::frontdoor
