#include "referrer_lists.h"

#include "places.h"
#include "pull.h"
#include "push.h"

#include <xaas/base/json.h>
#include <xaas/oci/blob_source.h>
#include <xaas/registry/referrers.h>

#include <algorithm>
#include <optional>

namespace xaas::registry {

namespace {

constexpr unsigned max_pages = 64;
constexpr unsigned max_tries = 5;

bool is_listed(const std::vector<oci::Referrer>& list, const Digest& digest) {
  return std::any_of(list.begin(), list.end(),
                     [&](const oci::Referrer& each) { return each.descriptor.digest == digest; });
}

Result<std::vector<oci::Referrer>> parse_list(const std::string& text, const std::string& where) {
  XAAS_TRY(const Json json, parse_json(text, where, false, ErrorKind::integrity));
  XAAS_TRY(const JsonReader manifests, JsonReader(json, where).at("manifests"));
  XAAS_TRY(const std::vector<JsonReader> items, manifests.items());
  std::vector<oci::Referrer> list;
  for (const JsonReader& item : items) {
    XAAS_TRY(oci::Referrer referrer, oci::parse_referrer(item));
    list.push_back(std::move(referrer));
  }
  return list;
}

std::string to_list(const std::vector<oci::Referrer>& list) {
  Json manifests = Json::array();
  for (const oci::Referrer& each : list)
    manifests.push_back(oci::to_json(each));
  return Json{{"schemaVersion", 2}, {"mediaType", oci::media_type::index}, {"manifests", manifests}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

// The address of the next page of a response (RFC 8288, `Link: <...>; rel="next"`), empty after the last one.
Result<std::string> next_page(const Session& session, const std::string& url,
                              const http::Response& response) {
  const std::string* const link = response.header("Link");
  const size_t end = link ? link->find('>') : std::string::npos;
  if (end == std::string::npos || !link->starts_with("<") ||
      link->find("rel=\"next\"", end) == std::string::npos)
    return std::string();
  http::Response redirect;
  redirect.headers = {{"Location", link->substr(1, end - 1)}};
  return session.resolve(url, redirect);
}

// The referrers in one repository.
class Referrers {
public:
  Referrers(Session& session, const Digest& subject) : session_(session), subject_(subject) {}

  // The list of the registry's API, or nothing if it has no such API.
  Result<std::optional<std::vector<oci::Referrer>>> from_api() {
    std::vector<oci::Referrer> all;
    std::string url = session_.url("referrers/" + subject_.to_string());
    for (unsigned page = 0; !url.empty(); ++page) {
      if (page == max_pages)
        return make_error(ErrorKind::integrity, "referrers of " + subject_.to_string() + ": too many pages");
      XAAS_TRY(const http::Response response, get(url));
      if (response.status == 404 && page == 0)
        return std::optional<std::vector<oci::Referrer>>();
      if (response.status != 200)
        return session_.refusal(response, "referrers of " + subject_.to_string());
      XAAS_TRY(const auto part, parse_list(response.body, "referrers of " + subject_.to_string()));
      all.insert(all.end(), part.begin(), part.end());
      XAAS_TRY(url, next_page(session_, url, response));
    }
    return std::optional(std::move(all));
  }

  // The list in the index under the tag.
  Result<std::vector<oci::Referrer>> from_tag() {
    XAAS_TRY(const http::Response response, get(session_.url("manifests/" + oci::digest_tag(subject_))));
    if (response.status == 404)
      return std::vector<oci::Referrer>();
    if (response.status != 200)
      return session_.refusal(response, "manifest " + oci::digest_tag(subject_));
    return parse_list(response.body, "manifest " + oci::digest_tag(subject_));
  }

  // Concurrent writers may overwrite each other's entries, so it checks the index again afterwards.
  Result<void> add_to_tag(const oci::Referrer& referrer) {
    for (unsigned n = 0; n < max_tries; ++n) {
      XAAS_TRY(std::vector<oci::Referrer> list, from_tag());
      if (is_listed(list, referrer.descriptor.digest))
        return {};
      list.push_back(referrer);
      std::string text = to_list(list);
      const Digest digest = digest_of(text);
      XAAS_CHECK(put_document(session_, {oci::media_type::index, std::move(text), digest},
                              oci::digest_tag(subject_)));
    }
    XAAS_TRY(const std::vector<oci::Referrer> list, from_tag());
    if (is_listed(list, referrer.descriptor.digest))
      return {};
    return make_error(ErrorKind::failed,
                      "manifest " + oci::digest_tag(subject_) + ": others keep changing it",
                      "run the command again");
  }

private:
  Result<http::Response> get(const std::string& url) {
    return session_.send_patiently({.method = "GET",
                                    .url = url,
                                    .headers = {{"Accept", oci::media_type::index}},
                                    .answer_bytes = oci::manifest_limit});
  }

  Session& session_;
  Digest subject_;
};

Result<Digest> attach_remote(const oci::Reference& image, const oci::Artifact& artifact,
                             const Access& access) {
  XAAS_TRY(const Place place, place_to_write(image, access));
  XAAS_TRY(const std::unique_ptr<Session> session,
           Session::open(place.reference, place.access, Session::Purpose::push));
  const oci::RenderedArtifact rendered = oci::render(artifact);
  for (const std::string& bytes : {std::string(oci::empty_config), artifact.content}) {
    const oci::NewBlob blob{{artifact.type, digest_of(bytes), bytes.size(), {}},
                            [&bytes]() -> Result<oci::BlobPtr> { return oci::blob_of(bytes); },
                            {}};
    XAAS_CHECK(send_blob(*session, blob, "", no_progress()));
  }
  const Digest digest = rendered.descriptor.digest;
  XAAS_TRY(
      const http::Response put,
      put_document(*session, {oci::media_type::manifest, rendered.manifest, digest}, digest.to_string()));
  XAAS_CHECK(list_if_referrer(*session, {oci::media_type::manifest, rendered.manifest, digest}, put));
  return digest;
}

} // namespace

Result<Digest> attach(const oci::Reference& image, const oci::Artifact& artifact, const Access& access) {
  if (image.transport == oci::Transport::registry)
    return attach_remote(image, artifact, access).in("attaching to " + image.text);
  return oci::attach(image, artifact);
}

Result<void> list_if_referrer(Session& session, const oci::Document& document, const http::Response& put) {
  // This header means that the registry lists the referrer itself.
  if (put.header("OCI-Subject"))
    return {};
  XAAS_TRY(const std::optional<oci::Referrer> referrer, oci::as_referrer(document.media_type, document.text));
  return referrer ? Referrers(session, referrer->subject).add_to_tag(*referrer) : Result<void>();
}

namespace {

Result<std::vector<oci::Referrer>> referrers_in(Session& session, const Digest& subject) {
  Referrers referrers(session, subject);
  XAAS_TRY(auto from_api, referrers.from_api());
  if (from_api)
    return *std::move(from_api);
  return referrers.from_tag();
}

} // namespace

Result<std::vector<oci::Referrer>> referrers(const oci::Reference& image, const Digest& subject,
                                             const std::string& type, const Access& access) {
  if (image.transport != oci::Transport::registry)
    return oci::referrers(image, subject, type);
  const std::string what = "reading the referrers of " + image.text;
  XAAS_TRY(const std::unique_ptr<Session> session, Session::open(image, access, Session::Purpose::pull));
  XAAS_TRY(std::vector<oci::Referrer> list, referrers_in(*session, subject).in(what));
  if (!type.empty())
    std::erase_if(list, [&](const oci::Referrer& each) { return each.type != type; });
  return list;
}

Result<oci::FindReferrers> find_referrers(const oci::Reference& image, const Access& access,
                                          const std::function<void(const std::string&)>& skipped) {
  if (image.transport != oci::Transport::registry)
    return oci::stored_referrers(image, skipped);
  XAAS_TRY(std::shared_ptr<Session> session, Session::open(image, access, Session::Purpose::pull));
  return oci::FindReferrers(
      [session](const Digest& subject, bool tagged) -> Result<std::vector<oci::Referrer>> {
        XAAS_TRY(std::vector<oci::Referrer> list, referrers_in(*session, subject));
        for (const char* suffix : oci::cosign_suffixes) {
          const std::string tag = oci::digest_tag(subject, suffix);
          if (!tagged)
            break;
          XAAS_TRY(const std::optional<oci::Descriptor> found, find_manifest(*session, tag));
          if (found)
            list.push_back({"", *found, subject, tag});
        }
        return list;
      });
}

} // namespace xaas::registry
