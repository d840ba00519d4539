#include "push.h"

#include "places.h"
#include "pull.h"
#include "referrer_lists.h"

#include <xaas/base/parallel.h>
#include <xaas/base/text.h>
#include <xaas/base/trace.h>
#include <xaas/oci/referrers.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace xaas::registry {

namespace {

// A repository of the same registry that contains the blob, or an empty string.
std::string mount_from(const oci::NewBlob& blob, const oci::Reference& to) {
  const bool near = blob.origin && blob.origin->transport == oci::Transport::registry &&
                    blob.origin->host == to.host && blob.origin->repository != to.repository;
  return near ? blob.origin->repository : std::string();
}

// Progress of several threads. Restarted transfers do not report the same bytes twice.
class BytesSent {
public:
  BytesSent(Progress& progress) : progress_(progress) {}
  void reached(uint64_t bytes) {
    if (bytes > told_)
      progress_.advance(bytes - std::exchange(told_, bytes));
  }

private:
  Progress& progress_;
  uint64_t told_ = 0; // bytes of one blob
};

// Computes the digest of a blob while sending it. Bytes that are sent again are hashed only once.
class HashedBlob {
public:
  explicit HashedBlob(const oci::Blob& blob) : blob_(blob) {}
  Result<size_t> read(uint64_t offset, char* buffer, size_t capacity) {
    XAAS_TRY(const size_t count, blob_.read(offset, buffer, capacity));
    if (offset <= hashed_ && offset + count > hashed_) {
      const size_t known = static_cast<size_t>(hashed_ - offset);
      hasher_.update({buffer + known, count - known});
      hashed_ = offset + count;
    }
    return count;
  }
  Digest finish() { return hasher_.finish(); }

private:
  const oci::Blob& blob_;
  Hasher hasher_;
  uint64_t hashed_ = 0; // the offset up to which bytes are hashed
};

std::string with_query(const std::string& url, const std::string& query) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + query;
}

// The number of bytes that the registry has, from its `Range: 0-LAST`, if it says.
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

// The upload of one blob. After a failure it resumes where the registry says, or restarts.
class UploadOf {
public:
  UploadOf(Session& session, const oci::NewBlob& blob, std::string mount_from, Progress& progress)
      : session_(session), blob_(blob.descriptor), source_(blob), name_(oci::name_of(blob.descriptor)),
        mount_from_(std::move(mount_from)), sent_(progress) {}

  Result<void> run() {
    XAAS_TRY(bool there, exists());
    if (!there) {
      XAAS_TRY(there, begin(session_.may_read(mount_from_) ? mount_from_ : std::string()));
    }
    if (!there)
      XAAS_CHECK(send());
    sent_.reached(blob_.size);
    return {};
  }

private:
  Result<void> send() {
    XAAS_TRY(bytes_, source_.open().in(name_));
    if (bytes_->size() != blob_.size)
      return mismatch();
    hashed_.emplace(*bytes_);
    Result<void> sent = blob_.size > session_.access().chunk_bytes ? send_in_chunks() : send_whole();
    // The registry also checks the digest, but we know better whose fault a mismatch is.
    if ((sent || sent.error().kind != ErrorKind::interrupted) && wrong_)
      return mismatch();
    return sent;
  }

  Error mismatch() const {
    return make_error(ErrorKind::integrity, name_ + ": its bytes do not match its descriptor");
  }

  // Part of the blob as the body of a request.
  http::Upload part(uint64_t from, uint64_t size) {
    return {size, [this, from, size](uint64_t offset, char* buffer, size_t capacity) -> Result<size_t> {
              const size_t wanted = static_cast<size_t>(std::min<uint64_t>(capacity, size - offset));
              XAAS_TRY(const size_t count, hashed_->read(from + offset, buffer, wanted));
              sent_.reached(from + offset + count);
              if (from + offset + count == blob_.size && !judged_) {
                judged_ = true;
                wrong_ = hashed_->finish() != blob_.digest;
              }
              if (wrong_) // the registry must not receive the last byte
                return mismatch();
              return count;
            }};
  }

  Result<bool> exists() {
    XAAS_TRY(const http::Response response,
             session_.send_patiently(
                 {.method = "HEAD", .url = session_.url("blobs/" + blob_.digest.to_string())}));
    if (response.status == 200)
      return true;
    return response.status == 404 ? Result<bool>(false) : session_.refusal(response, name_);
  }

