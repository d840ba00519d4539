#include "pull.h"
#include "push.h"

#include <xaas/registry/images.h>

namespace xaas::registry {

Result<std::unique_ptr<oci::Image>> open_image(const oci::Reference& reference,
                                               const std::string& architecture, const Access& access) {
  if (reference.transport != oci::Transport::registry)
    return oci::open_image(reference, architecture);
  return open_remote(reference, architecture, access);
}

Result<Digest> write_image(const oci::Reference& reference, const oci::NewImage& image, const Access& access,
                           Progress& progress) {
  if (reference.transport != oci::Transport::registry)
    return oci::write_image(reference, image);
  return push(reference, image, access, progress);
}

Result<void> check_writable(const oci::Reference& reference, const Access& access) {
  if (reference.transport != oci::Transport::registry)
    return oci::check_writable(reference);
  return check_push(reference, access);
}

} // namespace xaas::registry
