// Manifests, configurations and indexes. An input is a sequence of documents, separated by lines `---`, each
// after those that it names; the last one is the root. `@N` stands for the digest of the earlier document N
// (0 to 9) and `#N` for its size, so that a change to a document does more than break a digest.
#include "fuzz.h"

#include <xaas/oci/publication.h>

#include <map>
#include <set>

namespace {

using namespace xaas;

constexpr std::string_view separator = "\n---\n";

using Blobs = std::map<Digest, std::string>;

class Source : public oci::BlobSource {
public:
  explicit Source(Blobs blobs) : blobs_(std::move(blobs)) {}

protected:
  Result<oci::BlobPtr> find(const oci::Descriptor& descriptor) const override {
    const auto found = blobs_.find(descriptor.digest);
    if (found == blobs_.end())
      return make_error(ErrorKind::not_found, "no such blob");
    return oci::blob_of(found->second);
  }

private:
  Blobs blobs_;
};

struct Input {
  Blobs blobs;
  std::string root;
};

std::string filled_in(std::string_view document, const std::vector<std::string>& before) {
  std::string text;
  for (size_t i = 0; i < document.size(); ++i) {
    const bool place = (document[i] == '@' || document[i] == '#') && i + 1 < document.size();
    const size_t number = place ? static_cast<size_t>(document[i + 1] - '0') : before.size();
    if (number >= before.size() || number > 9) {
      text += document[i];
      continue;
    }
    text +=
        document[i] == '@' ? digest_of(before[number]).to_string() : std::to_string(before[number].size());
    ++i;
  }
  return text;
}

Input input_of(std::string_view text) {
  std::vector<std::string> documents;
  for (size_t at = 0; at != std::string_view::npos;) {
    const size_t end = text.find(separator, at);
    documents.push_back(filled_in(text.substr(at, end - at), documents));
    at = end == std::string_view::npos ? end : end + separator.size();
  }
  Input input;
  for (const std::string& document : documents)
    input.blobs.emplace(digest_of(document), document);
  input.root = documents.back();
  return input;
}

oci::Descriptor descriptor_of(const std::string& type, const std::string& text) {
  return {type, digest_of(text), text.size(), {}};
}

bool is_known(const Error& error) {
  return error.kind == ErrorKind::integrity || error.kind == ErrorKind::unsatisfied ||
         error.kind == ErrorKind::usage; // the last: an artifact that is no container image
}

void open(const oci::Reference& reference, const Input& input, const oci::Descriptor& root) {
  const auto image = oci::open_manifest(reference, std::make_unique<Source>(input.blobs), root, "amd64");
  if (!image) {
    require(is_known(image.error()), "kind of error of opening");
    return;
  }
  require(input.blobs.contains((*image)->digest()), "an image is one of the documents");
  require((*image)->index_digest() ? (*image)->index_digest() == root.digest
                                   : (*image)->digest() == root.digest,
          "it is the root, or was chosen from it");
  require((*image)->config().diff_ids.size() == (*image)->manifest().layers.size(), "a diff_id per layer");
  require((*image)->config().history.size() == (*image)->manifest().layers.size(), "a history per layer");
  for (const oci::Descriptor& layer : (*image)->manifest().layers) {
    const auto blob = (*image)->blob(layer);
    require(blob ? digest_of(*blob) == layer.digest && blob->size() == layer.size
                 : blob.error().kind == ErrorKind::integrity,
            "a layer is what its descriptor says");
  }
}

oci::Publication read(const oci::Reference& reference, const Blobs& blobs, const oci::Descriptor& root,
                      const oci::ReadOptions& options, bool& there) {
  const auto publication =
      oci::read_publication(std::make_shared<const Source>(blobs), root, reference, options);
  there = static_cast<bool>(publication);
  if (!there) {
    require(is_known(publication.error()), "kind of error of copying");
    return {};
  }
  std::set<Digest> seen;
  for (const oci::NewBlob& blob : publication->blobs)
    require(seen.insert(blob.descriptor.digest).second, "each blob once");
  for (const oci::Document& document : publication->documents) {
    require(digest_of(document.text) == document.digest, "a document has its digest");
    require(seen.insert(document.digest).second, "each document once");
  }
  return *publication;
}

void copy(const oci::Reference& reference, const Input& input, const oci::Descriptor& root) {
  bool there = false;
  const oci::Publication as_it_is = read(reference, input.blobs, root, {}, there);
  if (!there)
    return;
  require(as_it_is.root().digest == root.digest, "a copy has its original's digest");
  const oci::Publication converted = read(reference, input.blobs, root, {.as_oci = true}, there);
  require(there, "what can be copied can be converted");
  Blobs both = input.blobs;
  for (const oci::Document& document : converted.documents)
    both.emplace(document.digest, document.text);
  const oci::Document& top = converted.root();
  const oci::Publication again =
      read(reference, both, descriptor_of(top.media_type, top.text), {.as_oci = true}, there);
  require(there && again.root().digest == top.digest, "what was converted stays as it is");
  static_cast<void>(read(reference, input.blobs, root, {.architecture = "arm64"}, there));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const oci::Reference reference = *oci::parse_reference("docker://localhost/fuzz:v1");
  const Input input = input_of({reinterpret_cast<const char*>(data), size});
  const std::string type = oci::manifest_type(input.root);
  for (const char* known : {oci::media_type::manifest, oci::media_type::index,
                            oci::media_type::docker_manifest, oci::media_type::docker_index}) {
    if (!type.empty() && type != known)
      continue;
    open(reference, input, descriptor_of(known, input.root));
    copy(reference, input, descriptor_of(known, input.root));
  }
  return 0;
}
