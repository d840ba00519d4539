// HTTP requests and their answers, over libcurl.
//
// libcurl is loaded when the first request is made (libcurl.so.4): it brings some thirty libraries, and
// loading them at every start would slow down the compiler front door, which starts for each file of a build.
//
// TLS certificates are verified unless a request says otherwise. Authorities are libcurl's own, or those of
// the file that CURL_CA_BUNDLE or SSL_CERT_FILE names. Proxies of the environment are honoured as libcurl
// does (http_proxy, https_proxy, all_proxy, no_proxy), but never for the loopback.
#pragma once

#include <xaas/base/result.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::http {

struct Header {
  std::string name, value;
};

struct Limits {
  std::chrono::milliseconds connect{10'000}; // until there is a connection
  std::chrono::milliseconds total{120'000};  // until the answer is complete; 0: no limit
  std::chrono::seconds stall{0};             // with less than 1 KiB/s on average; 0: no limit
  uint64_t answer_bytes = 16u << 20;         // of the body, where no sink takes it
};

struct Tls {
  bool verify = true;
  std::string authorities;      // certificates (PEM) that are trusted, too
  std::string certificate, key; // files (PEM) that say who we are; empty: none
};

// A body that need not be in memory.
struct Upload {
  uint64_t size = 0;
  // Fills the buffer with the bytes from `offset` on and says how many; none before the end is an error of
  // the transfer. Where a connection breaks, bytes can be asked for again.
  std::function<Result<size_t>(uint64_t offset, char* buffer, size_t capacity)> read;
};

struct Response {
  int status = 0;
  std::vector<Header> headers; // of the final answer
  std::string body;
  const std::string* header(std::string_view name) const; // the first; case does not matter; nullptr: none
};

struct Request {
  std::string method = "GET";
  std::string url; // http or https; may have a user and password, which go into no message
  std::vector<Header> headers;
  std::string body;
  std::optional<Upload> upload; // instead of `body`
  // Takes the body of an answer with a status of 200 to 299, piece by piece, instead of Response::body. An
  // error ends the transfer and is its result.
  std::function<Result<void>(const Response& head, std::string_view piece)> sink;
  Limits limits;
  Tls tls;
};

// Sends a request. Every complete answer is a response, also one with an error's status or a redirect, which
// is not followed: what a request carries is for the host that it names. Errors: usage, a malformed URL or
// header; missing_tool, no libcurl; network, no connection or no complete answer in time; integrity, an
// answer above the limit; interrupted. Errors name the URL as shown() does, and nothing of the headers and
// the body.
Result<Response> send(const Request& request);

// The same for several requests, one after the other, which share connections where they can.
class Client {
public:
  Client();
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  Result<Response> send(const Request& request);
  // Sends a request without a sink whose answer may be larger than memory. With a status of 200 to 299 the
  // response comes without its body, which is then taken with `read`; any other comes whole. Opening again,
  // or the end of the client, ends what was open.
  Result<Response> open(const Request& request);
  // Some of the body that is next, at most `capacity` bytes; none: it has ended. Errors are those of send.
  Result<size_t> read(char* buffer, size_t capacity);
  // Whether the last error was that of a certificate that is not trusted.
  bool distrusted() const;

private:
  Result<void> prepare(const Request& request, const std::string& where);
  struct State;
  std::unique_ptr<State> state_;
};

// The parts of an http or https URL (RFC 3986).
struct Url {
  std::string scheme;    // lower case
  std::string user_info; // before the @, if there is one
  std::string host;      // an IPv6 address without brackets
  std::string port;      // empty: the scheme's own
  std::string path;      // begins with a slash, or is empty
  std::string query;     // with the question mark
  bool is_loopback() const;
  std::string text() const;
};
// Usage error, which does not repeat the text: it is no URL that we take.
Result<Url> parse_url(const std::string& text);

// A URL for messages: without user, password and query, which may have secrets in them.
std::string shown(const std::string& url);

// How long the answer asks to wait (Retry-After, RFC 9110 section 10.2.3: seconds or a date). `now` is in
// seconds since 1970. Nothing: it does not say.
std::optional<std::chrono::seconds> retry_after(const Response& response, int64_t now);

} // namespace xaas::http
