#include "ask.h"

#include "exchange.h"

#include <xaas/base/text.h>

#include <chrono>
#include <utility>

namespace xaas::llm {

namespace {

constexpr unsigned most_requests = 3;
constexpr std::chrono::seconds longest_wait{60};
constexpr uint64_t largest_answer = 4u << 20;

bool may_pass(int status) {
  return status == 408 || status == 429 || status >= 500;
}

// The message of the server; a quoted key is masked.
std::string words_of(const http::Response& response, const std::string& key) {
  const std::string text = replaced(server_message(response.body), key, "***");
  return text.empty() ? "" : ": " + text;
}

Error explain(const http::Response& response, const Endpoint& endpoint) {
  const std::string status = "HTTP status " + std::to_string(response.status);
  const std::string words = words_of(response, endpoint.key);
  switch (response.status) {
  case 401:
  case 403: // servers quote parts of a key here, so their message is omitted
    return make_error(ErrorKind::denied, status + ": access denied",
                      endpoint.key.empty()
                          ? "no key was sent; set XAAS_LLM_KEY to the key of the server"
                          : "the key came from XAAS_LLM_KEY, or from the variable of the API's vendor");
  case 404:
    return make_error(ErrorKind::not_found, status + words,
                      "the path of the URL or the name of the model may be wrong");
  case 400:
  case 413:
  case 422:
    return make_error(
        ErrorKind::failed, status + words,
        "--llm-max-prompt makes the request smaller; the model must support structured output and "
        "temperature 0");
  default:
    if (response.status >= 300 && response.status < 400)
      return make_error(ErrorKind::network, status + ": redirects are not followed");
    return make_error(may_pass(response.status) ? ErrorKind::network : ErrorKind::failed, status + words);
  }
}

// The wait before request `number` (from 2 on); nullopt: longer than the limit.
std::optional<std::chrono::seconds> pause(const http::Response& response, unsigned number, int64_t now) {
  const auto asked = http::retry_after(response, now);
  if (!asked)
    return std::chrono::seconds(number == 2 ? 1 : 4);
  return *asked > longest_wait ? std::nullopt : asked;
}

} // namespace

Result<Reply> ask(const Endpoint& endpoint, const std::string& body, std::chrono::seconds timeout,
                  const World& world) {
  http::Request request;
  request.method = "POST";
  request.url = endpoint.url;
  request.headers = endpoint.headers;
  request.body = body;
  request.limits.total = timeout;
  request.limits.answer_bytes = largest_answer;
  const auto start = std::chrono::steady_clock::now();
  for (unsigned number = 1;; ++number) {
    XAAS_TRY(http::Response response, world.send(request));
    if (response.status == 200) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      return Reply{std::move(response.body), passed.count(), number};
    }
    Error error = explain(response, endpoint).in(endpoint.shown);
    if (!may_pass(response.status))
      return error;
    if (number == most_requests) {
      error.message += " (asked " + std::to_string(number) + " times)";
      return error;
    }
    const auto wait = pause(response, number + 1, world.now());
    if (!wait) {
      error.message +=
          " (the server asks to wait longer than " + std::to_string(longest_wait.count()) + " s)";
      return error;
    }
    XAAS_CHECK(world.sleep(*wait));
  }
}

Result<void> write_record(const fs::path& path, const Record& record) {
  const Json json = {{"version", 1},
                     {"url", record.url},
                     {"model", record.model},
                     {"style", to_string(record.style)},
                     {"request", record.request},
                     {"answer",
                      {{"seconds", record.reply.seconds},
                       {"requests", record.reply.requests},
                       {"body", record.reply.body}}}};
  try {
    return write_output(path, json.dump(1) + "\n");
  } catch (const Json::exception&) {
    return make_error(ErrorKind::integrity, "the answer is not UTF-8 text");
  }
}

Result<Record> read_record(const fs::path& path) {
  constexpr uint64_t largest = 64u << 20;
  XAAS_TRY(const std::string text, read_file(path, largest));
  XAAS_TRY(const Json json, parse_json(text, path.string(), false, ErrorKind::integrity));
  const JsonReader reader(json, path.string());
  XAAS_TRY(const JsonReader version, reader.at("version"));
  if (version.json() != 1)
    return make_error(ErrorKind::unsatisfied, path.string() + ": not a record of version 1");
  Record record;
  XAAS_TRY(record.url, reader.string_at("url"));
  XAAS_TRY(record.model, reader.string_at("model"));
  XAAS_TRY(const std::string style, reader.string_at("style"));
  const auto known = style_of(style);
  if (!known)
    return make_error(ErrorKind::integrity, path.string() + "/style: unknown style");
  record.style = *known;
  XAAS_TRY(JsonReader request, reader.at("request"));
  record.request = request.json();
  XAAS_TRY(const JsonReader answer, reader.at("answer"));
  XAAS_TRY(record.reply.body, answer.string_at("body"));
  XAAS_TRY(const JsonReader requests, answer.at("requests"));
  XAAS_TRY(const uint64_t count, requests.size());
  record.reply.requests = static_cast<unsigned>(count);
  XAAS_TRY(const JsonReader seconds, answer.at("seconds"));
  if (!seconds.json().is_number())
    return seconds.wrong("a number");
  record.reply.seconds = seconds.json().get<double>();
  return record;
}

} // namespace xaas::llm
