// One HTTP request and its answer, over libcurl.
//
// libcurl is loaded when the first request is made (libcurl.so.4): it brings some thirty libraries, and
// loading them at every start would slow down the compiler front door, which starts for each file of a build.
//
// TLS certificates are always verified. Authorities are libcurl's own, or those of the file that
// CURL_CA_BUNDLE or SSL_CERT_FILE names. Proxies of the environment are honoured as libcurl does
// (http_proxy, https_proxy, all_proxy, no_proxy), but never for the loopback.
#pragma once

#include <xaas/base/result.h>

#include <chrono>
#include <cstdint>
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
  std::chrono::milliseconds total{120'000};  // until the answer is complete
  uint64_t answer_bytes = 16u << 20;         // of the body
};

struct Request {
  std::string method = "GET";
  std::string url; // http or https; may have a user and password, which go into no message
  std::vector<Header> headers;
  std::string body;
  Limits limits;
};

struct Response {
  int status = 0;
  std::vector<Header> headers; // of the final answer
  std::string body;
  const std::string* header(std::string_view name) const; // the first; case does not matter; nullptr: none
};

// Sends a request. Every complete answer is a response, also one with an error's status or a redirect, which
// is not followed: what a request carries is for the host that it names. Errors: usage, a malformed URL or
// header; missing_tool, no libcurl; network, no connection or no complete answer in time; integrity, an
// answer above the limit; interrupted. Errors name the URL as shown() does, and nothing of the headers and
// the body.
Result<Response> send(const Request& request);

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
