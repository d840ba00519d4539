#include "choose.h"
#include "image_json.h"
#include "stored_source.h"

namespace xaas::oci {

namespace {

class StoredImage : public Image {
public:
  StoredImage(const Reference& reference, std::unique_ptr<BlobSource> source) : source_(std::move(source)) {
    reference_ = reference;
  }

  // Reads the manifest and configuration.
  Result<void> load(const Descriptor& manifest) {
    const std::string name = "manifest " + manifest.digest.to_string();
    XAAS_TRY(const std::string text, source_->read(manifest, manifest_limit));
    XAAS_TRY(manifest_, parse_manifest(text, name));
    XAAS_TRY(const std::string config, source_->read(manifest_.config, config_limit));
    XAAS_TRY(config_, parse_config(config, "configuration " + manifest_.config.digest.to_string(),
                                   manifest_.layers.size()));
    if (manifest.media_type == media_type::docker_manifest)
      manifest_.annotations = config_.labels;
    digest_ = manifest.digest;
    manifest_size_ = manifest.size;
    return {};
  }
  void chosen_from(const Digest& index) { index_digest_ = index; }

  Result<std::string> blob(const Descriptor& descriptor) const override {
    return source_->read(descriptor).in(reference_.text);
  }
  Result<BlobPtr> open_blob(const Descriptor& descriptor) const override {
    return source_->open(descriptor).in(reference_.text);
  }
  Result<BlobPtr> stream_blob(const Descriptor& descriptor) const override {
    return source_->stream(descriptor).in(reference_.text);
  }
  void prefetch(const std::vector<Descriptor>& blobs, Progress& progress) const override {
    static_cast<void>(source_->prefetch(blobs, progress));
  }

private:
  std::unique_ptr<BlobSource> source_;
};

} // namespace

Result<std::unique_ptr<Image>> open_manifest(const Reference& reference, std::unique_ptr<BlobSource> source,
                                             const Descriptor& manifest, const std::string& architecture,
                                             const Chooser& chooser) {
  XAAS_TRY(const Descriptor resolved, resolve(*source, manifest, architecture, chooser).in(reference.text));
  return open_listed(reference, std::move(source), resolved, manifest);
}

Result<std::unique_ptr<Image>> open_listed(const Reference& reference, std::unique_ptr<BlobSource> source,
                                           const Descriptor& manifest, const Descriptor& index) {
  auto image = std::make_unique<StoredImage>(reference, std::move(source));
  if (manifest.digest != index.digest)
    image->chosen_from(index.digest);
  XAAS_CHECK(image->load(manifest).in(reference.text));
  return std::unique_ptr<Image>(std::move(image));
}

Result<OpenedSource> open_stored(const Reference& reference, const std::optional<std::string>& architecture) {
  XAAS_TRY(std::unique_ptr<StoredSource> source, open_source(reference));
  XAAS_TRY(Descriptor root, find_root(*source, reference, architecture).in(reference.text));
  return OpenedSource{std::move(source), std::move(root)};
}

Result<std::unique_ptr<Image>> open_image(const Reference& reference, const std::string& architecture,
                                          const Chooser& chooser) {
  XAAS_TRY(OpenedSource opened, open_stored(reference, architecture));
  return open_manifest(reference, std::move(opened.source), opened.root, architecture, chooser);
}

} // namespace xaas::oci
