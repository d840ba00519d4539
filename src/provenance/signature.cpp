#include "bundle.h"

#include <xaas/provenance/signature.h>

#include <xaas/base/base64.h>
#include <xaas/base/json.h>
#include <xaas/base/text.h>
#include <xaas/oci/blob_source.h>
#include <xaas/oci/referrers.h>
#include <xaas/registry/referrers.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace xaas::provenance {

namespace {

constexpr const char* payload_type = "application/vnd.dev.cosign.simplesigning.v1+json";
constexpr const char* signature_annotation = "dev.cosignproject.cosign/signature";
constexpr const char* certificate_annotation = "dev.sigstore.cosign/certificate";
constexpr const char* critical_type = "cosign container image signature";
constexpr uint64_t max_payload = 64 * 1024;
constexpr uint64_t max_bundle = 4 * 1024 * 1024; // with certificates and the proofs of a log
constexpr size_t max_signatures = 256;           // each one is read and verified
constexpr size_t max_referrers = 1000;           // of any kind; the manifest of each is read

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

// Looks for a valid signature of one digest; counts the reasons why others are not.
class Search {
public:
  // `opened`: what the reference of the image names.
  Search(const oci::Image& image, const registry::OpenedSource& opened, const Digest& wanted,
         const Signer& signer, std::map<std::string, size_t>& reasons)
      : image_(image), opened_(opened), wanted_(wanted), signer_(signer), reasons_(reasons) {}

  // One valid signature is enough, whatever else there is. An error only if there is none.
  Result<bool> run() {
    const Result<bool> under_tag = search_tag();
    if ((under_tag && *under_tag) || (!under_tag && under_tag.error().kind == ErrorKind::interrupted))
      return under_tag;
    const Result<bool> in_bundle = search_bundles();
    if (in_bundle && *in_bundle)
      return true;
    return under_tag ? in_bundle : under_tag;
  }

private:
  Result<bool> search_tag() {
    const oci::Reference place = place_of_signatures(opened_.place.reference, wanted_);
    Result<std::unique_ptr<oci::Image>> opened =
        registry::open_image(place, image_.config().architecture, opened_.place.access);
    if (!opened && opened.error().kind == ErrorKind::not_found)
      return false;
    if (!opened) {
      Error error = std::move(opened).error();
      if (error.kind == ErrorKind::usage ||
          error.kind == ErrorKind::unsatisfied) // the tag refers to something else
        error.kind = ErrorKind::integrity;
      return error;
    }
    const oci::Image& signatures = **opened;
    size_t count = 0;
    for (const oci::Descriptor& layer : signatures.manifest().layers) {
      if (layer.media_type != payload_type)
        continue;
      if (++count > max_signatures)
        return make_error(ErrorKind::integrity,
                          place.text + ": more than " + std::to_string(max_signatures) + " signatures");
      XAAS_TRY(const bool good, is_good(signatures, layer));
      if (good)
        return true;
    }
    if (count == 0)
      ++reasons_["it holds none of the kind that cosign makes with a key"];
    return false;
  }

  Result<bool> search_bundles() {
    const oci::Reference& place = opened_.place.reference;
    XAAS_TRY(const std::vector<oci::Referrer> found,
             registry::referrers(place, wanted_, "", opened_.place.access));
    if (found.size() > max_referrers)
      return make_error(ErrorKind::integrity,
                        place.text + ": more than " + std::to_string(max_referrers) + " referrers");
    Result<bool> none = false;
    for (const oci::Referrer& each : found) {
      Result<bool> good = is_good_bundle(*opened_.source, each);
      if ((good && *good) || (!good && good.error().kind == ErrorKind::interrupted))
        return good;
      if (!good && good.error().kind != ErrorKind::unsatisfied) // of an unknown type
        none = std::move(good);
    }
    return none;
  }

  // Damaged content only means that this signature does not count.
  Result<std::optional<std::string>> read(const oci::BlobSource& source, const oci::Descriptor& blob,
                                          uint64_t limit) {
    Result<std::string> text = source.read(blob, limit);
    if (text)
      return std::optional(*std::move(text));
    if (text.error().kind != ErrorKind::integrity)
      return std::move(text).error();
    return std::optional<std::string>();
  }

