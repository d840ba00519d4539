#include "pull.h"

#include "kept_blobs.h"
#include "places.h"
#include "remote_blob.h"
#include "session.h"
#include "shared_progress.h"

#include <xaas/base/parallel.h>
#include <xaas/base/text.h>
#include <xaas/base/trace.h>

#include <algorithm>
#include <mutex>

namespace xaas::registry {

namespace {

const char* const accepted_manifests =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

// A manifest as received, and its type.
struct Found {
  oci::Descriptor descriptor;
  std::string text;
};

std::string type_of(const http::Response& response) {
  const std::string* const type = response.header("Content-Type");
  return type ? trim(type->substr(0, type->find(';'))) : std::string();
}

Result<http::Response> request_manifest(Session& session, const std::string& name, uint64_t limit) {
  if (!oci::is_tag(name) && !Digest::parse(name)) // it becomes part of an address
    return make_error(ErrorKind::integrity, "'" + printable(name) + "' is neither a tag nor a digest");
  return session.send_patiently({.url = session.url("manifests/" + name),
                                 .headers = {{"Accept", accepted_manifests}},
                                 .answer_bytes = limit});
}

Result<Found> read_manifest(Session& session, const std::string& name, http::Response response) {
  const std::string what = "manifest " + name;
  if (response.status != 200) {
    Error error = session.refusal(response, what);
    if (response.status == 404)
      error.hint = "`skopeo list-tags docker://" + session.reference().host + "/" +
                   session.reference().repository + "` lists the tags";
    return error;
  }
  Found found;
  found.text = std::move(response.body);
  const std::string type = type_of(response), own = oci::manifest_type(found.text);
  const auto known = [](const std::string& text) {
    return oci::is_manifest_type(text) || oci::is_index_type(text);
  };
  // A static file server does not know media types, but the server must not contradict the document.
  if (known(type) && known(own) && oci::is_index_type(type) != oci::is_index_type(own))
    return make_error(ErrorKind::integrity,
                      what + ": the registry gives its type as " + type + ", but it states " + own);
  found.descriptor = {known(type) ? type : own, digest_of(found.text), found.text.size(), {}};
  if (!known(found.descriptor.media_type))
    return make_error(ErrorKind::unsatisfied, what + ": it has the unknown type '" + printable(type) + "'");
  if (const std::string* const said = response.header("Docker-Content-Digest");
      said && said->starts_with("sha256:") && *said != found.descriptor.digest.to_string())
    return make_error(ErrorKind::integrity, what + ": its digest is not the one that the registry states");
  return found;
}

Result<Found> get_manifest(Session& session, const std::string& name, uint64_t limit) {
  XAAS_TRY(http::Response response, request_manifest(session, name, limit));
  return read_manifest(session, name, std::move(response));
}

class RegistrySource : public oci::BlobSource {
public:
  RegistrySource(const oci::Reference& reference, const Access& access)
      : reference_(reference), access_(access), kept_(access.blobs) {}

  // The manifest or index that the reference names by its digest, if it is kept.
  std::optional<oci::Descriptor> kept_root() {
    if (reference_.digest)
      if (const auto text = kept_.text(*reference_.digest, oci::manifest_limit))
        return oci::Descriptor{oci::manifest_type(*text), *reference_.digest, text->size(), {}};
    return std::nullopt;
  }

  // Asks the registry for it.
  Result<oci::Descriptor> find_root() {
    XAAS_TRY(const Sessions::Lent session, connect());
    const std::string name = reference_.digest        ? reference_.digest->to_string()
                             : reference_.tag.empty() ? "latest"
                                                      : reference_.tag;
    XAAS_TRY(Found found, get_manifest(*session, name, oci::manifest_limit).in(reference_.text));
    if (reference_.digest && found.descriptor.digest != *reference_.digest)
      return make_error(ErrorKind::integrity, reference_.text +
                                                  ": the registry sends a manifest with the digest " +
                                                  found.descriptor.digest.to_string());
    first_ = std::move(found);
    return first_->descriptor;
  }

  Result<void> prefetch(const std::vector<oci::Descriptor>& blobs, Progress& progress) const override {
    SharedProgress shared(progress);
    return run_parallel(blobs.size(), access_.transfers, [&](size_t i) -> Result<void> {
      XAAS_TRY(const oci::BlobPtr found, get(blobs[i], &shared));
      return {};
    });
  }

protected:
  Result<oci::BlobPtr> find(const oci::Descriptor& blob) const override {
    if (oci::BlobPtr known = kept_.get(blob))
      return known;
    return remote(blob);
  }

  Result<oci::BlobPtr> find_checked(const oci::Descriptor& blob) const override { return get(blob, nullptr); }

