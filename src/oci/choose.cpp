#include "choose.h"

#include "image_json.h"

#include <xaas/base/text.h>
#include <xaas/oci/referrers.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace xaas::oci {

namespace {

std::string string_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::map<std::string, std::string> annotations_of(const Json& entry) {
  std::map<std::string, std::string> annotations;
  const auto found = entry.find("annotations");
  if (found != entry.end() && found->is_object())
    for (const auto& [key, value] : found->items())
      if (value.is_string())
        annotations[key] = value.get<std::string>();
  return annotations;
}

std::string tag_of(const Json& entry) {
  const auto annotations = entry.find("annotations");
  return annotations != entry.end() && annotations->is_object() ? string_of(*annotations, tag_annotation)
                                                                : std::string();
}

bool is_image(const Json& entry) {
  const std::string type = string_of(entry, "mediaType");
  return is_manifest_type(type) || is_index_type(type);
}

// Entries that accompany an image and name it by its digest: signatures and the like from cosign
// (`sha256-<hex>.sig`), lists of referrers (`sha256-<hex>`), and artifacts.
bool is_about_another(const Json& entry) {
  return entry.contains("artifactType") || digest_in_tag(tag_of(entry));
}

// The place of an entry in an index, for messages.
struct Entry {
  const Json* json;
  std::string where;
};

std::vector<Entry> images_of(const Json& index, const std::string& where) {
  std::vector<Entry> images;
  const Json& manifests = index["manifests"];
  for (size_t i = 0; i < manifests.size(); ++i)
    if (is_image(manifests[i]))
      images.push_back({&manifests[i], where + "/manifests/" + std::to_string(i)});
  return images;
}

Error tag_not_found(const std::string& wanted, const std::vector<Entry>& images) {
  std::vector<std::string> tags;
  for (const Entry& image : images)
    if (const std::string tag = tag_of(*image.json); !tag.empty() && !is_about_another(*image.json))
      tags.push_back(tag);
  std::sort(tags.begin(), tags.end());
  return make_error(ErrorKind::not_found, "there is no image tagged '" + wanted + "'",
                    tags.empty() ? "it has no tagged images" : "the tags are: " + join(tags, ", "));
}

// The entries of `index.json` for a tag or for no tag: several if the tag exists once per platform.
Result<std::vector<Entry>> choose_by_tag(std::vector<Entry> images, const std::string& tag) {
  if (tag.empty())
    std::erase_if(images, [](const Entry& image) { return is_about_another(*image.json); });
  if (images.empty())
    return make_error(ErrorKind::not_found, "it has no images");
  if (tag.empty()) {
    const std::string digest = string_of(*images.front().json, "digest");
    const bool same = std::all_of(images.begin(), images.end(), [&](const Entry& image) {
      return string_of(*image.json, "digest") == digest;
    });
    if (same)
      return std::vector<Entry>{images.front()};
  }
  const std::string wanted = tag.empty() ? "latest" : tag;
  std::vector<Entry> chosen;
  for (const Entry& image : images)
    if (tag_of(*image.json) == wanted)
      chosen.push_back(image);
  if (!chosen.empty())
    return chosen;
  Error error = tag_not_found(wanted, images);
  if (tag.empty())
    error.message = "it has " + std::to_string(images.size()) + " images, and none is tagged 'latest'";
  return error;
}

// The entries for an architecture, or else the first without a platform.
Result<std::vector<Entry>> of_platform(const std::vector<Entry>& images, const std::string& architecture) {
  if (images.empty())
    return make_error(ErrorKind::unsatisfied, "the index lists no images");
  const Entry* unnamed = nullptr;
  std::vector<std::string> known;
  std::vector<Entry> fitting;
  for (const Entry& image : images) {
    const auto platform = image.json->find("platform");
    if (platform == image.json->end() || !platform->is_object()) {
      unnamed = unnamed ? unnamed : &image;
      continue;
    }
    const std::string os = string_of(*platform, "os");
    if (string_of(*platform, "architecture") == architecture && (os.empty() || os == "linux"))
      fitting.push_back(image);
    else
      known.push_back(os + "/" + string_of(*platform, "architecture"));
  }
  if (fitting.empty() && unnamed)
    fitting.push_back(*unnamed);
  if (!fitting.empty())
    return fitting;
  return make_error(ErrorKind::unsatisfied, "the index has no image for linux/" + architecture,
                    "it has: " + join(known, ", "));
}

Result<Entry> first_of_platform(const std::vector<Entry>& images, const std::string& architecture) {
  XAAS_TRY(const std::vector<Entry> fitting, of_platform(images, architecture));
  return fitting.front();
}

// Walks an index and those that it lists.
class Lister {
public:
  // With `first_only`, no more than the first image is looked for.
  Lister(const BlobSource& source, const std::string& architecture, bool first_only)
      : source_(source), architecture_(architecture), first_only_(first_only) {}

