// Deployed images that are there already: found by what they were made from and for, and copied.
//
// A deployed image is a function of its inputs, so an image under a tag that is made of these inputs is the
// one that deploying would give. Whoever may write to the place where it is looked for decides what users of
// the place run; what is found is compared with the inputs all the same, so that a mistake is seen.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/device/plan.h>
#include <xaas/image/application_image.h>
#include <xaas/registry/images.h>
#include <xaas/target/cpu.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace xaas::deploy {

// What a deployed image is a function of, as its annotations say it. A new input belongs here: the name under
// which images are found, and what they are checked for, follow.
using Inputs = std::map<std::string, std::string>;
Inputs inputs_of(const image::ApplicationImage& source, const std::string& configuration,
                 const target::Cpu& target, const device::DevicePlan& device, bool lto, bool from_source,
                 int64_t time);

// Usage error unless it is a layout or a repository of a registry, without a tag or digest.
Result<void> check_place(const oci::Reference& place);

// The image in that place that is made of these inputs, whether it is there or not: tag `xaas-` and 40
// digits.
oci::Reference reference_in(const oci::Reference& place, const Inputs& inputs);

bool is_in(const oci::Reference& image, const oci::Reference& place);

// Opens it. Nothing: it is not there, which is not worth a word, or cannot be had or is not what was asked
// for, which is said. Errors: interruption.
Result<std::unique_ptr<oci::Image>> find_deployed(const oci::Reference& reference, const Inputs& inputs,
                                                  const image::ApplicationImage& source,
                                                  const std::string& configuration,
                                                  const registry::Access& access, Progress& progress);

// Writes it elsewhere, with the same digest. Nothing: it could not be read or is damaged, which is said.
Result<std::optional<Digest>> copy_deployed(const oci::Image& image, const oci::Reference& output,
                                            const registry::Access& access, Progress& progress);

} // namespace xaas::deploy