  Result<std::string> fetch(const oci::Descriptor& blob) const override {
    if (first_ && first_->descriptor.digest == blob.digest)
      return first_->text;
    if (std::optional<std::string> known = kept_.text(blob.digest, blob.size))
      return *std::move(known);
    if (oci::is_manifest_type(blob.media_type) || oci::is_index_type(blob.media_type)) {
      XAAS_TRY(const Sessions::Lent session, connect());
      XAAS_TRY(Found found, get_manifest(*session, blob.digest.to_string(), blob.size));
      return std::move(found.text);
    }
    XAAS_TRY(const oci::BlobPtr found, remote(blob));
    return oci::read_whole(*found);
  }

  void checked(const oci::Descriptor& blob, const std::string& bytes) const override {
    kept_.put(blob.digest, bytes);
  }

private:
  Result<oci::BlobPtr> get(const oci::Descriptor& blob, Progress* progress) const {
    trace::Span span("transfer", blob.digest.to_string());
    span.set("bytes", blob.size);
    if (oci::BlobPtr known = kept_.get(blob)) {
      span.set("cache", "hit");
      if (progress)
        progress->advance(blob.size);
      return known;
    }
    span.set("cache", "miss");
    return kept_.keep(blob, [&] { return remote(blob); }, progress);
  }

  Result<oci::BlobPtr> remote(const oci::Descriptor& blob) const {
    XAAS_TRY(Sessions::Lent session, connect());
    return remote_blob(sessions_, std::move(session), blob);
  }

  // A session that no other thread uses.
  Result<Sessions::Lent> connect() const {
    const std::lock_guard<std::mutex> once(connecting_);
    if (!sessions_) {
      XAAS_TRY(auto session, Session::open(reference_, access_, Session::Purpose::pull));
      sessions_ = std::make_shared<Sessions>(std::move(session));
    }
    return sessions_->lend();
  }

  oci::Reference reference_;
  Access access_;
  std::optional<Found> first_;
  KeptBlobs kept_;
  mutable std::mutex connecting_;
  mutable std::shared_ptr<Sessions> sessions_;
};

} // namespace

Result<std::optional<oci::Descriptor>> find_manifest(Session& session, const std::string& name) {
  XAAS_TRY(http::Response response, request_manifest(session, name, oci::manifest_limit));
  if (response.status == 404)
    return std::optional<oci::Descriptor>();
  XAAS_TRY(Found found, read_manifest(session, name, std::move(response)));
  return std::optional(std::move(found.descriptor));
}

Result<OpenedSource> open_remote_source(const oci::Reference& reference, const Access& access,
                                        const oci::Reference* avoid) {
  XAAS_TRY(std::vector<Place> places, places_to_read(reference, access));
  const auto same_name = [](const oci::Reference& a, const oci::Reference& b) {
    return a.host == b.host && a.repository == b.repository;
  };
  // Not the image's own name: then it gets another tag.
  const auto avoided = [&](const Place& place) {
    return avoid && same_name(place.reference, *avoid) && !same_name(place.reference, reference);
  };
  if (std::all_of(places.begin(), places.end(), avoided))
    return make_error(ErrorKind::usage, reference.text + ": it is read from " + places.back().reference.text +
                                            ", which is the destination");
  std::vector<Error> errors;
  std::optional<OpenedSource> kept;
  for (const Place& place : places) {
    if (avoided(place))
      continue;
    auto source = std::make_unique<RegistrySource>(place.reference, place.access);
    const std::optional<oci::Descriptor> known = source->kept_root();
    // A kept manifest does not tell which of several places has the layers.
    if (known && (places.size() == 1 || access.offline))
      return OpenedSource{std::move(source), *known, place};
    Result<oci::Descriptor> root = source->find_root();
    if (root)
      return OpenedSource{std::move(source), *std::move(root), place};
    if (known && !kept)
      kept = OpenedSource{std::move(source), *known, place};
    if (root.error().kind == ErrorKind::interrupted)
      return std::move(root).error();
    if (access.note && root.error().kind != ErrorKind::not_found && &place != &places.back())
      access.note(root.error().message + "; trying the next place");
    errors.push_back(std::move(root).error());
  }
  if (kept) // complete, perhaps
    return *std::move(kept);
  return none_of_places(reference, std::move(errors));
}

Result<std::unique_ptr<oci::Image>> open_remote(const oci::Reference& reference,
                                                const std::string& architecture, const Access& access,
                                                const oci::Chooser& chooser) {
  XAAS_TRY(OpenedSource opened, open_remote_source(reference, access));
  return oci::open_manifest(reference, std::move(opened.source), opened.root, architecture, chooser);
}

} // namespace xaas::registry
