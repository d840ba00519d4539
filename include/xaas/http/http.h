// HTTP requests and responses, using libcurl.
//
// libcurl (libcurl.so.4) is loaded on the first request: it brings some thirty libraries, and loading them at
// every start would slow down the compiler front door, which starts for each file of a build.
//
// TLS certificates are verified unless a request says otherwise. The authorities are libcurl's default, or
// those in the file that CURL_CA_BUNDLE or SSL_CERT_FILE names. Proxies are taken from the environment as
// usual (http_proxy, https_proxy, all_proxy, no_proxy), but never used for the loopback.
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
  std::chrono::milliseconds connect{10'000}; // until connected
  std::chrono::milliseconds total{120'000};  // until the response is complete; 0: no limit
  std::chrono::seconds stall{0};             // time below 1 KiB/s on average; 0: no limit
  uint64_t answer_bytes = 16u << 20;         // of a body without a sink
};

struct Tls {
  bool verify = true;
  std::string authorities;      // additional trusted certificates (PEM)
  std::string certificate, key; // client certificate (PEM files); empty: none
};

// A request body that need not be in memory.
struct Upload {
  uint64_t size = 0;
  // Fills the buffer with bytes from `offset` on and returns how many. Returning none before the end makes
  // the transfer fail. After a broken connection, bytes may be requested again.
  std::function<Result<size_t>(uint64_t offset, char* buffer, size_t capacity)> read;
};

struct Response {
  int status = 0;
  std::vector<Header> headers; // of the final response
  std::string body;
  const std::string* header(std::string_view name) const; // the first, ignoring case; nullptr: none
};

struct Request {
  std::string method = "GET";
  std::string url; // http or https; user and password in it never appear in messages
  std::vector<Header> headers;
  std::string body;
  std::optional<Upload> upload; // instead of `body`
  // Receives the body of a response with status 200 to 299 incrementally, instead of Response::body. An error
  // ends the transfer and is its result.
  std::function<Result<void>(const Response& head, std::string_view piece)> sink;
  Limits limits;
  Tls tls;
};

// Sends a request. Every complete response is a result, including error statuses and redirects, which are not
// followed because the request's content is only for the host that it names. Errors: usage, a malformed URL
// or header; missing_tool, no libcurl; network, no connection or no complete response in time; integrity, a
// response above the limit; interrupted. Errors name the URL as shown() does, and never quote headers or
// body.
Result<Response> send(const Request& request);

// The same for a sequence of requests, which share connections if possible.
class Client {
public:
  Client();
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  Result<Response> send(const Request& request);
  // Sends a request whose response may be larger than memory, without a sink. For a status of 200 to 299 the
  // response has no body; take it with read(). Any other response is complete. Opening another one, or
  // destroying the client, ends the transfer.
  Result<Response> open(const Request& request);
  // The next bytes of the body, at most `capacity`; none at its end. Errors are those of send().
  Result<size_t> read(char* buffer, size_t capacity);
  // Whether the last error was an untrusted certificate.
  bool distrusted() const;

private:
  Result<void> prepare(const Request& request, const std::string& where);
  struct State;
  std::unique_ptr<State> state_;
};

// The parts of an http or https URL (RFC 3986).
struct Url {
  std::string scheme;    // lower case
  std::string user_info; // before the @, if any
  std::string host;      // an IPv6 address without brackets
  std::string port;      // empty: the scheme's own
  std::string path;      // begins with a slash, or is empty
  std::string query;     // with the question mark
  bool is_loopback() const;
  std::string text() const;
};
// A usage error for an unsupported URL, without quoting it.
Result<Url> parse_url(const std::string& text);

// A URL for messages, without user, password and query, which may contain secrets.
std::string shown(const std::string& url);

// How long the response asks to wait (Retry-After, RFC 9110 section 10.2.3: seconds or a date), if it does.
// `now` is in seconds since 1970.
std::optional<std::chrono::seconds> retry_after(const Response& response, int64_t now);

} // namespace xaas::http
