// One request over the network, and records of requests.
#pragma once

#include "endpoint.h"

#include <xaas/base/json.h>

#include <string>

namespace xaas::llm {

struct Reply {
  std::string body; // of a response with status 200
  double seconds = 0;
  unsigned requests = 0;
};

// Sends the body. Retries at most twice if the server reports that it is busy or failing.
Result<Reply> ask(const Endpoint& endpoint, const std::string& body, std::chrono::seconds timeout,
                  const World& world);

// A record: {"version", "url", "model", "style", "request", "answer": {"seconds", "requests", "body"}}.
struct Record {
  std::string url, model;
  Style style = Style::openai;
  Json request;
  Reply reply;
};
// Integrity error: the answer is not UTF-8, which JSON requires.
Result<void> write_record(const fs::path& path, const Record& record);
Result<Record> read_record(const fs::path& path);

} // namespace xaas::llm
