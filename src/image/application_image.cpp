#include <xaas/base/trace.h>
#include <xaas/image/application_image.h>
#include <xaas/ir/packed.h>
#include <xaas/oci/layer.h>
#include <xaas/target/cpu.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace xaas::image {

namespace {

constexpr const char* bundle_path = ".xaas/bundle.json";

bool used_by(const oci::Descriptor& layer, const std::string& configuration) {
  const std::vector<std::string> users = layer_configurations(layer);
  return std::find(users.begin(), users.end(), configuration) != users.end();
}

// Modules, and files of the kit, the closure or an install tree.
bool holds_contents(const oci::Descriptor& layer) {
  const std::string role = layer_role(layer);
  return role != base_role && role != "base" && role != "metadata" && role != "source";
}

Result<Bundle> read_bundle(const oci::Image& image) {
  const std::string name = image.reference().text;
  for (size_t i = 0; i < image.manifest().layers.size(); ++i) {
    const oci::Descriptor& layer = image.manifest().layers[i];
    if (layer_role(layer) != "metadata")
      continue;
    XAAS_TRY(const oci::BlobPtr blob, image.open_blob(layer));
    std::string text;
    XAAS_CHECK(oci::read_layer(blob, layer.media_type, &image.config().diff_ids[i],
                               [&](oci::LayerEntry entry) -> Result<void> {
                                 if (entry.path == bundle_path)
                                   text = std::move(entry.content);
                                 return {};
                               })
                   .in(name));
    if (!text.empty())
      return parse_bundle(text, name + ": bundle.json");
  }
  return make_error(ErrorKind::integrity, name + ": claims to be an IR or source image, but has no bundle",
                    "an image loses it when it is converted to Docker's format; copy it as an OCI image "
                    "(`skopeo copy --format oci`)");
}

} // namespace

