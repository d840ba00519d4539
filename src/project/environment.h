// The environment that a build sees.
#pragma once

#include <xaas/project/project.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::project {

// All variables of the build; it inherits no others. They are this process's variables without those that
// would change results, then the compilers, then the variables of the spec and the configuration.
std::map<std::string, std::string> build_environment(const ConfigurationBuild& build);

// Where pkg-config looks for libraries of a cross build.
std::vector<std::string> pkg_config_directories(const ConfigurationBuild& build);

} // namespace xaas::project
