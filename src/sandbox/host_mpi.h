// The host's MPI in the place of the image's.
//
// An MPI library is bound to the machine: its network, its launcher's protocol. Within one ABI a program runs
// with any; which one it loads is decided by LD_LIBRARY_PATH. So the host's library and all that it needs,
// but for the C library, are bound into a directory that comes first there. The C library stays the image's:
// the loader is part of it, and was chosen by the program. What decides is read from the ELF files: a library
// that would not load is refused here, and not in a thousand processes.
#pragma once

#include <xaas/sandbox/loader.h>

#include <xaas/sandbox/sandbox.h>
#include <xaas/system/system.h>

namespace xaas::sandbox {

// Where libraries of the host are bound.
inline constexpr const char* host_libraries = "/.xaas/host";

struct ImageMpi {
  std::string abi; // empty: the image has none
  // Its libraries, by the place in MpiFamily::libraries, each with the names that the image has.
  std::map<size_t, std::vector<std::string>> names;
  std::string rpath; // a file that finds its MPI by DT_RPATH, before LD_LIBRARY_PATH; empty: none
};
// What the program loads, else (for scripts) what the loader finds in the image. `program` may be null.
Result<ImageMpi> image_mpi(Loader& image, const Loader::Library* program);

struct HostMpi {
  std::string description; // "mpich 4.0.2 in /opt/mpich/lib"
  std::vector<Bind> binds;
};
// unsatisfied, with the reason, if the host has no such MPI or it does not fit. `library_path`: the host's
// LD_LIBRARY_PATH.
Result<HostMpi> host_mpi(const ImageMpi& needed, Loader& image, const std::vector<system::Mpi>& available,
                         const std::string& arch, const std::vector<std::string>& library_path);

} // namespace xaas::sandbox
