#include <xaas/provenance/signature.h>

#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/oci/referrers.h>

#include <openssl/evp.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace xaas::provenance {

namespace {

constexpr const char* payload_type = "application/vnd.dev.cosign.simplesigning.v1+json";
constexpr const char* signature_annotation = "dev.cosignproject.cosign/signature";
constexpr const char* critical_type = "cosign container image signature";
constexpr uint64_t max_payload = 64 * 1024;
constexpr size_t max_signatures = 256; // each one is read and verified

std::optional<std::string> decode_base64(const std::string& text) {
  const std::unique_ptr<EVP_ENCODE_CTX, decltype(&EVP_ENCODE_CTX_free)> context(EVP_ENCODE_CTX_new(),
                                                                                EVP_ENCODE_CTX_free);
  if (!context || text.empty() || text.size() > max_payload)
    return std::nullopt;
  EVP_DecodeInit(context.get());
  std::vector<unsigned char> bytes(text.size() + 3);
  int size = 0, rest = 0;
  if (EVP_DecodeUpdate(context.get(), bytes.data(), &size,
                       reinterpret_cast<const unsigned char*>(text.data()),
                       static_cast<int>(text.size())) < 0 ||
      EVP_DecodeFinal(context.get(), bytes.data() + size, &rest) < 0)
    return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(size + rest));
}

// The reference of the signatures of an image.
oci::Reference place_of_signatures(const oci::Reference& image, const Digest& digest) {
  oci::Reference place = image;
  place.tag = oci::digest_tag(digest, ".sig");
  place.digest.reset();
  switch (image.transport) {
  case oci::Transport::registry:
    place.text = "docker://" + image.host + "/" + image.repository + ":" + place.tag;
    break;
  case oci::Transport::archive:
    place.text = "oci-archive:" + image.path.string() + ":" + place.tag;
    break;
  default:
    place.text = "oci:" + image.path.string() + ":" + place.tag;
  }
  return place;
}

// Checks the signatures for one digest. Nothing if there is no valid one; counts the reasons.
class Search {
public:
  Search(const PublicKey& key, std::map<std::string, size_t>& reasons) : key_(key), reasons_(reasons) {}

  Result<bool> run(const oci::Image& signatures, const Digest& wanted) {
    size_t count = 0;
    for (const oci::Descriptor& layer : signatures.manifest().layers) {
      if (layer.media_type != payload_type)
        continue;
      if (++count > max_signatures)
        return make_error(ErrorKind::integrity, signatures.reference().text + ": more than " +
                                                    std::to_string(max_signatures) + " signatures");
      XAAS_TRY(const bool good, is_good(signatures, layer, wanted));
      if (good)
        return true;
    }
    if (count == 0)
      ++reasons_["it holds none of the kind that cosign makes with a key"];
    return false;
  }

private:
  bool no(const std::string& reason) {
    ++reasons_[reason];
    return false;
  }

  Result<bool> is_good(const oci::Image& signatures, const oci::Descriptor& layer, const Digest& wanted) {
    const auto annotation = layer.annotations.find(signature_annotation);
    if (annotation == layer.annotations.end())
      return no("without signature");
    const std::optional<std::string> signature = decode_base64(annotation->second);
    if (!signature)
      return no("not in base64");
    if (layer.size > max_payload)
      return no("with a payload that is too large");
    const Result<std::string> payload = signatures.blob(layer);
    if (!payload && payload.error().kind != ErrorKind::integrity)
      return Error(payload.error());
    if (!payload)
      return no("with a damaged payload");
    if (!key_.verifies(*payload, *signature))
      return no("not by this key");
    const Result<Digest> found = signed_digest(*payload);
    if (!found)
      return no("by this key, but of something else than an image (" + found.error().message + ")");
    if (*found != wanted)
      return no("by this key, but of another image, " + found->to_string());
    return true;
  }

  const PublicKey& key_;
  std::map<std::string, size_t>& reasons_;
};

std::string text_of(const std::map<std::string, size_t>& reasons) {
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons)
    parts.push_back((count > 1 ? std::to_string(count) + " " : "") + reason);
  return join(parts, "; ");
}

} // namespace

Result<Digest> signed_digest(const std::string& payload) {
  XAAS_TRY(const Json json, parse_json(payload, "payload", false, ErrorKind::integrity));
  XAAS_TRY(const JsonReader critical, JsonReader(json, "payload").at("critical"));
  XAAS_TRY(const std::string type, critical.string_at("type"));
  if (type != critical_type)
    return make_error(ErrorKind::integrity, critical.where() + "/type: not '" + critical_type + "'");
  XAAS_TRY(const JsonReader image, critical.at("image"));
  XAAS_TRY(const std::string digest, image.string_at("docker-manifest-digest"));
  return Digest::parse(digest).in(image.where() + "/docker-manifest-digest");
}

Result<Signature> check_signature(const oci::Image& image, const PublicKey& key,
                                  const registry::Access& access) {
  const std::string what = "checking the signature of " + image.reference().text;
  std::vector<Digest> digests;
  if (image.index_digest())
    digests.push_back(*image.index_digest());
  digests.push_back(image.digest());
  std::map<std::string, size_t> reasons;
  for (const Digest& digest : digests) {
    Result<std::unique_ptr<oci::Image>> opened = registry::open_image(
        place_of_signatures(image.reference(), digest), image.config().architecture, access);
    if (!opened && opened.error().kind == ErrorKind::not_found)
      continue;
    if (!opened) {
      Error error = std::move(opened).error();
      if (error.kind == ErrorKind::usage ||
          error.kind == ErrorKind::unsatisfied) // the tag refers to something else
        error.kind = ErrorKind::integrity;
      return std::move(error).in(what);
    }
    XAAS_TRY(const bool good, Search(key, reasons).run(**opened, digest).in(what));
    if (good)
      return Signature{digest, key.fingerprint()};
  }
  if (reasons.empty())
    return make_error(ErrorKind::integrity,
                      what + ": it is not signed: there is no " +
                          place_of_signatures(image.reference(), digests[0]).text,
                      "`cosign sign --key` signs an image in a registry");
  return make_error(ErrorKind::integrity, what + ": none of its signatures is good for the key " +
                                              key.name() + ": " + text_of(reasons));
}

} // namespace xaas::provenance
