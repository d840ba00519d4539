// Whose libraries a deployed image will use, as information for users. Running decides again, on the machine
// where it runs.
#pragma once

#include <xaas/deploy/deploy.h>
#include <xaas/image/bundle.h>
#include <xaas/image/deployed.h>

#include <string>
#include <vector>

namespace xaas::deploy {

// The bundle's preferences that a configuration has libraries for: in its run-time closure, or in the base
// image.
std::vector<image::PreferredOfHost> preferred_of(const image::Bundle& bundle,
                                                 const image::BundleConfiguration& configuration);

// For each preference of the bundle, whether the system has the same: an MPI of the same ABI, or all
// libraries by the same soname. `library_path`: as in Request; without it, only the description of the system
// is known. `configuration` is null if it is not built yet; its libraries are unknown, so only
// names decide.
std::vector<HostChoice> host_choices(const image::Bundle& bundle,
                                     const image::BundleConfiguration* configuration,
                                     const system::SystemDescription& system,
                                     const std::optional<std::vector<std::string>>& library_path);

} // namespace xaas::deploy
