#include "sbom.h"

#include <xaas/image/application_image.h>
#include <xaas/provenance/sbom.h>

namespace xaas::deploy {

oci::Artifact sbom_artifact(const Json& sbom, const Digest& image, uint64_t size,
                            const std::string& created) {
  return {.type = provenance::spdx_media_type,
          .content = provenance::to_text(sbom),
          .subject = {oci::media_type::manifest, image, size, {}},
          .annotations = {{image::annotation::created, created}}};
}

} // namespace xaas::deploy
