#include "push.h"

#include "session.h"

#include <algorithm>
#include <charconv>
#include <map>

namespace xaas::registry {

namespace {

constexpr unsigned max_tries = 5;

struct Blob {
  Digest digest;
  uint64_t size = 0;
  std::function<Result<std::string>()> bytes;
  std::string mount_from; // a repository of the same registry that has it; empty: none is known
  std::string name() const { return "blob " + digest.to_string(); }
};

// In the order of the image, each once.
std::vector<Blob> blobs_of(const oci::NewImage& image, const oci::Rendered& rendered,
                           const oci::Reference& to) {
  std::vector<Blob> blobs;
  const auto add = [&](Blob blob) {
    if (std::none_of(blobs.begin(), blobs.end(), [&](const Blob& b) { return b.digest == blob.digest; }))
      blobs.push_back(std::move(blob));
  };
  for (const oci::NewLayer& layer : image.layers) {
    const bool near = layer.origin && layer.origin->transport == oci::Transport::registry &&
                      layer.origin->host == to.host && layer.origin->repository != to.repository;
    add({layer.descriptor.digest, layer.descriptor.size, layer.bytes,
         near ? layer.origin->repository : std::string()});
  }
  add({digest_of(rendered.config),
       rendered.config.size(),
       [&rendered]() -> Result<std::string> { return rendered.config; },
       {}});
  return blobs;
}

std::string with_query(const std::string& url, const std::string& query) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + query;
}

// Bytes of a blob as the body of a request.
http::Upload part_of(const std::string& bytes, uint64_t from, uint64_t size) {
  return {size, [&bytes, from, size](uint64_t offset, char* buffer, size_t capacity) -> Result<size_t> {
            return bytes.copy(buffer, static_cast<size_t>(std::min<uint64_t>(capacity, size - offset)),
                              static_cast<size_t>(from + offset));
          }};
}

// The number of bytes that the registry has, from its `Range: 0-LAST`. Nothing: it does not say.
std::optional<uint64_t> received(const http::Response& response) {
  const std::string* const range = response.header("Range");
  const size_t dash = range ? range->find('-') : std::string::npos;
  if (dash == std::string::npos)
    return std::nullopt;
  uint64_t last = 0;
  const char* const end = range->data() + range->size();
  const auto [rest, code] = std::from_chars(range->data() + dash + 1, end, last);
  if (code != std::errc() || rest != end)
    return std::nullopt;
  return last + 1;
}

// One blob on its way. An upload that broke goes on where the registry says that it is, or begins again.
class UploadOf {
public:
  UploadOf(Session& session, const Blob& blob) : session_(session), blob_(blob) {}

  Result<void> run() {
    XAAS_TRY(const bool there, exists());
    if (there)
      return {};
    XAAS_TRY(const bool mounted, begin(blob_.mount_from));
    if (mounted)
      return {};
    XAAS_TRY(bytes_, blob_.bytes().in(blob_.name()));
    if (bytes_.size() != blob_.size || digest_of(bytes_) != blob_.digest)
      return make_error(ErrorKind::integrity, blob_.name() + ": its bytes do not match its descriptor");
    return bytes_.size() > session_.access().chunk_bytes ? send_in_chunks() : send_whole();
  }

private:
  Result<bool> exists() {
    XAAS_TRY(const http::Response response,
             session_.send_patiently(
                 {.method = "HEAD", .url = session_.url("blobs/" + blob_.digest.to_string())}));
    if (response.status == 200)
      return true;
    return response.status == 404 ? Result<bool>(false) : session_.refusal(response, blob_.name());
  }

  // Asks for an upload, or for the blob of another repository; true: it is there now.
  Result<bool> begin(const std::string& mount_from) {
    Call call{.method = "POST", .url = session_.url("blobs/uploads/")};
    if (!mount_from.empty())
      call.url = with_query(call.url, "mount=" + blob_.digest.to_string() + "&from=" + mount_from);
    const Result<http::Response> response = session_.send_patiently(call);
    if (response && response->status == 201)
      return true;
    if (response && response->status == 202) {
      XAAS_TRY(location_, session_.resolve(call.url, *response));
      return false;
    }
    if (!mount_from.empty()) // we may not read there, or mounting is not known
      return begin("");
    if (!response)
      return Error(response.error());
    return session_.refusal(*response, blob_.name());
  }

  Call finishing_call() const {
    return {.method = "PUT",
            .url = with_query(location_, "digest=" + blob_.digest.to_string()),
            .headers = {{"Content-Type", "application/octet-stream"}}};
  }

  // What may have arrived although its answer did not: the upload, whole.
  Result<void> send_whole() {
    for (Backoff backoff(session_.access(), max_tries);;) {
      Call call = finishing_call();
      call.upload = part_of(bytes_, 0, bytes_.size());
      const Result<http::Response> response = session_.send(call);
      if (response && response->status == 201)
        return {};
      XAAS_TRY(const bool again, may_try_again(response, backoff));
      XAAS_TRY(const bool there, exists());
      if (there)
        return {};
      if (again) {
        XAAS_TRY([[maybe_unused]] const bool mounted, begin(""));
        continue;
      }
    }
  }

