#include "reuse.h"

#include <xaas/base/text.h>
#include <xaas/image/deployed.h>
#include <xaas/image/kernels.h>
#include <xaas/image/targets.h>

#include <mutex>

namespace xaas::deploy {

namespace {

// The first of `inputs` that the image lacks or has with another value.
std::string difference(const oci::Image& image, const Inputs& inputs) {
  if (image::kind_of(image) != "deployed")
    return "it is not a deployed image";
  for (const auto& [key, value] : inputs) {
    const auto found = image.manifest().annotations.find(key);
    if (found == image.manifest().annotations.end())
      return "it has no " + key;
    if (found->second != value)
      return "its " + key + " is " + (found->second.empty() ? "empty" : found->second) + ", not " + value;
  }
  if (!inputs.contains(image::annotation::checked_kernels) &&
      image.manifest().annotations.contains(image::annotation::checked_kernels))
    return "its kernels have checks";
  return {};
}

// The layers of base and closure are those of the IR image, followed by one more layer.
std::string difference(const oci::Image& image, const image::ApplicationImage& source,
                       const std::string& configuration) {
  if (image.config().architecture != source.image().config().architecture)
    return "it is for " + image.config().architecture;
  const std::vector<oci::Descriptor>& layers = image.manifest().layers;
  if (image.config().history.size() != layers.size())
    return "its layers differ";
  if (image.manifest().annotations.contains(image::annotation::from_source))
    return layers.size() <= source.layers_with_role(image::base_role).size() + 2
               ? ""
               : "its layers differ"; // the closure, if any, and what was installed
  const std::vector<size_t> kept = source.kept_layers(configuration);
  if (layers.size() != kept.size() + 1)
    return "its layers differ";
  for (size_t i = 0; i < kept.size(); ++i)
    if (layers[i].digest != source.image().manifest().layers[kept[i]].digest)
      return "its layer " + layers[i].digest.to_string() + " is not one of the IR image";
  return {};
}

// Remembers why the image could not be read while another was written from it, because then the output is not
// at fault. Several threads ask for blobs.
class ReadingTrouble {
public:
  Result<oci::BlobPtr> watch(Result<oci::BlobPtr> blob) {
    if (!blob) {
      const std::lock_guard<std::mutex> one(mutex_);
      error_ = blob.error();
    }
    return blob;
  }
  const std::optional<Error>& error() const { return error_; } // after the threads have ended

private:
  std::mutex mutex_;
  std::optional<Error> error_;
};

// Checks blobs before they are written.
oci::NewImage as_new(const oci::Image& image, ReadingTrouble& trouble) {
  oci::NewImage copy;
  copy.config = image.config();
  copy.annotations = image.manifest().annotations;
  for (size_t i = 0; i < image.manifest().layers.size(); ++i) {
    oci::NewLayer layer;
    layer.descriptor = image.manifest().layers[i];
    layer.diff_id = image.config().diff_ids[i];
    layer.created_by = image.config().history[i];
    layer.origin = image.reference();
    layer.open = [&image, &trouble, i] { return trouble.watch(image.open_blob(image.manifest().layers[i])); };
    copy.layers.push_back(std::move(layer));
  }
  return copy;
}

void say_refused(Progress& progress, const oci::Reference& reference, const std::string& why) {
  progress.note(reference.text + " is not reused: " + why);
}

} // namespace

Inputs inputs_of(const image::ApplicationImage& source, const std::string& configuration,
                 const target::Cpu& target, const device::DevicePlan& device, bool lto,
                 const std::string& profile, const std::vector<image::UsedPlugin>& plugins, bool from_source,
                 int64_t time) {
  Inputs inputs = {{image::annotation::kind, "deployed"},
                   {image::annotation::tool, image::tool_version()},
                   {image::annotation::llvm, image::llvm_version()},
                   {"dev.xaas.made-from", source.image().digest().to_string()},
                   {"dev.xaas.configuration", configuration},
                   {image::annotation::cpu, target.name},
                   {image::annotation::features, join(target.features, ",")},
                   {image::annotation::gpu, device.gpus.empty() ? "none" : join(device.gpus, ",")},
                   {"dev.xaas.lto", lto ? "thin" : "none"},
                   {"org.opencontainers.image.created", image::rfc3339(time)}};
  if (!device.code.empty())
    inputs[image::annotation::gpu_code] =
        image::to_annotation(std::vector<image::GpuCode>(device.code.begin(), device.code.end()));
  if (!profile.empty())
    inputs[image::annotation::profile] = profile;
  if (!plugins.empty())
    inputs[image::annotation::plugins] = image::to_json(plugins).dump();
  if (device.checks_kernels)
    inputs[image::annotation::checked_kernels] = "true";
  if (from_source)
    inputs[image::annotation::from_source] = "true";
  return inputs;
}

Result<void> check_place(const oci::Reference& place) {
  const bool known = place.transport == oci::Transport::layout || place.transport == oci::Transport::registry;
  if (!known || !place.tag.empty() || place.digest)
    return make_error(ErrorKind::usage,
                      place.text + ": images are reused from a repository or a layout, without a tag",
                      "docker://HOST/NAME or oci:DIR");
  return {};
}

oci::Reference reference_in(const oci::Reference& place, const Inputs& inputs) {
  oci::Reference reference = place;
  reference.tag = "xaas-" + digest_of(Json(inputs).dump()).hex().substr(0, 40);
  reference.text += ":" + reference.tag;
  return reference;
}

bool is_in(const oci::Reference& image, const oci::Reference& place) {
  if (image.transport != place.transport)
    return false;
  if (image.transport == oci::Transport::registry)
    return image.host == place.host && image.repository == place.repository;
  std::error_code code;
  return image.transport == oci::Transport::layout &&
         fs::weakly_canonical(image.path, code) == fs::weakly_canonical(place.path, code);
}

Result<std::unique_ptr<oci::Image>> find_deployed(const oci::Reference& reference, const Inputs& inputs,
                                                  const image::ApplicationImage& source,
                                                  const std::string& configuration,
                                                  const registry::Access& access, Progress& progress) {
  Result<std::unique_ptr<oci::Image>> opened =
      registry::open_image(reference, source.image().config().architecture, access);
  if (!opened) {
    if (opened.error().kind == ErrorKind::interrupted)
      return std::move(opened).error();
    if (opened.error().kind != ErrorKind::not_found)
      say_refused(progress, reference, opened.error().message);
    return std::unique_ptr<oci::Image>();
  }
  std::string why = difference(**opened, inputs);
  if (why.empty())
    why = difference(**opened, source, configuration);
  if (why.empty())
    if (const auto kernels = image::cpu_kernels_of(**opened); !kernels)
      why = kernels.error().message;
  ReadingTrouble trouble;
  if (why.empty() && oci::manifest_digest(as_new(**opened, trouble)) != (*opened)->digest())
    why = "xaas would have written it differently";
  if (why.empty())
    return opened;
  say_refused(progress, reference, why);
  return std::unique_ptr<oci::Image>();
}

Result<std::optional<Digest>> copy_deployed(const oci::Image& image, const oci::Reference& output,
                                            const registry::Access& access, Progress& progress) {
  ReadingTrouble trouble;
  const Result<Digest> written = registry::write_image(output, as_new(image, trouble), access, progress);
  if (written)
    return std::optional(*written);
  const Error& error = trouble.error() ? *trouble.error() : written.error();
  if (error.kind == ErrorKind::interrupted || (!trouble.error() && error.kind != ErrorKind::integrity))
    return written.error();
  say_refused(progress, image.reference(), error.message);
  return std::optional<Digest>();
}

} // namespace xaas::deploy
