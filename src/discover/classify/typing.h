// The text that sets an option, in the build system's own form.
#pragma once

#include <xaas/discover/findings.h>

#include <string>
#include <vector>

namespace xaas::discover {

// What a person types for one of several values: "-DSIMD=AVX2", "--enable-threading=openmp".
std::string typed(spec::BuildSystem system, const Option& option, const std::string& value);
// What a person types to switch it on: "-DUSE_MPI", "--enable-mpi", "MPI=1".
std::string typed_on(spec::BuildSystem system, const Option& option);
// The same as arguments of the build system, for on and off.
std::vector<std::string> arguments_of(spec::BuildSystem system, const Option& option, bool on);
// Whether the option is on by default if everything that it needs is there. An option that the build decides
// counts as on.
bool is_on(const Option& option);

} // namespace xaas::discover