  Result<void> add(const Descriptor& descriptor, std::map<std::string, std::string> annotations = {},
                   unsigned depth = 0) {
    const bool index = is_index_type(descriptor.media_type);
    const std::string name = "index " + descriptor.digest.to_string();
    if (index && depth == 4)
      return make_error(ErrorKind::integrity, name + ": indexes are nested too deeply");
    if (!known_.insert(descriptor.digest).second)
      return {};
    if (known_.size() > most)
      return make_error(ErrorKind::integrity, "the index lists more than " + std::to_string(most) +
                                                  " images for linux/" + architecture_);
    if (!index) {
      found_.push_back({descriptor, std::move(annotations)});
      return {};
    }
    XAAS_TRY(const std::string text, source_.read(descriptor, manifest_limit));
    XAAS_TRY(const Json json, parse_index(text, name));
    XAAS_TRY(const std::vector<Entry> entries, of_platform(images_of(json, name), architecture_).in(name));
    for (const Entry& entry : entries) {
      XAAS_TRY(const Descriptor inner, parse_descriptor(JsonReader(*entry.json, entry.where)));
      XAAS_CHECK(add(inner, annotations_of(*entry.json), depth + 1));
      if (first_only_ && !found_.empty())
        break;
    }
    return {};
  }

  std::vector<ListedDescriptor> take() { return std::move(found_); }

private:
  static constexpr size_t most = 256; // images and indexes
  const BlobSource& source_;
  std::string architecture_;
  bool first_only_;
  std::vector<ListedDescriptor> found_;
  std::set<Digest> known_;
};

} // namespace

Result<std::vector<ListedDescriptor>> list_images(const BlobSource& source, const Descriptor& root,
                                                  const std::string& architecture) {
  Lister lister(source, architecture, false);
  XAAS_CHECK(lister.add(root));
  return lister.take();
}

Result<Descriptor> resolve(const BlobSource& source, const Descriptor& root, const std::string& architecture,
                           const Chooser& chooser) {
  Lister lister(source, architecture, !chooser);
  XAAS_CHECK(lister.add(root));
  const std::vector<ListedDescriptor> found = lister.take();
  if (found.empty()) // the index lists itself, which no digest allows
    return make_error(ErrorKind::integrity, "the index has no image for linux/" + architecture);
  if (found.size() == 1 || !chooser)
    return found.front().descriptor;
  std::vector<std::map<std::string, std::string>> annotations;
  for (const ListedDescriptor& each : found)
    annotations.push_back(each.annotations);
  XAAS_TRY(const size_t chosen, chooser(annotations));
  return found.at(chosen).descriptor;
}

Result<Descriptor> find_root(const StoredSource& source, const Reference& reference,
                             const std::optional<std::string>& architecture) {
  auto text = source.index();
  if (!text) {
    Error error = std::move(text).error();
    if (error.kind == ErrorKind::not_found)
      error = make_error(ErrorKind::integrity, "damaged image: index.json is missing");
    return error;
  }
  XAAS_TRY(const Json index, parse_index(*text, "index.json"));
  XAAS_TRY(const std::vector<Entry> chosen, choose_by_tag(images_of(index, "index.json"), reference.tag));
  const bool single = chosen.size() == 1 || !architecture; // a single entry is used whatever its platform
  XAAS_TRY(const Entry entry,
           single ? Result<Entry>(chosen.front()) : first_of_platform(chosen, *architecture));
  return parse_descriptor(JsonReader(*entry.json, entry.where));
}

} // namespace xaas::oci
