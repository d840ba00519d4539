// Whose libraries a deployed image will use, for people: running decides it again, on the machine where it
// runs.
#pragma once

#include <xaas/deploy/deploy.h>
#include <xaas/image/bundle.h>
#include <xaas/image/deployed.h>

#include <string>
#include <vector>

namespace xaas::deploy {

// What a configuration has of the bundle's preferences. `runtime`: its run-time closure.
std::vector<image::PreferredOfHost> preferred_of(const image::Bundle& bundle,
                                                 const std::vector<link::InstalledFile>& runtime);

// For each preference of the bundle, whether the system has the same: an MPI of the same ABI, all libraries
// by the same soname. `library_path`: as in Request; without it the description is all that is known of the
// system. `runtime` is null for a configuration that is not built yet: then what it has is not known either,
// and the names alone decide.
std::vector<HostChoice> host_choices(const image::Bundle& bundle,
                                     const std::vector<link::InstalledFile>* runtime,
                                     const system::SystemDescription& system,
                                     const std::optional<std::vector<std::string>>& library_path);

} // namespace xaas::deploy
