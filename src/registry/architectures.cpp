#include <xaas/registry/architectures.h>

#include <algorithm>

namespace xaas::registry {

Result<std::vector<std::unique_ptr<oci::Image>>> open_images(const oci::Reference& reference,
                                                             const std::vector<std::string>& architectures,
                                                             const Access& access) {
  std::vector<std::unique_ptr<oci::Image>> images;
  Error none = make_error(ErrorKind::unsatisfied, reference.text + ": no architecture was asked for");
  for (const std::string& architecture : architectures) {
    size_t count = 1; // of the architecture's images in the index
    for (size_t i = 0; i < count; ++i) {
      const oci::Chooser chooser = [&](const auto& annotations) -> Result<size_t> {
        count = annotations.size();
        return i;
      };
      Result<std::unique_ptr<oci::Image>> opened = open_image(reference, architecture, access, chooser);
      if (!opened) {
        if (opened.error().kind != ErrorKind::unsatisfied)
          return std::move(opened).error();
        none = std::move(opened).error();
        continue;
      }
      const bool known = std::any_of(images.begin(), images.end(), [&](const auto& image) {
        return image->digest() == (*opened)->digest();
      });
      if (!known)
        images.push_back(*std::move(opened));
    }
    // A layout may have a tag once per architecture, without an index; opening it again is cheap.
    if (!images.empty() && reference.transport == oci::Transport::registry && !images.back()->index_digest())
      break;
  }
  if (images.empty())
    return none;
  return images;
}

} // namespace xaas::registry
