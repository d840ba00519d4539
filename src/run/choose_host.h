// Which libraries come from the host: those requested or preferred by the image, if they fit.
#pragma once

#include <xaas/image/deployed.h>
#include <xaas/loader/loading.h>
#include <xaas/run/run.h>

namespace xaas::run {

struct HostQuestion {
  Mpi mpi = Mpi::automatic;
  bool launched = false;                             // a launcher of MPI programs started this process
  std::optional<std::vector<std::string>> libraries; // Request::host
  std::vector<image::PreferredOfHost> preferred;     // by the image
  std::vector<std::string> library_path;             // the host's LD_LIBRARY_PATH
  bool wants_abi = false;                            // of the image's MPI, whatever is chosen
};

// True if there is anything to choose or to find out.
bool asks(const HostQuestion& question);

// `program` may be null. unsatisfied if a library that was requested by name does not fit.
Result<HostAnswer> choose_host(const HostQuestion& question, loader::Loader& image,
                               const loader::Library* program);

} // namespace xaas::run
