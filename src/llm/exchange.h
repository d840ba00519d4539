// Requests and answers in the form of each endpoint style.
#pragma once

#include <xaas/base/json.h>
#include <xaas/llm/suggest.h>

#include <optional>
#include <string>

namespace xaas::llm {

// The body of a request for an answer that fits the schema, with temperature 0 for reproducible answers.
Json request_body(Style style, const std::string& model, const std::string& description);

struct Answer {
  Json points; // the document of the schema, not validated yet
  std::optional<uint64_t> prompt_tokens, answer_tokens;
};

// Reads the body of a response with status 200. Errors: integrity if it is not JSON of this style; failed if
// it has no document, because it is empty, refused or cut off.
Result<Answer> read_answer(Style style, const std::string& body);

// The error message of a server on one line; empty: unknown form.
std::string server_message(const std::string& body);

} // namespace xaas::llm
