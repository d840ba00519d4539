// A language model as a second reader of a build: it may name specialization points that the rules of
// discovery missed. Nothing that it says is taken on trust, and nothing that was read is changed by it.
//
// Sources: the OpenAI API reference (chat completions, structured outputs), which local servers speak too;
// the Anthropic API reference (messages, tool use).
#pragma once

#include <xaas/base/file.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/discover/discover.h>
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
  std::optional<Style> style; // absent: what the URL's path says, else openai
  std::chrono::seconds timeout{120};
  uint64_t prompt_bytes = 96u << 10; // of the description of the build, at most
  fs::path record;                   // request and answer are written there; empty: nowhere
  fs::path replay;                   // the answer is taken from there, without network; empty: no
};

// What the module asks of the world.
struct World {
  std::function<Result<http::Response>(const http::Request&)> send = http::send;
  std::function<Result<void>(std::chrono::seconds)> sleep; // absent: sleeps, until interrupted
  std::function<int64_t()> now;                            // seconds since 1970; absent: the system's clock
  std::function<const char*(const char*)> environment;     // absent: the process's; nullptr: not set
};

// What was taken of an answer.
struct Addition {
  std::string point;
  bool is_new = false;             // else `values` were added to a point that was read
  std::vector<std::string> values; // that are new
  std::string reason;
  std::vector<discover::Place> evidence;
};

// What was not taken. The names are the model's, made printable and short.
struct Rejection {
  std::string point;
  std::string value; // empty: the whole point
  std::string reason;
};

struct Usage {
  uint64_t prompt_bytes = 0, answer_bytes = 0;          // bodies of request and answer
  std::optional<uint64_t> prompt_tokens, answer_tokens; // as the server counts
  double seconds = 0;                                   // from the first request to the answer
  unsigned requests = 0;                                // that it took
};

struct Suggestions {
  discover::Discovery discovery; // with what was added
  std::string url, model;        // without credentials
  Style style = Style::openai;
  bool replayed = false;
  std::vector<Addition> accepted;
  std::vector<Rejection> rejected;
  std::vector<std::string> left_out; // of the description, because it would have been too long
  Usage usage;
};

// Asks the model and adds what holds. The key comes from XAAS_LLM_KEY, else from OPENAI_API_KEY or
// ANTHROPIC_API_KEY, by style; these two are sent only encrypted or to this machine. No key: none is sent.
//
// What holds: a point of a known category whose evidence are lines of files in `tree` that name its option,
// and whose arguments set options that the findings or these lines name, to values that such an option can
// have. What the findings know of a default decides over the model. What a value needs of a system comes from
// the knowledge of discovery, never from the model.
//
// Errors, which all say that discovery works without a model: usage, a URL or key that cannot be;
// network, no answer (after two more tries for status 408, 429 and 5xx); denied, 401 and 403; not_found, 404;
// integrity, an answer that is too large, not JSON, not of the schema, and a record of another request;
// failed, no answer in the answer: empty, refused, cut off; another status.
Result<Suggestions> suggest(const fs::path& tree, const discover::Findings& findings,
                            const discover::Discovery& discovery, const Options& options,
                            const World& world = {});

// The report: "url", "model", ..., "accepted", "rejected".
Json to_json(const Suggestions& suggestions);

// Marks in a list of points, as spec::to_json has them, what the model added: "source" and "model", and with
// the values of a point that was read their "evidence".
void mark(Json& points, const Suggestions& suggestions);

// An application spec as text, with a comment at each point and value that the model added.
std::string with_comments(const Json& application, const Suggestions& suggestions);

} // namespace xaas::llm
