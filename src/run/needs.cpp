#include "needs.h"

#include <xaas/base/text.h>
#include <xaas/target/cpuid.h>
#include <xaas/target/lack.h>

#include <algorithm>

namespace xaas::run {

namespace {

// The features that the image was deployed for and that its programs check for at the start.
std::vector<std::string> guarded(const std::string& arch, const std::vector<std::string>& features) {
  if (arch != "x86_64")
    return features;
  std::vector<std::string> required;
  for (const target::CpuidBit& bit : target::cpuid_bits())
    if (std::find(features.begin(), features.end(), bit.name) != features.end())
      required.emplace_back(bit.name);
  return required;
}

} // namespace

std::vector<std::string> lacking(const oci::Image& image, const target::Cpu& host) {
  const auto& annotations = image.manifest().annotations;
  const auto features = annotations.find("dev.xaas.features");
  if (features == annotations.end())
    return {};
  return target::missing_features(
      guarded(host.arch, target::with_implied(host.arch, split(features->second, ','))), host.features);
}

Result<void> check_needs(const oci::Image& image, const target::Cpu& host) {
  const std::string hint = "`xaas deploy` makes an image for this machine; --no-check runs this one";
  if (image.config().architecture != target::oci_architecture(host.arch))
    return make_error(ErrorKind::unsatisfied,
                      "the image is for " + image.config().architecture + ", this machine is " + host.arch,
                      hint);
  const std::vector<std::string> missing = lacking(image, host);
  if (missing.empty())
    return {};
  const auto name = image.manifest().annotations.find("dev.xaas.cpu");
  const bool known = name != image.manifest().annotations.end() && !name->second.empty();
  const std::string cpu =
      known ? name->second
            : target::isa_level(host.arch, split(image.manifest().annotations.at("dev.xaas.features"), ','));
  return make_error(ErrorKind::unsatisfied,
                    "the image was deployed for " + cpu + ": " +
                        target::lack_text(host, "this CPU (" + host.name + ")", cpu, missing),
                    hint);
}

} // namespace xaas::run