  // Starts an upload, or mounts the blob of another repository; true if the blob exists now.
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
    if (!mount_from.empty()) // we may not read there, or mounting is not supported
      return begin("");
    if (!response)
      return Error(response.error());
    return session_.refusal(*response, name_);
  }

  Call finishing_call() const {
    return {.method = "PUT",
            .url = with_query(location_, "digest=" + blob_.digest.to_string()),
            .headers = {{"Content-Type", "application/octet-stream"}}};
  }

  // Whether the whole upload arrived although its response was lost.
  Result<void> send_whole() {
    for (Backoff backoff(session_.access(), session_.access().tries);;) {
      Call call = finishing_call();
      call.upload = part(0, blob_.size);
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
    for (Backoff backoff(session_.access(), session_.access().tries);;) {
      const uint64_t size = std::min<uint64_t>(session_.access().chunk_bytes, blob_.size - sent);
      Call call = finishing_call();
      if (size > 0) {
        call.method = "PATCH";
        call.url = location_;
        call.headers.push_back(
            {"Content-Range", std::to_string(sent) + "-" + std::to_string(sent + size - 1)});
        call.upload = part(sent, size);
      }
      const Result<http::Response> response = session_.send(call);
      if (response && response->status == 201 && size == 0)
        return {};
      if (response && response->status == 202 && size > 0) {
        XAAS_TRY(location_, session_.resolve(call.url, *response));
        const uint64_t now = received(*response).value_or(sent + size);
        if (now > blob_.size || now <= sent)
          return make_error(ErrorKind::integrity, name_ + ": the registry reports " + std::to_string(now) +
                                                      " of the " + std::to_string(sent + size) +
                                                      " bytes sent");
        sent = now;
        backoff.start_again(session_.access().tries);
        continue;
      }
      XAAS_TRY([[maybe_unused]] const bool again, may_try_again(response, backoff));
      XAAS_TRY(const bool there, exists());
      if (there)
        return {};
      XAAS_TRY(sent, where_it_is());
    }
  }

  // Tries again after a pause, or returns the error if that cannot help.
  Result<bool> may_try_again(const Result<http::Response>& response, Backoff& backoff) {
    const bool passing =
        response ? is_passing(response->status) || response->status == 404 || response->status == 416
                 : response.error().kind == ErrorKind::network;
    const auto failure = [&] {
      return response ? session_.refusal(*response, "sending " + name_)
                      : Error(response.error()).in("sending " + name_);
    };
    if (!passing)
      return failure();
    XAAS_TRY(const bool waited, backoff.pause(response ? &*response : nullptr));
    if (!waited)
      return failure();
    return true;
  }

  // Resumes an upload in chunks (OCI distribution specification, "Pushing a blob in chunks"), or restarts it
  // if the registry has forgotten it.
  Result<uint64_t> where_it_is() {
    XAAS_TRY(const http::Response response, session_.send_patiently({.method = "GET", .url = location_}));
    if (response.status == 204 || response.status == 202) {
      XAAS_TRY(location_, session_.resolve(location_, response));
      // docker-registry reports 0-0 for one byte and also for none.
      const uint64_t now = received(response).value_or(0);
      if (now > 1 && now <= blob_.size)
        return now;
    }
    XAAS_TRY([[maybe_unused]] const bool mounted, begin(""));
    return uint64_t(0);
  }

  Session& session_;
  const oci::Descriptor& blob_;
  const oci::NewBlob& source_;
  const std::string name_, mount_from_;
  BytesSent sent_;
  oci::BlobPtr bytes_;
  std::optional<HashedBlob> hashed_;
  bool judged_ = false, wrong_ = false;
  std::string location_;
};

oci::Reference under_tag(const oci::Reference& image, const std::string& tag) {
  oci::Reference reference = image;
  reference.tag = tag;
  reference.text = "docker://" + image.host + "/" + image.repository + ":" + tag;
  return reference;
}

