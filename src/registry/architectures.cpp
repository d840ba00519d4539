#include <xaas/base/process.h>
#include <xaas/registry/architectures.h>

#include <set>
#include <utility>

namespace xaas::registry {

Result<std::vector<std::unique_ptr<oci::Image>>> open_images(const oci::Reference& reference,
                                                             const std::vector<std::string>& architectures,
                                                             const Access& access) {
  std::vector<std::unique_ptr<oci::Image>> images;
  std::set<Digest> known;
  Error none = make_error(ErrorKind::unsatisfied, reference.text + ": no architecture was asked for");
  for (const std::string& architecture : architectures) {
    oci::Descriptor root;
    std::unique_ptr<oci::BlobSource> source; // each image has its own; the first one that of the list
    const auto list = [&]() -> Result<std::vector<oci::ListedDescriptor>> {
      XAAS_TRY(OpenedSource opened, open_source(reference, architecture, access));
      root = opened.root;
      source = std::move(opened.source);
      return oci::list_images(*source, root, architecture).in(reference.text);
    };
    auto listed = list();
    if (!listed) {
      if (listed.error().kind != ErrorKind::unsatisfied)
        return std::move(listed).error();
      none = std::move(listed).error();
      continue;
    }
    for (const oci::ListedDescriptor& each : *listed) {
      if (!known.insert(each.descriptor.digest).second)
        continue;
      XAAS_CHECK(check_interrupt());
      if (!source) {
        XAAS_TRY(OpenedSource own, open_source(reference, architecture, access));
        source = std::move(own.source);
      }
      XAAS_TRY(std::unique_ptr<oci::Image> image,
               oci::open_listed(reference, std::exchange(source, nullptr), each.descriptor, root));
      images.push_back(std::move(image));
    }
    // A layout may have a tag once per architecture, without an index; opening it again is cheap.
    if (reference.transport == oci::Transport::registry && !images.empty() && !images.back()->index_digest())
      break;
  }
  if (images.empty())
    return none;
  return images;
}

} // namespace xaas::registry
