// Deployed images that exist already: found by their inputs, and copied.
//
// A deployed image is a function of its inputs, so an image with the same inputs is the one that deploying
// would make. Whoever may write to the place where images are looked for decides what users of the place run.
// Images are compared with the inputs all the same, to detect mistakes.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/device/plan.h>
#include <xaas/image/application_image.h>
#include <xaas/image/deployed.h>
#include <xaas/registry/images.h>
#include <xaas/target/cpu.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xaas::deploy {

// The inputs of a deployed image, in the form of its annotations. A new input belongs here: the name under
// which images are found and the comparison follow.
using Inputs = std::map<std::string, std::string>;
Inputs inputs_of(const image::ApplicationImage& source, const std::string& configuration,
                 const target::Cpu& target, const device::DevicePlan& device, bool lto,
                 const std::string& profile, // the annotation; may be empty
                 const std::vector<image::UsedPlugin>& plugins, bool from_source, int64_t time);

// Usage error unless it is a layout or a repository of a registry, without a tag or digest.
Result<void> check_place(const oci::Reference& place);

// The name in that place of the image with these inputs, whether it exists or not: tag `xaas-` and 40 digits.
oci::Reference reference_in(const oci::Reference& place, const Inputs& inputs);

bool is_in(const oci::Reference& image, const oci::Reference& place);

// Opens it. Nothing if it does not exist; also nothing, with a note, if it cannot be read or has other
// inputs. Errors: interruption.
Result<std::unique_ptr<oci::Image>> find_deployed(const oci::Reference& reference, const Inputs& inputs,
                                                  const image::ApplicationImage& source,
                                                  const std::string& configuration,
                                                  const registry::Access& access, Progress& progress);

// Writes it elsewhere, with the same digest. Nothing, with a note, if it could not be read or is damaged.
Result<std::optional<Digest>> copy_deployed(const oci::Image& image, const oci::Reference& output,
                                            const registry::Access& access, Progress& progress);

} // namespace xaas::deploy
