// The text that sets an option, in the build system's own form.
#pragma once

#include <xaas/discover/findings.h>

#include <string>
#include <vector>

namespace xaas::discover {

// What a person types for one of several values: "-DSIMD=AVX2", "--enable-threading=openmp".
std::string typed(spec::BuildSystem system, const Option& option, const std::string& value);
// "NO_MPI": on means without it.
bool is_negated(const Option& option);
// What a person types to have what the option is about: "-DUSE_MPI", "-DNO_MPI=OFF", "--enable-mpi", "MPI=1".
std::string typed_on(spec::BuildSystem system, const Option& option);
// The same as arguments of the build system, to have it or not.
std::vector<std::string> arguments_of(spec::BuildSystem system, const Option& option, bool with);
// Whether the option is on by default if everything that it needs is there. An option that the build decides
// counts as on.
bool is_on(const Option& option);
// Whether the build has what the option is about by default: is_on, but the opposite of a negated option.
bool has_by_default(const Option& option);

} // namespace xaas::discover
