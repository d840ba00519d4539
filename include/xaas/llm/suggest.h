// A language model as a second reader of a build: it can suggest specialization points that the rules of
// discovery missed. Its answer is never trusted, and it cannot change discovered points.
//
// Sources: the OpenAI API reference (chat completions, structured outputs), which local servers implement,
// too; the Anthropic API reference (messages, tool use).
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/discover/draft.h>
#include <xaas/http/http.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace xaas::llm {

enum class Style { openai, anthropic };
std::string to_string(Style style);
std::optional<Style> style_of(const std::string& name);

struct Options {
  std::string url;            // of the endpoint, or of the server; may be empty with `replay`
  std::string model;          // may be empty with `replay`
  std::optional<Style> style; // nullopt: by the path of the URL, or else openai
  std::chrono::seconds timeout{120};
  uint64_t prompt_bytes = 96u << 10; // limit for the description of the build
  fs::path record;                   // file to write request and answer to; empty: none
  fs::path replay;                   // file to read the answer from, without network; empty: none
};

// The outside world of the module; tests replace it.
struct World {
  std::function<Result<http::Response>(const http::Request&)> send = http::send;
  std::function<Result<void>(std::chrono::seconds)> sleep; // empty: sleeps until interrupted
  std::function<int64_t()> now;                            // seconds since 1970; empty: the system clock
  std::function<const char*(const char*)>
      environment; // empty: that of the process; returns nullptr if not set
};

// An accepted part of an answer.
struct Addition {
  std::string point;
  bool is_new = false;             // else `values` were added to a discovered point
  std::vector<std::string> values; // the new ones
  std::string reason;
  std::vector<discover::Place> evidence;
};

// A rejected part of an answer. The names are those of the model, shortened and made printable.
struct Rejection {
  std::string point;
  std::string value; // empty: the whole point
  std::string reason;
};

struct Usage {
  uint64_t prompt_bytes = 0, answer_bytes = 0;          // bodies of request and answer
  std::optional<uint64_t> prompt_tokens, answer_tokens; // as counted by the server
  double seconds = 0;                                   // from the first request to the answer
  unsigned requests = 0;                                // including retries
};

struct Suggestions {
  discover::Discovery discovery; // with the additions
  std::string url, model;        // without credentials
  Style style = Style::openai;
  bool replayed = false;
  std::vector<Addition> accepted;
  std::vector<Rejection> rejected;
  std::vector<std::string> left_out; // omissions of the description because of its size limit
  Usage usage;
};

// Asks the model and adds the points that pass the checks. The key comes from XAAS_LLM_KEY, or from
// OPENAI_API_KEY or ANTHROPIC_API_KEY by style; the latter two are sent only encrypted or to this machine.
// Without a key, none is sent.
//
// A point passes if its category is known, if its evidence consists of lines of files in `tree` that mention
// its option, and if its arguments set options that the findings or these lines name, to values that the
// option can have. A default in the findings overrides that of the model. The needs of a value come from the
// knowledge of discovery, never from the model.
//
// Errors, all with the hint that discovery works without a model: usage, an invalid URL or key; network, no
// answer (after two retries for status 408, 429 and 5xx); denied, 401 and 403; not_found, 404; integrity, an
// answer that is too large, not JSON or does not fit the schema, or a record of another request; failed, an
// answer that is empty, refused or cut off, or another status.
Result<Suggestions> suggest(const fs::path& tree, const discover::Findings& findings,
                            const discover::Discovery& discovery, const Options& options,
                            const World& world = {});

// The report as JSON: "url", "model", ..., "accepted", "rejected".
Json to_json(const Suggestions& suggestions);

// Marks the additions of the model in a list of points (from spec::to_json) with "source" and "model"; values
// that were added to a discovered point also get "evidence".
void mark(Json& points, const Suggestions& suggestions);

// A comment for each addition of the model.
std::vector<discover::Remark> remarks(const Suggestions& suggestions);

} // namespace xaas::llm
