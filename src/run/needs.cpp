#include "needs.h"

#include <xaas/base/text.h>
#include <xaas/image/targets.h>
#include <xaas/target/lack.h>

namespace xaas::run {

Result<void> check_needs(const oci::Image& image, const target::Cpu& host) {
  const std::string hint = "`xaas deploy` makes an image for this machine; --no-check runs this one";
  if (image.config().architecture != target::oci_architecture(host.arch))
    return make_error(ErrorKind::unsatisfied,
                      "the image is for " + image.config().architecture + ", this machine is " + host.arch,
                      hint);
  const std::vector<std::string> missing = image::lacking(image.manifest().annotations, host);
  if (missing.empty())
    return {};
  const auto name = image.manifest().annotations.find(image::annotation::cpu);
  const bool known = name != image.manifest().annotations.end() && !name->second.empty();
  const std::string cpu =
      known ? name->second
            : target::isa_level(host.arch,
                                split(image.manifest().annotations.at(image::annotation::features), ','));
  return make_error(ErrorKind::unsatisfied,
                    "the image was deployed for " + cpu + ": " +
                        target::lack_text(host, "this CPU (" + host.name + ")", cpu, missing),
                    hint);
}

} // namespace xaas::run
