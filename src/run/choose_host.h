// Which libraries come from the host: what was asked for, what the image prefers, what fits.
#pragma once

#include <xaas/image/deployed.h>
#include <xaas/loader/loading.h>
#include <xaas/run/run.h>

namespace xaas::run {

struct HostQuestion {
  Mpi mpi = Mpi::automatic;
  bool launched = false;                             // by a launcher of MPI programs
  std::optional<std::vector<std::string>> libraries; // Request::host
  std::vector<image::PreferredOfHost> preferred;     // by the image
  std::vector<std::string> library_path;             // the host's LD_LIBRARY_PATH
};

struct HostAnswer {
  std::string mpi_abi; // of the image, if it was looked for
  bool mpi = false;    // it is the host's
  std::vector<HostChoice> choices;
  std::vector<Bind> binds;
  std::vector<std::string> notes; // for people
};

// True if anything of the host could be taken.
bool asks(const HostQuestion& question);

// `program` may be null. unsatisfied: what was asked for by name does not fit.
Result<HostAnswer> choose_host(const HostQuestion& question, loader::Loader& image,
                               const loader::Library* program);

} // namespace xaas::run
