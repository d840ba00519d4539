// Where a request goes, and what identifies us there.
#pragma once

#include <xaas/llm/suggest.h>

namespace xaas::llm {

struct Endpoint {
  std::string url;   // to send to
  std::string shown; // for messages and files: without credentials
  Style style = Style::openai;
  std::vector<http::Header> headers;
  std::string key; // empty: none; to be kept out of everything but the headers
};

// The path says the style; a path that is no endpoint's gets one appended: /v1/chat/completions or
// /v1/messages. Usage errors: no such URL, a path of the other style, a key that would travel in the open.
Result<Endpoint> make_endpoint(const Options& options, const World& world);

} // namespace xaas::llm