// Others may sign at the same time, so it looks again afterwards.
Result<void> put_signatures(Session& session, const Place& place, const std::string& tag,
                            const oci::Document& ours, Progress& progress) {
  const oci::Reference reference = under_tag(place.reference, tag);
  for (unsigned n = 0; n < max_tries; ++n) {
    oci::Document wanted = ours;
    Result<OpenedSource> there = open_remote_source(reference, place.access);
    if (there) {
      oci::Document theirs{there->root.media_type, {}, there->root.digest};
      XAAS_TRY(theirs.text, there->source->read(there->root, oci::manifest_limit));
      XAAS_TRY(oci::Signatures united,
               oci::unite_signatures(tag, ours, theirs, *there->source).in(reference.text));
      if (united.document.digest == theirs.digest) {
        if (n == 0 && tag.ends_with(".sbom") && theirs.digest != ours.digest)
          progress.note(reference.text + ": this SBOM is kept, and not replaced by ours");
        return {};
      }
      if (united.config)
        XAAS_CHECK(send_blob(session, *united.config, "", no_progress()));
      wanted = std::move(united.document);
    } else if (there.error().kind != ErrorKind::not_found) {
      return std::move(there).error();
    }
    XAAS_TRY([[maybe_unused]] const http::Response put, put_document(session, wanted, tag));
  }
  return make_error(ErrorKind::failed, reference.text + ": others keep changing it", "run the command again");
}

Result<void> check_reference(const oci::Reference& reference) {
  if (reference.digest)
    return make_error(ErrorKind::usage, reference.text + ": an image is written under a tag, not a digest",
                      "docker://" + reference.host + "/" + reference.repository + ":TAG");
  return {};
}

} // namespace

Result<void> send_blob(Session& session, const oci::NewBlob& blob, const std::string& mount_from,
                       Progress& progress) {
  return UploadOf(session, blob, mount_from, progress).run();
}

Result<http::Response> put_document(Session& session, const oci::Document& document,
                                    const std::string& name) {
  if (!oci::is_tag(name) && !Digest::parse(name)) // it becomes part of an address
    return make_error(ErrorKind::integrity, "'" + printable(name) + "' is neither a tag nor a digest");
  XAAS_TRY(http::Response response,
           session.send_patiently({.method = "PUT",
                                   .url = session.url("manifests/" + name),
                                   .headers = {{"Content-Type", document.media_type}},
                                   .body = document.text}));
  if (response.status != 201)
    return session.refusal(response, "manifest " + name);
  if (const std::string* const said = response.header("Docker-Content-Digest");
      said && said->starts_with("sha256:") && *said != document.digest.to_string())
    return make_error(ErrorKind::integrity, "manifest " + name +
                                                ": the registry reports another digest than " +
                                                document.digest.to_string());
  return response;
}

Result<Digest> push(const oci::Reference& reference, const oci::Publication& publication,
                    const Access& access, Progress& progress) {
  XAAS_CHECK(check_reference(reference));
  XAAS_TRY(const Place place, place_to_write(reference, access));
  XAAS_TRY(std::unique_ptr<Session> first,
           Session::open(place.reference, place.access, Session::Purpose::push));
  for (const oci::NewBlob& blob : publication.blobs)
    if (const std::string from = mount_from(blob, reference); !from.empty())
      first->also_read(from);
  Sessions sessions(std::move(first));
  XAAS_CHECK(run_parallel(publication.blobs.size(), access.transfers, [&](size_t i) -> Result<void> {
    const oci::NewBlob& blob = publication.blobs[i];
    trace::Span span("transfer", blob.descriptor.digest.to_string());
    span.set("bytes", blob.descriptor.size);
    const Sessions::Lent session = sessions.lend();
    return send_blob(*session, blob, mount_from(blob, reference), progress);
  }));
  const Sessions::Lent session = sessions.lend();
  const std::string tag = reference.tag.empty() ? "latest" : reference.tag;
  for (const oci::Document& document : publication.documents) {
    const bool root = &document == &publication.root();
    XAAS_TRY(const http::Response put,
             put_document(*session, document, root ? tag : document.digest.to_string()));
    XAAS_CHECK(list_if_referrer(*session, document, put));
    for (const auto& [name, digest] : publication.tags)
      if (digest == document.digest)
        XAAS_CHECK(put_signatures(*session, place, name, document, progress));
  }
  return publication.root().digest;
}

Result<void> check_push(const oci::Reference& reference, const Access& access) {
  XAAS_CHECK(check_reference(reference));
  XAAS_TRY(const Place place, place_to_write(reference, access));
  XAAS_TRY(const std::unique_ptr<Session> session,
           Session::open(place.reference, place.access, Session::Purpose::push));
  const std::string url = session->url("blobs/uploads/");
  XAAS_TRY(const http::Response response, session->send_patiently({.method = "POST", .url = url}));
  if (response.status != 202)
    return session->refusal(response, reference.text);
  XAAS_TRY(const std::string location, session->resolve(url, response));
  // If this fails, the registry removes the rest itself.
  static_cast<void>(session->send({.method = "DELETE", .url = location}));
  return {};
}

} // namespace xaas::registry
