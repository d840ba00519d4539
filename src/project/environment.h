// The environment that a build sees.
#pragma once

#include <xaas/project/project.h>

#include <map>
#include <string>

namespace xaas::project {

// All variables of the build, nothing is inherited beyond them: ours without what would change results, the
// compilers, then the spec's and the configuration's own.
std::map<std::string, std::string> build_environment(const ConfigurationBuild& build);

} // namespace xaas::project
