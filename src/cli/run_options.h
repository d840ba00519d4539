// Options that `run` and `install` share: what programs get from the host.
#pragma once

#include <xaas/base/result.h>
#include <xaas/run/run.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::cli {

run::Mpi parse_mpi(const std::string& text); // of --mpi: host, image, auto

// The binds of the settings, each optional, then those of --bind.
Result<std::vector<run::Bind>> parse_binds(const std::vector<std::string>& options);

// The libraries of --host. `none` and `mpi` decide about MPI as well, unless --mpi does.
Result<std::optional<std::vector<std::string>>> parse_host(const std::string& text, run::Mpi& mpi);

} // namespace xaas::cli
