// The environment that a build sees.
#pragma once

#include <xaas/project/project.h>

#include <map>
#include <string>

namespace xaas::project {

// All variables of the build; it inherits no others. They are this process's variables without those that
// would change results, then the compilers, then the variables of the spec and the configuration.
std::map<std::string, std::string> build_environment(const ConfigurationBuild& build);

} // namespace xaas::project
