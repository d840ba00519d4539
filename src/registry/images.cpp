#include "pull.h"
#include "push.h"
#include "shared_progress.h"

#include <xaas/base/space.h>
#include <xaas/oci/operation.h>
#include <xaas/oci/tree.h>
#include <xaas/registry/images.h>
#include <xaas/registry/referrers.h>

#include <ctime>

namespace xaas::registry {

namespace {

bool is_tree(const oci::Reference& reference) {
  return reference.transport == oci::Transport::rootfs || reference.transport == oci::Transport::squashfs;
}

// The time for entries of the tree, in seconds since 1970; 0 for an image without a date.
int64_t time_of(const std::string& created) {
  std::tm parts{};
  const char* const rest = strptime(created.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  return rest ? int64_t(timegm(&parts)) : 0;
}

} // namespace

Result<std::unique_ptr<oci::Image>> open_image(const oci::Reference& reference,
                                               const std::string& architecture, const Access& access,
                                               const oci::Chooser& chooser) {
  if (reference.transport != oci::Transport::registry)
    return oci::open_image(reference, architecture, chooser);
  return open_remote(reference, architecture, access, chooser);
}

Result<OpenedSource> open_source(const oci::Reference& reference,
                                 const std::optional<std::string>& architecture, const Access& access) {
  if (reference.transport == oci::Transport::registry)
    return open_remote_source(reference, access);
  XAAS_TRY(oci::OpenedSource opened, oci::open_stored(reference, architecture));
  return OpenedSource{std::move(opened.source), std::move(opened.root), {reference, access}};
}

Result<Digest> write_publication(const oci::Reference& reference, const oci::Publication& publication,
                                 const Access& access, Progress& progress) {
  SharedProgress shared(progress);
  shared.start_bytes("writing " + reference.text, publication.bytes());
  Result<Digest> written = reference.transport == oci::Transport::registry
                               ? push(reference, publication, access, shared)
                               : oci::write_publication(reference, publication, access.transfers, shared);
  shared.finish();
  return oci::in_operation(std::move(written), "writing", reference.text);
}

Result<Digest> write_image(const oci::Reference& reference, const oci::NewImage& image, const Access& access,
                           Progress& progress) {
  if (!is_tree(reference))
    return write_publication(reference, oci::publication_of(image), access, progress);
  oci::Layers layers;
  for (const oci::NewLayer& layer : image.layers) {
    XAAS_TRY(oci::BlobPtr blob, layer.open());
    XAAS_CHECK(oci::read_checked(*blob, layer.descriptor));
    layers.push_back({std::move(blob), layer.descriptor, layer.diff_id});
  }
  progress.start("writing " + reference.text, 0);
  const Digest digest = oci::manifest_digest(image);
  XAAS_CHECK(oci::in_operation(oci::write_tree(reference, layers, time_of(image.config.created),
                                               {digest, image.config, image.annotations}),
                               "writing", reference.text));
  progress.finish();
  return digest;
}

Result<Digest> write_index(const oci::Reference& reference, const std::vector<oci::NewImage>& images,
                           const Access& access, Progress& progress) {
  return write_publication(reference, oci::publication_of(images), access, progress);
}

Result<void> write_tree(const oci::Image& image, const oci::Reference& to, Progress& progress) {
  uint64_t bytes = 0;
  for (const oci::Descriptor& blob : image.manifest().layers)
    bytes += blob.size;
  // Unpacked layers are at least this large. The tree for a squashfs file is a temporary file first.
  std::vector<SpaceNeed> needs = {{"the file tree", to.path, bytes}};
  if (to.transport == oci::Transport::squashfs)
    needs.push_back({"temporary files", temporary_root(), bytes});
  XAAS_CHECK(oci::in_operation(check_space(needs), "writing", to.text));
  progress.start_bytes("reading " + image.reference().text, bytes);
  XAAS_TRY(const oci::Layers layers, oci::open_layers(image, progress));
  progress.start("writing " + to.text, 0);
  XAAS_CHECK(
      oci::in_operation(oci::write_tree(to, layers, time_of(image.config().created),
                                        {image.digest(), image.config(), image.manifest().annotations}),
                        "writing", to.text));
  progress.finish();
  return {};
}

Result<void> check_writable(const oci::Reference& reference, const Access& access) {
  if (reference.transport != oci::Transport::registry)
    return oci::check_writable(reference);
  return check_push(reference, access);
}

namespace {

// The local space that a copy needs. Blobs that a layout already has need none.
std::vector<SpaceNeed> space_needs(const oci::Reference& to, const oci::Publication& publication) {
  uint64_t bytes = 0;
  for (const oci::NewBlob& blob : publication.blobs) {
    std::error_code code;
    if (to.transport != oci::Transport::layout ||
        !fs::exists(to.path / "blobs" / "sha256" / blob.descriptor.digest.hex(), code))
      bytes += blob.descriptor.size;
  }
  if (to.transport == oci::Transport::registry)
    return {};
  return {{"the image", to.path, bytes}};
}

Result<Copied> copy_to_tree(const oci::Reference& from, const oci::Reference& to,
                            const std::string& architecture, const Access& access, Progress& progress,
                            const oci::Chooser& chooser) {
  XAAS_TRY(const std::unique_ptr<oci::Image> image, open_image(from, architecture, access, chooser));
  const std::vector<oci::Descriptor>& blobs = image->manifest().layers;
  Copied copied{.digest = image->digest(), .source = image->digest(), .blobs = blobs.size()};
  for (const oci::Descriptor& blob : blobs)
    copied.bytes += blob.size;
  XAAS_CHECK(write_tree(*image, to, progress));
  return copied;
}

} // namespace

namespace {

// A copy into a mirror does not read from this mirror.
Result<OpenedSource> open_to_copy(const oci::Reference& from, const oci::Reference& to,
                                  const std::optional<std::string>& architecture, const Access& access) {
  if (from.transport != oci::Transport::registry)
    return open_source(from, architecture, access);
  return open_remote_source(from, access, &to);
}

} // namespace

Result<Copied> copy(const oci::Reference& from, const oci::Reference& to, const CopyOptions& options,
                    const Access& access, Progress& progress) {
  XAAS_CHECK(oci::in_operation(check_writable(to, access), "writing", to.text));
  if (is_tree(to))
    return copy_to_tree(from, to, options.architecture.value_or(options.own_architecture), access, progress,
                        options.chooser);
  XAAS_TRY(OpenedSource opened, open_to_copy(from, to, options.architecture, access));
  const std::shared_ptr<const oci::BlobSource> source = std::move(opened.source);
  const oci::ReadOptions what{options.architecture, to.transport != oci::Transport::registry};
  const oci::Reference& place = opened.place.reference;
  XAAS_TRY(oci::Publication publication, oci::read_publication(source, opened.root, place, what));
  Copied copied{
      .source = publication.source, .blobs = publication.blobs.size(), .bytes = publication.bytes()};
  copied.converted = publication.root().digest != publication.source;
  if (options.referrers && !copied.converted) {
    const auto note = [&](const std::string& text) { progress.note(text); };
    auto added = [&]() -> Result<std::vector<oci::Referrer>> {
      XAAS_TRY(const oci::FindReferrers find, find_referrers(place, opened.place.access, note));
      return oci::add_referrers(publication, find, source, place, note);
    }();
    if (!added && added.error().hint.empty())
      return std::move(added).error().with_hint("--no-referrers copies the image alone");
    XAAS_TRY(copied.referrers, std::move(added));
  }
  XAAS_CHECK(oci::in_operation(check_space(space_needs(to, publication)), "writing", to.text));
  Result<Digest> written = write_publication(to, publication, access, progress);
  if (!written && written.error().hint.empty() && !copied.referrers.empty())
    return std::move(written).error().with_hint("--no-referrers copies the image alone");
  XAAS_TRY(copied.digest, std::move(written));
  return copied;
}

} // namespace xaas::registry
