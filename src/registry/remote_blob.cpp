#include "remote_blob.h"

#include <algorithm>
#include <array>
#include <mutex>

namespace xaas::registry {

namespace {

constexpr uint64_t progress_bytes = uint64_t(1) << 20; // of progress that make up for a broken connection

class RemoteBlob : public oci::Blob {
public:
  RemoteBlob(std::shared_ptr<Sessions> sessions, Sessions::Lent session, const oci::Descriptor& blob)
      : sessions_(std::move(sessions)), session_(std::move(session)), access_(session_->access()),
        name_(oci::name_of(blob)), url_(session_->url("blobs/" + blob.digest.to_string())), size_(blob.size),
        backoff_(access_, access_.tries) {}

  uint64_t size() const override { return size_; }

  Result<size_t> read(uint64_t offset, char* buffer, size_t capacity) const override {
    const std::lock_guard<std::mutex> one_reader(mutex_);
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(capacity, size_ - std::min(offset, size_)));
    while (wanted > 0) {
      XAAS_CHECK(go_to(offset));
      Result<size_t> count = session_->read(buffer, wanted);
      if (count && *count > 0) {
        at_ += *count;
        if (at_ == size_)
          XAAS_CHECK(end());
        return count;
      }
      if (!count) {
        XAAS_CHECK(after_break(std::move(count).error()));
        continue;
      }
      if (whole_) // according to the registry
        return make_error(ErrorKind::integrity, name_ + ": " + std::to_string(at_) + " bytes, where " +
                                                    std::to_string(size_) + " are expected");
      XAAS_CHECK(after_break(make_error(ErrorKind::network, name_ + ": the connection ended too early")));
    }
    return size_t(0);
  }

private:
  // Opens a connection at this offset unless there is one.
  Result<void> go_to(uint64_t offset) const {
    while (!open_ || at_ != offset) {
      if (!session_)
        session_ = sessions_->lend();
      open_ = false;
      Call call{.url = url_};
      const bool part = offset > 0 && ranges_;
      if (part)
        call.headers.push_back({"Range", "bytes=" + std::to_string(offset) + "-"});
      const Result<http::Response> response = session_->open(call);
      if (!response) {
        XAAS_CHECK(after_break(response.error()));
        continue;
      }
      if (response->status == 416 &&
          part) { // the blob is shorter, or the registry lacks ranges; the next request shows which
        ranges_ = false;
        continue;
      }
      if (response->status != 200 && response->status != 206) {
        XAAS_CHECK(after_refusal(*response));
        continue;
      }
      XAAS_CHECK(begin(*response, part ? offset : 0));
      if (at_ > offset) // cannot seek back in a response without ranges
        return make_error(ErrorKind::failed, name_ + ": cannot seek to byte " + std::to_string(offset));
      if (auto skipped = skip_to(offset); !skipped)
        XAAS_CHECK(after_break(std::move(skipped).error()));
    }
    return {};
  }

  // The offset at which the body begins: the requested one, or 0.
  Result<void> begin(const http::Response& head, uint64_t asked) const {
    at_ = head.status == 206 ? asked : 0;
    begun_at_ = at_;
    open_ = true;
    whole_ = head.status == 200 && head.header("Content-Length");
    const std::string* const range = head.header("Content-Range"); // RFC 9110 section 14.4
    if (head.status == 206 && (!range || !range->starts_with("bytes " + std::to_string(asked) + "-")))
      return make_error(ErrorKind::integrity, name_ + ": the registry sends another part than requested");
    return {};
  }

  Result<void> skip_to(uint64_t offset) const {
    std::array<char, 64 * 1024> buffer;
    while (at_ < offset) {
      XAAS_TRY(const size_t count,
               session_->read(buffer.data(),
                              static_cast<size_t>(std::min<uint64_t>(buffer.size(), offset - at_))));
      if (count == 0)
        return make_error(whole_ ? ErrorKind::integrity : ErrorKind::network,
                          name_ + ": only " + std::to_string(at_) +
                              " bytes, although there were more before");
      at_ += count;
    }
    return {};
  }

  // The blob is complete, so later failures do not matter.
  Result<void> end() const {
    char more = 0;
    const Result<size_t> count = session_->read(&more, 1);
    open_ = false;
    session_.reset();
    if (count && *count > 0)
      return make_error(ErrorKind::integrity,
                        name_ + ": more than the " + std::to_string(size_) + " bytes expected");
    return {};
  }

  // Returns the error if trying again cannot help or did not.
  Result<void> after_break(const Error& error) const {
    const bool moved = open_ && at_ >= begun_at_ + progress_bytes;
    open_ = false;
    if (error.kind != ErrorKind::network)
      return Error(error);
    if (moved)
      backoff_.start_again(access_.tries);
    XAAS_TRY(const bool again, backoff_.pause());
    return again ? Result<void>() : Error(error);
  }

  Result<void> after_refusal(const http::Response& response) const {
    if (!is_passing(response.status))
      return session_->refusal(response, name_);
    XAAS_TRY(const bool again, backoff_.pause(&response));
    return again ? Result<void>() : session_->refusal(response, name_);
  }

  const std::shared_ptr<Sessions> sessions_;
  mutable Sessions::Lent session_; // until the blob is complete
  const Access access_;
  const std::string name_, url_;
  const uint64_t size_;
  mutable std::mutex mutex_;
  mutable Backoff backoff_;
  mutable bool open_ = false, ranges_ = true;
  mutable bool whole_ = false; // the current response states the whole length
  mutable uint64_t at_ = 0,
                   begun_at_ = 0; // offsets in the blob: of the connection, and of the start of its response
};

} // namespace

oci::BlobPtr remote_blob(std::shared_ptr<Sessions> sessions, Sessions::Lent session,
                         const oci::Descriptor& blob) {
  return std::make_shared<RemoteBlob>(std::move(sessions), std::move(session), blob);
}

} // namespace xaas::registry
