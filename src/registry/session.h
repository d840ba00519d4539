// Talking to one repository of one registry: TLS, authentication, pauses, redirects.
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

// A request to a registry. Bodies that come or go in pieces may be asked for again from the start.
struct Call {
  std::string method = "GET";
  std::string url;
  std::vector<http::Header> headers = {};
  std::string body = {};
  std::optional<http::Upload> upload = {};
  std::function<Result<void>(const http::Response& head, std::string_view piece)> sink = {};
  uint64_t answer_bytes = uint64_t(1) << 20;
  bool in_pieces = false; // the body is taken with Session::read
};

// How often, and after what pauses, something is tried again.
class Backoff {
public:
  Backoff(const Access& access, unsigned tries) : access_(access), left_(tries) {}
  // Waits; false: it was tried often enough. `response`: what may say how long to wait.
  Result<bool> pause(const http::Response* response = nullptr);
  void start_again(unsigned tries); // something went right in between

private:
  const Access& access_;
  unsigned left_;
  std::chrono::milliseconds next_{500};
};

// Statuses that a later try may not have.
bool is_passing(int status);

// Not for several threads at once.
class Session {
public:
  enum class Purpose { pull, push };
  // Finds out how the registry wants to be talked to. Opens a connection.
  static Result<std::unique_ptr<Session>> open(const oci::Reference& reference, Access access,
                                               Purpose purpose);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The address of something in the repository, such as "blobs/sha256:...".
  std::string url(const std::string& path) const;
  // What a Location is: an address below the one that was asked. From https it must lead to https.
  Result<std::string> resolve(const std::string& from, const http::Response& response) const;
  // Also blobs of that repository of the same registry may be read, where the registry lets us.
  void also_read(const std::string& repository);
  // Whether that was asked for, and nobody has said no.
  bool may_read(const std::string& repository) const { return readable_.contains(repository); }

  // The same for another thread, signed in as this one is now.
  std::unique_ptr<Session> another() const;

  // Sends once; signs in, and follows redirects of GET and HEAD, where that is asked for. 401 and 403 are
  // errors; every other status is an answer.
  Result<http::Response> send(const Call& call);
  // The same, again after pauses where that may help. For calls without a sink.
  Result<http::Response> send_patiently(const Call& call);

  // As send, for a body that is taken piece by piece (http::Client::open).
  Result<http::Response> open(Call call);
  Result<size_t> read(char* buffer, size_t capacity) { return client_.read(buffer, capacity); }

  // The error of an answer with another status than expected.
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
  std::set<std::string> readable_;            // other repositories
  std::map<std::string, std::string> tokens_; // values of Authorization, by scopes
};

// Sessions for threads: each is lent to one at a time.
class Sessions {
public:
  explicit Sessions(std::unique_ptr<Session> first) { idle_.push_back(std::move(first)); }
  using Lent = std::unique_ptr<Session, std::function<void(Session*)>>;
  // It comes back when it goes; the pool must live longer.
  Lent lend();

private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Session>> idle_;
  std::unique_ptr<Session> pattern_; // of those that are made
};

} // namespace xaas::registry