  Result<void> send_in_chunks() {
    uint64_t sent = 0;
    for (Backoff backoff(session_.access(), max_tries);;) {
      const uint64_t size = std::min<uint64_t>(session_.access().chunk_bytes, bytes_.size() - sent);
      Call call = finishing_call();
      if (size > 0) {
        call.method = "PATCH";
        call.url = location_;
        call.headers.push_back(
            {"Content-Range", std::to_string(sent) + "-" + std::to_string(sent + size - 1)});
        call.upload = part_of(bytes_, sent, size);
      }
      const Result<http::Response> response = session_.send(call);
      if (response && response->status == 201 && size == 0)
        return {};
      if (response && response->status == 202 && size > 0) {
        XAAS_TRY(location_, session_.resolve(call.url, *response));
        const uint64_t now = received(*response).value_or(sent + size);
        if (now > bytes_.size() || now <= sent)
          return make_error(ErrorKind::integrity, blob_.name() + ": the registry says that it has " +
                                                      std::to_string(now) + " of the " +
                                                      std::to_string(sent + size) + " bytes sent");
        sent = now;
        backoff.start_again(max_tries);
        continue;
      }
      XAAS_TRY([[maybe_unused]] const bool again, may_try_again(response, backoff));
      XAAS_TRY(const bool there, exists());
      if (there)
        return {};
      XAAS_TRY(sent, where_it_is());
    }
  }

  // After a pause. What cannot help is the error.
  Result<bool> may_try_again(const Result<http::Response>& response, Backoff& backoff) {
    const bool passing =
        response ? is_passing(response->status) || response->status == 404 || response->status == 416
                 : response.error().kind == ErrorKind::network;
    const auto failure = [&] {
      return response ? session_.refusal(*response, "sending " + blob_.name())
                      : Error(response.error()).in("sending " + blob_.name());
    };
    if (!passing)
      return failure();
    XAAS_TRY(const bool waited, backoff.pause(response ? &*response : nullptr));
    if (!waited)
      return failure();
    return true;
  }

  // Of an upload in pieces (OCI distribution specification, "Pushing a blob in chunks"). One that the
  // registry does not know any more begins again.
  Result<uint64_t> where_it_is() {
    XAAS_TRY(const http::Response response, session_.send_patiently({.method = "GET", .url = location_}));
    if (response.status == 204 || response.status == 202) {
      XAAS_TRY(location_, session_.resolve(location_, response));
      // docker-registry says 0-0 where it has one byte, and where it has none.
      const uint64_t now = received(response).value_or(0);
      if (now > 1 && now <= bytes_.size())
        return now;
    }
    XAAS_TRY([[maybe_unused]] const bool mounted, begin(""));
    return uint64_t(0);
  }

  Session& session_;
  const Blob& blob_;
  std::string bytes_, location_;
};

Result<void> put_manifest(Session& session, const oci::Rendered& rendered, const std::string& tag) {
  XAAS_TRY(const http::Response response,
           session.send_patiently({.method = "PUT",
                                   .url = session.url("manifests/" + tag),
                                   .headers = {{"Content-Type", oci::media_type::manifest}},
                                   .body = rendered.manifest}));
  if (response.status != 201)
    return session.refusal(response, "manifest " + tag);
  if (const std::string* const said = response.header("Docker-Content-Digest");
      said && said->starts_with("sha256:") && *said != rendered.manifest_digest.to_string())
    return make_error(ErrorKind::integrity, "manifest " + tag +
                                                ": the registry says that its digest is another one than " +
                                                rendered.manifest_digest.to_string());
  return {};
}

Result<void> check_reference(const oci::Reference& reference) {
  if (reference.digest)
    return make_error(ErrorKind::usage, reference.text + ": an image is written under a tag, not a digest",
                      "docker://" + reference.host + "/" + reference.repository + ":TAG");
  return {};
}

} // namespace

Result<Digest> push(const oci::Reference& reference, const oci::NewImage& image, const Access& access,
                    Progress& progress) {
  const std::string what = "writing " + reference.text;
  XAAS_CHECK(check_reference(reference));
  const oci::Rendered rendered = oci::render(image);
  const std::vector<Blob> blobs = blobs_of(image, rendered, reference);
  XAAS_TRY(const std::unique_ptr<Session> session, Session::open(reference, access, Session::Purpose::push));
  for (const Blob& blob : blobs)
    if (!blob.mount_from.empty())
      session->also_read(blob.mount_from);
  progress.start(what, blobs.size());
  for (const Blob& blob : blobs) {
    XAAS_CHECK(UploadOf(*session, blob).run().in(what));
    progress.advance();
  }
  XAAS_CHECK(put_manifest(*session, rendered, reference.tag.empty() ? "latest" : reference.tag).in(what));
  progress.finish();
  return rendered.manifest_digest;
}

Result<void> check_push(const oci::Reference& reference, const Access& access) {
  XAAS_CHECK(check_reference(reference));
  XAAS_TRY(const std::unique_ptr<Session> session, Session::open(reference, access, Session::Purpose::push));
  const std::string url = session->url("blobs/uploads/");
  XAAS_TRY(const http::Response response, session->send_patiently({.method = "POST", .url = url}));
  if (response.status != 202)
    return session->refusal(response, reference.text);
  XAAS_TRY(const std::string location, session->resolve(url, response));
  // What is left behind where this fails, registries remove themselves.
  static_cast<void>(session->send({.method = "DELETE", .url = location}));
  return {};
}

} // namespace xaas::registry
