// A session with one repository of a registry: TLS, authentication, pauses, redirects.
#pragma once

#include "challenge.h"
#include "credentials.h"

#include <xaas/http/http.h>
#include <xaas/registry/images.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace xaas::registry {

// A request to a registry. Incremental bodies may be requested again from the start.
struct Call {
  std::string method = "GET";
  std::string url;
  std::vector<http::Header> headers = {};
  std::string body = {};
  std::optional<http::Upload> upload = {};
  std::function<Result<void>(const http::Response& head, std::string_view piece)> sink = {};
  uint64_t answer_bytes = uint64_t(1) << 20;
  bool in_pieces = false; // the body is read with Session::read()
};

// How often to retry, and after which pauses.
class Backoff {
public:
  Backoff(const Access& access, unsigned tries) : access_(access), left_(tries) {}
  // Waits before the next try; false if there were enough. `response` may say how long to wait.
  Result<bool> pause(const http::Response* response = nullptr);
  void start_again(unsigned tries); // after some progress

private:
  const Access& access_;
  unsigned left_;
  std::chrono::milliseconds next_{500};
};

// Statuses that may succeed later.
bool is_passing(int status);

// Not thread-safe.
class Session {
public:
  enum class Purpose { pull, push };
  // Connects and finds out how to talk to the registry.
  static Result<std::unique_ptr<Session>> open(const oci::Reference& reference, Access access,
                                               Purpose purpose);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The address of an object in the repository, such as "blobs/sha256:...".
  std::string url(const std::string& path) const;
  // Resolves a Location relative to the request's address. From https it must lead to https.
  Result<std::string> resolve(const std::string& from, const http::Response& response) const;
  // Also requests read access to another repository of the same registry, if the registry grants it.
  void also_read(const std::string& repository);
  // Whether that was requested and not denied.
  bool may_read(const std::string& repository) const { return readable_.contains(repository); }

  // A session for another thread, with the current authentication.
  std::unique_ptr<Session> another() const;

  // Sends a request once, authenticating and following redirects of GET and HEAD as needed. 401 and 403 are
  // errors; every other status is a response.
  Result<http::Response> send(const Call& call);
  // The same, with retries after pauses where that may help. For calls without a sink.
  Result<http::Response> send_patiently(const Call& call);

  // As send(), for a body that is read incrementally (http::Client::open).
  Result<http::Response> open(Call call);
  Result<size_t> read(char* buffer, size_t capacity) { return client_.read(buffer, capacity); }

  // The error for a response with an unexpected status.
  Error refusal(const http::Response& response, const std::string& what) const;
  const Access& access() const { return access_; }
  const oci::Reference& reference() const { return reference_; }

private:
  Session(const oci::Reference& reference, Access access, Purpose purpose)
      : reference_(reference), access_(std::move(access)), purpose_(purpose) {}
  using Sender = Result<http::Response> (http::Client::*)(const http::Request&);
  Result<http::Response> send_with(Sender sender, const Call& call);
  Result<void> connect();
  Result<std::optional<http::Response>> ping(const std::string& scheme);
  http::Request request_of(const Call& call, const std::string& url) const;
  bool is_own(const std::string& url) const;
  std::string key_of_scopes() const;
  Result<void> sign_in(const std::vector<Challenge>& challenges);
  Result<void> use_basic();
  Result<void> get_token(const Challenge& challenge);
  Error denied(const std::string& what) const;
  std::string said(const http::Response& response) const;

  oci::Reference reference_;
  Access access_;
  Purpose purpose_;
  http::Client client_;
  http::Tls tls_;
  std::string root_; // SCHEME://HOST[:PORT]
  Credentials credentials_;
  std::set<std::string> readable_;            // additional repositories
  std::map<std::string, std::string> tokens_; // values of Authorization, by scopes
};

// A pool of sessions; each is lent to one thread at a time.
class Sessions {
public:
  explicit Sessions(std::unique_ptr<Session> first) { idle_.push_back(std::move(first)); }
  using Lent = std::unique_ptr<Session, std::function<void(Session*)>>;
  // Returns the session to the pool when destroyed; the pool must live longer.
  Lent lend();

private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;
  std::unique_ptr<Session> pattern_; // for new sessions
};

} // namespace xaas::registry
