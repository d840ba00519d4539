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
    // Skips entries with another digest algorithm, and malformed ones, so that they hide no others.
    if (Result<oci::Referrer> referrer = oci::parse_referrer(item))
      list.push_back(*std::move(referrer));
  }
  return list;
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

// The specification wants 404; registries and proxies without this API also answer otherwise.
bool is_no_such_api(const http::Response& response) {
  const std::string* const type = response.header("Content-Type");
  return response.status == 400 || response.status == 404 || response.status == 405 ||
         response.status == 406 || response.status == 501 ||
         (response.status == 200 && type && type->find("json") == std::string::npos);
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
      if (page == 0 && is_no_such_api(response))
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
    XAAS_TRY(const std::optional<std::string> text, index_under_tag());
    return text ? parse_list(*text, "manifest " + oci::digest_tag(subject_)) : std::vector<oci::Referrer>();
  }

  // Concurrent writers may overwrite each other's entries, so it checks the index again afterwards. What
  // others have written stays as it is.
  Result<void> add_to_tag(const oci::Referrer& referrer) {
    const std::string tag = oci::digest_tag(subject_);
    for (unsigned n = 0; n < max_tries; ++n) {
      XAAS_TRY(const std::optional<std::string> text, index_under_tag());
      Json index = {
          {"schemaVersion", 2}, {"mediaType", oci::media_type::index}, {"manifests", Json::array()}};
      if (text) {
        XAAS_TRY(const std::vector<oci::Referrer> list, parse_list(*text, "manifest " + tag));
        if (is_listed(list, referrer.descriptor.digest))
          return {};
        XAAS_TRY(index, parse_json(*text, "manifest " + tag, false, ErrorKind::integrity));
      }
      index["manifests"].push_back(oci::to_json(referrer));
      std::string changed = index.dump(-1, ' ', false, Json::error_handler_t::replace);
      const Digest digest = digest_of(changed);
      XAAS_TRY([[maybe_unused]] const http::Response put,
               put_document(session_, {oci::media_type::index, std::move(changed), digest}, tag));
    }
    XAAS_TRY(const std::vector<oci::Referrer> list, from_tag());
    if (is_listed(list, referrer.descriptor.digest))
      return {};
    return make_error(ErrorKind::failed, "manifest " + tag + ": others keep changing it",
                      "run the command again");
  }

private:
  Result<std::optional<std::string>> index_under_tag() {
    const std::string tag = oci::digest_tag(subject_);
    XAAS_TRY(http::Response response, get(session_.url("manifests/" + tag)));
    if (response.status == 404)
      return std::optional<std::string>();
    if (response.status != 200)
      return session_.refusal(response, "manifest " + tag);
    return std::optional(std::move(response.body));
  }

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
  const std::string what = "reading the referrers of " + image.text;
  XAAS_TRY(const oci::FindReferrers find, find_referrers(image, access, [](const std::string&) {}));
  XAAS_TRY(std::vector<oci::Referrer> list, find(subject, false).in(what));
  if (!type.empty())
    std::erase_if(list, [&](const oci::Referrer& each) { return each.type != type; });
  return list;
}

Result<oci::FindReferrers> find_referrers(const oci::Reference& image, const Access& access,
                                          const oci::OnSkipped& skipped) {
  if (image.transport != oci::Transport::registry)
    return oci::stored_referrers(image, skipped);
  XAAS_TRY(std::shared_ptr<Session> session, Session::open(image, access, Session::Purpose::pull));
  return oci::FindReferrers(
      [session, skipped](const Digest& subject, bool tagged) -> Result<std::vector<oci::Referrer>> {
        XAAS_TRY(std::vector<oci::Referrer> list, referrers_in(*session, subject));
        for (const char* suffix : oci::cosign_suffixes) {
          const std::string tag = oci::digest_tag(subject, suffix);
          if (!tagged)
            break;
          const Result<std::optional<oci::Descriptor>> found = find_manifest(*session, tag);
          if (!found && found.error().kind == ErrorKind::unsatisfied) // of an unknown type
            skipped(found.error().message + "; it is not copied");
          else if (!found)
            return Error(found.error());
          else if (*found)
            list.push_back({"", **found, subject, tag});
        }
        return list;
      });
}

} // namespace xaas::registry
