// Profiles beside the images that they are of.
#include "merge.h"

#include <xaas/oci/referrers.h>
#include <xaas/registry/referrers.h>

namespace xaas::profile {

namespace {

constexpr uint64_t largest_attached = uint64_t(256) << 20; // bytes
constexpr size_t most_attached = 100;

} // namespace

Result<Digest> attach(const oci::Reference& image, const std::string& architecture, const Profile& profile,
                      const registry::Access& access) {
  XAAS_TRY(const std::unique_ptr<oci::Image> opened, registry::open_image(image, architecture, access));
  const oci::Descriptor subject{oci::media_type::manifest, opened->digest(), opened->manifest_size(), {}};
  return registry::attach(image, {media_type, *profile.bytes, subject, {}}, access);
}

Result<Profile> attached_profile(const oci::Reference& image, const std::string& architecture,
                                 const registry::Access& access) {
  XAAS_TRY(const registry::OpenedSource source, registry::open_source(image, architecture, access));
  XAAS_TRY(const std::unique_ptr<oci::Image> opened, registry::open_image(image, architecture, access));
  const oci::Reference& place = source.place.reference;
  XAAS_TRY(const std::vector<oci::Referrer> found,
           registry::referrers(place, opened->digest(), media_type, source.place.access));
  if (found.empty())
    return make_error(ErrorKind::not_found, "no profile is attached to this image",
                      "`xaas profile attach` attaches one");
  if (found.size() > most_attached)
    return make_error(ErrorKind::failed,
                      "more than " + std::to_string(most_attached) + " profiles are attached",
                      "merge them: `xaas profile merge`");
  std::vector<File> files;
  for (const oci::Referrer& each : found) {
    const std::string name = "attached profile " + each.descriptor.digest.to_string();
    XAAS_TRY(const std::string manifest, source.source->read(each.descriptor, oci::manifest_limit).in(name));
    XAAS_TRY(const std::vector<oci::Descriptor> layers, oci::layers_of(manifest, name));
    if (layers.size() != 1)
      return make_error(ErrorKind::integrity, name + ": not one file");
    XAAS_TRY(std::string content, source.source->read(layers.front(), largest_attached).in(name));
    files.push_back({name, std::move(content), layers.front().digest});
  }
  return merge(std::move(files));
}

} // namespace xaas::profile
