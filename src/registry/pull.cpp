#include "pull.h"

#include "session.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/oci/blob_source.h>
#include <xaas/store/content_store.h>

#include <algorithm>
#include <mutex>

namespace xaas::registry {

namespace {

constexpr unsigned max_tries = 5;
constexpr uint64_t progress_bytes = uint64_t(1) << 20; // that make up for a broken connection

const char* const accepted_manifests =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json";

// Blobs that were read before: by any run, or by this one.
class Kept {
public:
  explicit Kept(const std::optional<store::Cache>& cache) : cache_(cache) {}

  std::optional<std::string> get(const Digest& digest) {
    if (cache_)
      if (std::optional<std::string> found = cache_->get(digest))
        return found;
    if (!store_ || !store_->has(digest))
      return std::nullopt;
    Result<std::string> found = store_->get(digest);
    return found ? std::optional<std::string>(*std::move(found)) : std::nullopt;
  }

  // Where nothing can be kept, the registry is asked again.
  void put(const Digest& digest, const std::string& bytes) {
    if (cache_ && cache_->put(digest, bytes))
      return;
    if (!store_) {
      Result<TemporaryDirectory> made = TemporaryDirectory::create();
      if (!made)
        return;
      directory_.emplace(*std::move(made));
      store_.emplace(directory_->path());
    }
    static_cast<void>(store_->put(bytes));
  }

private:
  std::optional<store::Cache> cache_;
  std::optional<TemporaryDirectory> directory_;
  std::optional<store::ContentStore> store_;
};

// One blob on its way. What came before a connection broke is kept, and the rest asked for.
class Download {
public:
  Download(Session& session, const Digest& digest, uint64_t size)
      : session_(session), name_("blob " + digest.to_string()),
        url_(session.url("blobs/" + digest.to_string())), size_(size) {}

  Result<std::string> run() {
    bytes_.reserve(static_cast<size_t>(std::min<uint64_t>(size_, uint64_t(64) << 20)));
    for (Backoff backoff(session_.access(), max_tries);;) {
      const size_t before = bytes_.size();
      Call call{.url = url_};
      if (before > 0)
        call.headers.push_back({"Range", "bytes=" + std::to_string(before) + "-"});
      call.sink = [this](const http::Response& head, std::string_view piece) { return take(head, piece); };
      begun_ = false;
      Result<http::Response> response = session_.send(call);
      const bool broken = !response && response.error().kind == ErrorKind::network;
      if (begun_ && bytes_.size() == size_ && (response || broken)) // all came before it broke
        return std::move(bytes_);
      if (response && size_ == 0 && response->status == 200)
        return std::string();
      if (auto last = judge(response, before); !last)
        return std::move(last).error();
      if (bytes_.size() >= before + progress_bytes)
        backoff.start_again(max_tries);
      XAAS_TRY(const bool again, backoff.pause(response ? &*response : nullptr));
      if (again)
        continue;
      if (!response)
        return std::move(response).error();
      return response->status / 100 == 2
                 ? make_error(ErrorKind::network, name_ + ": the connection breaks again and again")
                 : session_.refusal(*response, name_);
    }
  }

private:
  // An error: trying again cannot help.
  Result<void> judge(const Result<http::Response>& response, size_t before) {
    if (!response)
      return response.error().kind == ErrorKind::network ? Result<void>() : Error(response.error());
    if (response->status == 416) { // there is nothing after what we have
      bytes_.clear();
      return before > 0 ? Result<void>() : session_.refusal(*response, name_);
    }
    if (response->status / 100 != 2)
      return is_passing(response->status) ? Result<void>() : session_.refusal(*response, name_);
    if (response->status == 206 && bytes_.size() > before)
      return {};                            // less than was asked for, but a part
    if (response->header("Content-Length")) // whole, as the registry sees it
      return make_error(ErrorKind::integrity, name_ + ": " + std::to_string(bytes_.size()) +
                                                  " bytes, where " + std::to_string(size_) + " are expected");
    return {};
  }

  Result<void> take(const http::Response& head, std::string_view piece) {
    if (!begun_) {
      XAAS_CHECK(begin(head));
      begun_ = true;
    }
    if (piece.size() > size_ - bytes_.size())
      return make_error(ErrorKind::integrity,
                        name_ + ": more than the " + std::to_string(size_) + " bytes expected");
    bytes_.append(piece);
    return {};
  }

  // Where the body begins: at what was asked for, or at the start.
  Result<void> begin(const http::Response& head) {
    if (head.status != 206) {
      bytes_.clear();
      return {};
    }
    const std::string* const range = head.header("Content-Range"); // RFC 9110 section 14.4
    if (!range || !range->starts_with("bytes " + std::to_string(bytes_.size()) + "-"))
      return make_error(ErrorKind::integrity, name_ + ": the registry sends another part than was asked for");
    return {};
  }

