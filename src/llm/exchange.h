// Requests and answers in the form of each style of endpoint.
#pragma once

#include <xaas/base/json.h>
#include <xaas/llm/suggest.h>

#include <optional>
#include <string>

namespace xaas::llm {

// The body of a request for an answer of the schema. Temperature 0: the same question should have the same
// answer.
Json request_body(Style style, const std::string& model, const std::string& description);

struct Answer {
  Json points; // the document of the schema, not validated yet
  std::optional<uint64_t> prompt_tokens, answer_tokens;
};

// From the body of an answer with status 200. Errors: integrity, it is no JSON or has not the style's form;
// failed, it has no document: empty, refused, cut off.
Result<Answer> read_answer(Style style, const std::string& body);

// What a server says of an error, on one line; empty: nothing that we know how to read.
std::string server_message(const std::string& body);

} // namespace xaas::llm
