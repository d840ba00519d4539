// One question, over the network or from a record of an earlier run.
#pragma once

#include "endpoint.h"

#include <xaas/base/json.h>

#include <string>

namespace xaas::llm {

struct Reply {
  std::string body; // of an answer with status 200
  double seconds = 0;
  unsigned requests = 0;
};

// Sends the body; asks at most twice more where the server says that it is busy or in trouble.
Result<Reply> ask(const Endpoint& endpoint, const std::string& body, std::chrono::seconds timeout,
                  const World& world);

// A record: {"version", "url", "model", "style", "request", "answer": {"seconds", "requests", "body"}}.
struct Record {
  std::string url, model;
  Style style = Style::openai;
  Json request;
  Reply reply;
};
// Integrity error: the answer is no UTF-8, which a JSON file cannot hold.
Result<void> write_record(const fs::path& path, const Record& record);
Result<Record> read_record(const fs::path& path);

} // namespace xaas::llm
