// Programs that a configure step compiled and ran, and where the project asked for them.
//
// The build systems record which programs ran: CMake's cache, Autoconf's config.log, Meson's log. The place
// in the project's own files is looked up by the variable, the message or the name. That leaves out the
// checks of the build systems themselves, which also run programs but whose answers do not differ between
// machines of the same kind. Rejected: watching the processes of a build, which shows what ran but not what
// asked for it.
#pragma once

#include "build_files.h"

#include <xaas/project/findings.h>

#include <set>

namespace xaas::project {

using Findings = std::set<Finding>;

void find_cmake_runs(const ConfigurationBuild& build, const std::vector<BuildFile>& files,
                     Findings& findings);
void find_autotools_runs(const ConfigurationBuild& build, const std::vector<BuildFile>& files,
                         Findings& findings);
void find_meson_runs(const ConfigurationBuild& build, const std::vector<BuildFile>& files,
                     Findings& findings);

} // namespace xaas::project