std::string rfc3339(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[40];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Result<int64_t> parse_rfc3339(const std::string& text) {
  std::tm parts{};
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (!end || *end)
    return make_error(ErrorKind::integrity, "'" + text + "' is not a time in UTC to the second (RFC 3339)");
  return static_cast<int64_t>(timegm(&parts));
}

std::map<std::string, std::string> application_annotations(const Bundle& bundle) {
  std::map<std::string, std::string> annotations = {{annotation::title, bundle.name},
                                                    {annotation::version, bundle.version}};
  for (const auto& [key, value] :
       {std::pair(annotation::licenses, &bundle.license), std::pair(annotation::source, &bundle.source),
        std::pair(annotation::revision, &bundle.revision)})
    if (!value->empty())
      annotations[key] = *value;
  return annotations;
}

std::string annotation_of(const oci::Image& image, const std::string& key) {
  const auto found = image.manifest().annotations.find(key);
  return found == image.manifest().annotations.end() ? std::string() : found->second;
}

std::string kind_of(const oci::Image& image) {
  const std::string kind = annotation_of(image, annotation::kind);
  return kind.empty() ? "other" : kind;
}

std::string layer_role(const oci::Descriptor& layer) {
  const auto found = layer.annotations.find(annotation::role);
  return found == layer.annotations.end() ? "base" : found->second;
}

std::vector<std::string> layer_configurations(const oci::Descriptor& layer) {
  const auto found = layer.annotations.find(annotation::configurations);
  if (found == layer.annotations.end())
    return {};
  const Result<Json> json = parse_json(found->second, "annotation");
  if (!json)
    return {};
  const Result<std::vector<std::string>> ids = JsonReader(*json, "annotation").strings();
  return ids ? *ids : std::vector<std::string>();
}

Result<ApplicationImage> ApplicationImage::open(std::unique_ptr<oci::Image> image) {
  const std::string kind = kind_of(*image);
  if (kind != "ir" && kind != "source")
    return make_error(ErrorKind::usage,
                      image->reference().text +
                          (kind == "other" ? ": is not an image that xaas made"
                                           : ": is a " + kind + " image, not an IR or source image"),
                      "`xaas build` makes IR and source images; `xaas inspect` shows what an image is");
  if (const auto format = image->manifest().annotations.find(annotation::format);
      format != image->manifest().annotations.end() && std::atoi(format->second.c_str()) > bundle_format)
    return make_error(ErrorKind::unsatisfied,
                      image->reference().text + ": image format " + format->second +
                          " is newer than format " + std::to_string(bundle_format) +
                          ", which this xaas reads",
                      "use a newer xaas");
  XAAS_TRY(Bundle bundle, read_bundle(*image));
  if (target::oci_architecture(bundle.arch) != image->config().architecture)
    return make_error(ErrorKind::integrity,
                      image->reference().text + ": bundle and config disagree on the architecture");
  if (bundle.configurations.empty() && !bundle.source_build)
    return make_error(ErrorKind::integrity, image->reference().text + ": its bundle has no configuration");
  ApplicationImage opened;
  opened.image_ = std::move(image);
  opened.bundle_ = std::move(bundle);
  if (opened.bundle_.base.has_value() == opened.layers_with_role(base_role).empty())
    return make_error(ErrorKind::integrity,
                      opened.image_->reference().text + ": its bundle " +
                          (opened.bundle_.base ? "describes a base image, of which it has no layer"
                                               : "describes no base image, but it has layers of one"));
  return opened;
}

// The size of the module that a file's name says, if it is wanted.
std::optional<uint64_t> ApplicationImage::wanted_module(const std::string& path,
                                                        const std::set<Digest>& wanted) const {
  const Result<Digest> digest = Digest::parse("sha256:" + path.substr(path.rfind('/') + 1));
  if (!digest || !wanted.contains(*digest))
    return {};
  const auto module = bundle_.modules.find(*digest);
  return module == bundle_.modules.end() ? std::nullopt : std::optional(module->second);
}

// Passes the `wanted` contents of a layer to `keep`.
Result<void> ApplicationImage::read_contents(
    size_t layer, std::set<Digest>& wanted,
    const std::function<Result<void>(const Digest&, const std::string&)>& keep) const {
  const oci::Descriptor& descriptor = image_->manifest().layers[layer];
  const bool modules = layer_role(descriptor) == "ir";
  XAAS_TRY(const oci::BlobPtr blob, image_->open_blob(descriptor));
  return oci::read_layer(blob, descriptor.media_type, &image_->config().diff_ids[layer],
                         [&](oci::LayerEntry entry) -> Result<void> {
                           if (entry.kind != oci::LayerEntry::Kind::file)
                             return {};
                           if (modules && ir::is_packed(entry.content)) {
                             const std::optional<uint64_t> size = wanted_module(entry.path, wanted);
                             if (!size)
                               return {};
                             Result<std::string> module = ir::unpack(entry.content, *size);
                             if (!module)
                               return std::move(module).error().in("/" + entry.path);
                             entry.content = *std::move(module);
                           }
                           const Digest digest = digest_of(entry.content);
                           return wanted.erase(digest) ? keep(digest, entry.content) : Result<void>();
                         })
      .in(image_->reference().text);
}

Result<void>
ApplicationImage::fetch(std::set<Digest> wanted, const std::string& configuration,
                        const std::function<Result<void>(const Digest&, const std::string&)>& keep,
                        Progress& progress) const {
  const std::string name = image_->reference().text;
  const std::vector<size_t> layers = layers_of(wanted, configuration);
  std::vector<oci::Descriptor> blobs;
  uint64_t bytes = 0;
  for (const size_t i : layers) {
    blobs.push_back(image_->manifest().layers[i]);
    bytes += blobs.back().size;
  }
  progress.start_bytes("reading " + name, bytes);
  image_->prefetch(blobs, progress);
  for (const size_t i : layers) {
    if (wanted.empty())
      break;
    trace::Span span("layer", image_->manifest().layers[i].digest.to_string());
    span.set("bytes", image_->manifest().layers[i].size);
    XAAS_CHECK(read_contents(i, wanted, keep));
  }
  if (!wanted.empty())
    return make_error(ErrorKind::integrity, name + ": content " + wanted.begin()->to_string() +
                                                " is named in the bundle but in no layer of configuration " +
                                                configuration);
  progress.finish();
  return {};
}

Result<void> ApplicationImage::fetch_all(
    std::set<Digest>& wanted, std::set<Digest>& read,
    const std::function<Result<void>(const Digest&, const std::string&)>& keep) const {
  for (size_t i = 0; i < image_->manifest().layers.size() && !wanted.empty(); ++i) {
    const oci::Descriptor& layer = image_->manifest().layers[i];
    if (!holds_contents(layer) || read.count(layer.digest))
      continue;
    XAAS_CHECK(read_contents(i, wanted, keep));
    read.insert(layer.digest);
  }
  return {};
}

std::map<std::string, std::string> base_annotations(const Base& base) {
  std::map<std::string, std::string> annotations = {{annotation::base_digest, base.digest.to_string()}};
  if (!base.reference.empty())
    annotations[annotation::base_name] = base.reference;
  return annotations;
}

std::vector<oci::NewLayer> base_layers(const ApplicationImage& application) {
  const oci::Image& image = application.image();
  std::vector<oci::NewLayer> layers;
  for (const size_t index : application.layers_with_role(base_role)) {
    layers.push_back(oci::layer_of(image, index));
  }
  return layers;
}

// The layers that may have some of it: those with modules if modules are wanted, the others if anything else
// is.
std::vector<size_t> ApplicationImage::layers_of(const std::set<Digest>& wanted,
                                                const std::string& configuration) const {
  const auto is_module = [&](const Digest& digest) { return bundle_.modules.contains(digest); };
  const bool modules = std::any_of(wanted.begin(), wanted.end(), is_module);
  const bool others = !std::all_of(wanted.begin(), wanted.end(), is_module);
  std::vector<size_t> layers;
  for (size_t i = 0; i < image_->manifest().layers.size() && !wanted.empty(); ++i) {
    const oci::Descriptor& layer = image_->manifest().layers[i];
    const std::string role = layer_role(layer);
    if (holds_contents(layer) && (role == "ir" ? modules : others) && used_by(layer, configuration))
      layers.push_back(i);
  }
  return layers;
}

std::vector<size_t> ApplicationImage::layers_with_role(const std::string& role) const {
  std::vector<size_t> layers;
  for (size_t i = 0; i < image_->manifest().layers.size(); ++i)
    if (layer_role(image_->manifest().layers[i]) == role)
      layers.push_back(i);
  return layers;
}

std::vector<size_t> ApplicationImage::kept_layers(const std::string& configuration) const {
  std::vector<size_t> layers = layers_with_role(base_role);
  const std::vector<size_t> runtime = runtime_layers(configuration);
  layers.insert(layers.end(), runtime.begin(), runtime.end());
  return layers;
}

std::vector<size_t> ApplicationImage::runtime_layers(const std::string& configuration) const {
  std::vector<size_t> layers;
  for (size_t i = 0; i < image_->manifest().layers.size(); ++i) {
    const oci::Descriptor& layer = image_->manifest().layers[i];
    if (layer_role(layer) == "runtime" && used_by(layer, configuration))
      layers.push_back(i);
  }
  return layers;
}

} // namespace xaas::image
