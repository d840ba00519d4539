// IR images and source images: writing a bundle as layers, and reading the parts that one configuration
// needs.
#pragma once

#include <xaas/base/progress.h>
#include <xaas/image/bundle.h>
#include <xaas/oci/image.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace xaas::image {

namespace annotation {
inline constexpr const char* kind = "dev.xaas.kind"; // ir, source, deployed
inline constexpr const char* role =
    "dev.xaas.role"; // of a layer: image-base, base, runtime, metadata, kit, ir, tree, source, application
inline constexpr const char* configurations =
    "dev.xaas.configurations"; // of a layer: JSON array of configuration ids
inline constexpr const char* format = "dev.xaas.format";
inline constexpr const char* tool = "dev.xaas.tool.version";
inline constexpr const char* llvm = "dev.xaas.llvm.version";
// Of a deployed image: the IR image it was made from.
inline constexpr const char* made_from = "dev.xaas.made-from";
inline constexpr const char* made_from_name = "dev.xaas.made-from.name"; // NAME:VERSION of the application
inline constexpr const char* made_from_tool = "dev.xaas.made-from.tool.version";
inline constexpr const char* made_from_llvm = "dev.xaas.made-from.llvm.version";
// Of a deployed image: "true" if it was built from source.
inline constexpr const char* from_source = "dev.xaas.from-source";
inline constexpr const char* compiler = "dev.xaas.compiler"; // its version line
inline constexpr const char* compiler_flags =
    "dev.xaas.compiler.flags"; // the flags that it got for the target
// OCI image specification, annotations.md, "Pre-Defined Annotation Keys".
inline constexpr const char* created = "org.opencontainers.image.created";
inline constexpr const char* title = "org.opencontainers.image.title";
inline constexpr const char* version = "org.opencontainers.image.version";
inline constexpr const char* licenses = "org.opencontainers.image.licenses";
inline constexpr const char* source = "org.opencontainers.image.source";
inline constexpr const char* revision = "org.opencontainers.image.revision";
inline constexpr const char* base_digest = "org.opencontainers.image.base.digest";
inline constexpr const char* base_name = "org.opencontainers.image.base.name";
} // namespace annotation

// Title, version, license, source and revision of the application, as far as known.
std::map<std::string, std::string> application_annotations(const Bundle& bundle);

inline constexpr size_t most_groups = 16; // of layers of the same kind

using ContentProvider = std::function<Result<std::string>(const Digest&)>;

// Seconds since 1970 as RFC 3339 in UTC.
std::string rfc3339(int64_t seconds);
Result<int64_t> parse_rfc3339(const std::string& text);

// The layers for building on the target: `base` has those of the toolchain's image, which the deployed image
// does not have; `source` has the sources below /.xaas/source.
struct SourceLayers {
  std::vector<oci::NewLayer> base;
  oci::NewLayer source;
  std::map<std::string, std::string> annotations; // about the toolchain's image
};

inline constexpr const char* base_role = "image-base"; // of the base's layers; `base` is the toolchain's
// Of an image, about its base.
std::map<std::string, std::string> base_annotations(const Base& base);

// The image of a bundle, with layers in this order: base image, toolchain, run-time closure, metadata, link
// kit, IR modules, install-tree files, sources. `source` belongs to a bundle with a source_build; without IR
// the result is a source image. Modules, closure and tree files are grouped by the set of configurations that
// use them, into at most `max_groups` groups of each kind; beyond that, the smallest groups are merged. A kit
// file that is also in the closure is stored once. All times are `time`.
Result<oci::NewImage> make_application_image(const Bundle& bundle, const ContentProvider& content,
                                             int64_t time, size_t max_groups = most_groups,
                                             std::optional<SourceLayers> source = {},
                                             std::vector<oci::NewLayer> base = {});

// An IR image or source image opened for deploying or inspecting.
class ApplicationImage {
public:
  // Usage error: an image of another program, or of another kind. Unsatisfied: a newer format or LLVM.
  static Result<ApplicationImage> open(std::unique_ptr<oci::Image> image);
  const oci::Image& image() const { return *image_; }
  const Bundle& bundle() const { return bundle_; }

  // Passes the contents with these digests (modules, kit files, tree files, closure files) to `keep`, one
  // after the other, each checked and once. Reads only layers that the configuration uses, and those with
  // modules, or the others, only if such contents are wanted. A missing content is an integrity error.
  // Several layers at a time are fetched over a network; `progress` shows that as a phase of its own.
  Result<void> fetch(std::set<Digest> wanted, const std::string& configuration,
                     const std::function<Result<void>(const Digest&, const std::string&)>& keep,
                     Progress& progress = no_progress()) const;

  // The same for all configurations. Contents passed to `keep` are removed from `wanted`; those that the
  // image does not have stay there. Layers with a digest in `read` are skipped; layers that were read are
  // added to it.
  Result<void> fetch_all(std::set<Digest>& wanted, std::set<Digest>& read,
                         const std::function<Result<void>(const Digest&, const std::string&)>& keep) const;

  // The layers with this role, as indices into manifest().layers.
  std::vector<size_t> layers_with_role(const std::string& role) const;

  // The layers of the closure that a configuration uses; indices into manifest().layers.
  std::vector<size_t> runtime_layers(const std::string& configuration) const;
  // Those that a deployed image has byte for byte, in their order: the base's, and the closure's.
  std::vector<size_t> kept_layers(const std::string& configuration) const;

private:
  std::optional<uint64_t> wanted_module(const std::string& path, const std::set<Digest>& wanted) const;
  std::vector<size_t> layers_of(const std::set<Digest>& wanted, const std::string& configuration) const;
  Result<void>
  read_contents(size_t layer, std::set<Digest>& wanted,
                const std::function<Result<void>(const Digest&, const std::string&)>& keep) const;

  std::unique_ptr<oci::Image> image_;
  Bundle bundle_;
};

// The layers of an application image's base, for another image of the same bundle. The image must exist as
// long as the layers.
std::vector<oci::NewLayer> base_layers(const ApplicationImage& application);

// An annotation of the manifest; empty if there is none.
std::string annotation_of(const oci::Image& image, const std::string& key);
// The `dev.xaas.kind` of an image, or "other".
std::string kind_of(const oci::Image& image);
std::string layer_role(const oci::Descriptor& layer);
std::vector<std::string> layer_configurations(const oci::Descriptor& layer);

} // namespace xaas::image