  Session& session_;
  std::string name_, url_;
  uint64_t size_;
  std::string bytes_;
  bool begun_ = false; // the body of the answer at hand
};

// A manifest as it came, and what it is.
struct Found {
  oci::Descriptor descriptor;
  std::string text;
};

std::string type_of(const http::Response& response) {
  const std::string* const type = response.header("Content-Type");
  return type ? trim(type->substr(0, type->find(';'))) : std::string();
}

Result<Found> get_manifest(Session& session, const std::string& name, uint64_t limit) {
  const std::string what = "manifest " + name;
  XAAS_TRY(http::Response response, session.send_patiently({.url = session.url("manifests/" + name),
                                                            .headers = {{"Accept", accepted_manifests}},
                                                            .answer_bytes = limit}));
  if (response.status != 200) {
    Error error = session.refusal(response, what);
    if (response.status == 404)
      error.hint = "`skopeo list-tags docker://" + session.reference().host + "/" +
                   session.reference().repository + "` lists what is there";
    return error;
  }
  Found found;
  found.text = std::move(response.body);
  const std::string type = type_of(response), own = oci::manifest_type(found.text);
  const auto known = [](const std::string& text) {
    return oci::is_manifest_type(text) || oci::is_index_type(text);
  };
  // A static file server does not know the types; what the bytes say must not be contradicted.
  if (known(type) && known(own) && oci::is_index_type(type) != oci::is_index_type(own))
    return make_error(ErrorKind::integrity,
                      what + ": the registry calls it " + type + ", it says that it is " + own);
  found.descriptor = {known(type) ? type : own, digest_of(found.text), found.text.size(), {}};
  if (!known(found.descriptor.media_type))
    return make_error(ErrorKind::unsatisfied,
                      what + ": it is of the type '" + printable(type) + "', which is not known");
  if (const std::string* const said = response.header("Docker-Content-Digest");
      said && said->starts_with("sha256:") && *said != found.descriptor.digest.to_string())
    return make_error(ErrorKind::integrity,
                      what + ": its digest is not the one that the registry says it has");
  return found;
}

class RegistrySource : public oci::BlobSource {
public:
  RegistrySource(const oci::Reference& reference, const Access& access)
      : reference_(reference), access_(access), kept_(access.blobs) {}

  // The manifest or index that the reference names.
  Result<oci::Descriptor> find() {
    if (reference_.digest)
      if (const auto text = kept_.get(*reference_.digest); text && digest_of(*text) == *reference_.digest)
        return oci::Descriptor{oci::manifest_type(*text), *reference_.digest, text->size(), {}};
    XAAS_CHECK(connect());
    const std::string name = reference_.digest        ? reference_.digest->to_string()
                             : reference_.tag.empty() ? "latest"
                                                      : reference_.tag;
    XAAS_TRY(Found found, get_manifest(*session_, name, oci::manifest_limit).in(reference_.text));
    if (reference_.digest && found.descriptor.digest != *reference_.digest)
      return make_error(ErrorKind::integrity, reference_.text +
                                                  ": the registry sends a manifest with the digest " +
                                                  found.descriptor.digest.to_string());
    first_ = std::move(found);
    return first_->descriptor;
  }

protected:
  Result<std::string> fetch(const oci::Descriptor& blob) const override {
    const std::lock_guard<std::mutex> one_connection(mutex_);
    if (first_ && first_->descriptor.digest == blob.digest) {
      moved_.insert(blob.digest);
      return first_->text;
    }
    if (std::optional<std::string> known = kept_.get(blob.digest);
        known && known->size() == blob.size && digest_of(*known) == blob.digest)
      return *std::move(known);
    if (blob.size > memory_limit())
      return make_error(ErrorKind::failed,
                        "it has " + std::to_string(blob.size) + " bytes, more than there is memory");
    XAAS_CHECK(connect());
    moved_.insert(blob.digest);
    if (oci::is_manifest_type(blob.media_type) || oci::is_index_type(blob.media_type)) {
      XAAS_TRY(Found found, get_manifest(*session_, blob.digest.to_string(), blob.size));
      return std::move(found.text);
    }
    return Download(*session_, blob.digest, blob.size).run();
  }

  void checked(const oci::Descriptor& blob, const std::string& bytes) const override {
    const std::lock_guard<std::mutex> one_writer(mutex_);
    if (moved_.erase(blob.digest))
      kept_.put(blob.digest, bytes);
  }

private:
  Result<void> connect() const {
    if (session_)
      return {};
    XAAS_TRY(session_, Session::open(reference_, access_, Session::Purpose::pull));
    return {};
  }

  oci::Reference reference_;
  Access access_;
  std::optional<Found> first_;
  mutable std::mutex mutex_;
  mutable Kept kept_;
  mutable std::set<Digest> moved_; // and not yet kept
  mutable std::unique_ptr<Session> session_;
};

} // namespace

Result<std::unique_ptr<oci::Image>> open_remote(const oci::Reference& reference,
                                                const std::string& architecture, const Access& access) {
  auto source = std::make_unique<RegistrySource>(reference, access);
  XAAS_TRY(const oci::Descriptor manifest, source->find());
  return oci::open_manifest(reference, std::move(source), manifest, architecture);
}

} // namespace xaas::registry