  // The type in a list is not reliable: cosign writes that of the configuration.
  Result<bool> is_good_bundle(const oci::BlobSource& source, const oci::Referrer& referrer) {
    XAAS_TRY(const std::optional<std::string> text, read(source, referrer.descriptor, oci::manifest_limit));
    const Result<std::vector<oci::Descriptor>> layers =
        text ? oci::layers_of(*text, "manifest " + referrer.descriptor.digest.to_string())
             : Result<std::vector<oci::Descriptor>>(make_error(ErrorKind::integrity, "damaged"));
    if (!layers || layers->size() != 1 || !is_bundle_type(layers->front().media_type))
      return is_bundle_type(referrer.type) ? no("in a bundle without content") : Result<bool>(false);
    XAAS_TRY(const std::optional<std::string> bundle, read(source, layers->front(), max_bundle));
    if (!bundle)
      return no("in a bundle that is damaged or too large");
    const std::string reason = why_not_valid(*bundle, signer_, wanted_);
    return reason.empty() ? Result<bool>(true) : no(reason);
  }

  bool no(const std::string& reason) {
    constexpr size_t most = 16; // different ones
    ++reasons_[reasons_.size() < most || reasons_.contains(reason) ? reason : "for other reasons"];
    return false;
  }

  Result<bool> is_good(const oci::Image& signatures, const oci::Descriptor& layer) {
    const auto annotation = layer.annotations.find(signature_annotation);
    if (annotation == layer.annotations.end())
      return no("without signature");
    const std::optional<std::string> signature = decode_base64(annotation->second);
    if (!signature || signature->empty())
      return no("not in base64");
    if (layer.size > max_payload)
      return no("with a payload that is too large");
    const Result<std::string> payload = signatures.blob(layer);
    if (!payload && payload.error().kind != ErrorKind::integrity)
      return Error(payload.error());
    if (!payload)
      return no("with a damaged payload");
    const auto* const key = std::get_if<PublicKey>(&signer_);
    if (!key) // only bundles have all that is needed to judge an identity
      return no(layer.annotations.contains(certificate_annotation)
                    ? "in the form of cosign 2, which is for keys here"
                    : "by a key, not by an identity");
    if (!key->verifies(*payload, *signature))
      return no(layer.annotations.contains(certificate_annotation) ? by_certificate : "not by this key");
    const Result<Digest> found = signed_digest(*payload);
    if (!found)
      return no("by this key, but of something else than an image (" + found.error().message + ")");
    if (*found != wanted_)
      return no("by this key, but of another image, " + found->to_string());
    return true;
  }

  const oci::Image& image_;
  const registry::OpenedSource& opened_;
  const Digest& wanted_;
  const Signer& signer_;
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

Result<Signature> check_signature(const oci::Image& image, const Signer& signer,
                                  const registry::Access& access) {
  const auto* const key = std::get_if<PublicKey>(&signer);
  const std::string what = "checking the signature of " + image.reference().text;
  std::vector<Digest> digests;
  if (image.index_digest())
    digests.push_back(*image.index_digest());
  digests.push_back(image.digest());
  XAAS_TRY(const registry::OpenedSource opened,
           registry::open_source(image.reference(), std::nullopt, access).in(what));
  std::map<std::string, size_t> reasons;
  std::optional<Error> unread;
  for (const Digest& digest : digests) {
    Result<bool> good = Search(image, opened, digest, signer, reasons).run();
    if (good && *good)
      return key ? Signature{digest, key->fingerprint(), {}, {}}
                 : Signature{digest, std::nullopt, std::get<Identity>(signer).name,
                             std::get<Identity>(signer).issuer};
    if (!good && good.error().kind == ErrorKind::interrupted)
      return std::move(good).error();
    if (!good && !unread)
      unread = std::move(good).error();
  }
  if (unread)
    return std::move(*unread).in(what);
  if (reasons.empty())
    return make_error(ErrorKind::integrity,
                      what + ": it is not signed: there is no " +
                          place_of_signatures(opened.place.reference, digests[0]).text +
                          ", and no Sigstore bundle refers to it",
                      "`cosign sign` signs an image in a registry");
  return make_error(ErrorKind::integrity,
                    what + ": none of its signatures is good for " +
                        (key ? "the key " + key->name() : "the identity " + std::get<Identity>(signer).name) +
                        ": " + text_of(reasons));
}

} // namespace xaas::provenance
