// Programs that a configure step compiled and ran, and where the project asked for them.
//
// That one was run is in what the build systems write down: CMake's cache, Autoconf's config.log, Meson's
// log. Where the project asked for it is looked up in its own files, by the variable, the message or the
// name; so the checks that come with a build system are left out, which run programs, too, but whose answers
// do not differ between machines of one kind. Watching the processes of a build was rejected: it shows what
// ran, and not what asked for it.
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
