// The destination of a request, and its credentials.
#pragma once

#include <xaas/llm/suggest.h>

namespace xaas::llm {

struct Endpoint {
  std::string url;   // the destination
  std::string shown; // for messages and files: without credentials
  Style style = Style::openai;
  std::vector<http::Header> headers;
  std::string key; // empty: none; used in the headers only
};

// The path determines the style; a path that is not that of an endpoint gets /v1/chat/completions or
// /v1/messages appended. Usage errors: an invalid URL, a path of the other style, a key that would be sent
// unencrypted.
Result<Endpoint> make_endpoint(const Options& options, const World& world);

} // namespace xaas::llm
