#include "ask.h"
#include "check.h"
#include "describe.h"
#include "exchange.h"
#include "guide.h"
#include "merge.h"

#include <xaas/base/process.h>
#include <xaas/base/text.h>
#include <xaas/spec/validate.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <thread>

namespace xaas::llm {

namespace {

Result<void> sleep_until_interrupted(std::chrono::seconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    XAAS_CHECK(check_interrupt());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return {};
}

World complete(World world) {
  if (!world.sleep)
    world.sleep = sleep_until_interrupted;
  if (!world.now)
    world.now = [] { return int64_t(std::time(nullptr)); };
  if (!world.environment)
    world.environment = [](const char* name) { return static_cast<const char*>(std::getenv(name)); };
  return world;
}

Result<Reply> replay(const Options& options, const Json& request, const Record& record) {
  if (request != record.request)
    return make_error(ErrorKind::integrity,
                      options.replay.string() + ": the record is of another request; the tree, the model or "
                                                "the program changed after it was made",
                      "--llm-record with --llm URL makes a new one");
  return record.reply;
}

// Asks over the network, and writes the record before the answer is parsed.
Result<Reply> ask_and_record(const Options& options, const World& world, const std::string& body,
                             const Json& request, Suggestions& suggestions) {
  XAAS_TRY(const Endpoint endpoint, make_endpoint(options, world));
  suggestions.url = endpoint.shown;
  XAAS_TRY(Reply reply, ask(endpoint, body, options.timeout, world));
  if (!options.record.empty())
    XAAS_CHECK(write_record(options.record, {endpoint.shown, options.model, endpoint.style, request, reply}));
  return reply;
}

Result<Json> valid_points(const Answer& answer) {
  auto valid = spec::validate(answer.points, suggestions_schema(), "the model's answer");
  if (valid)
    return answer.points;
  Error error = std::move(valid).error();
  error.kind = ErrorKind::integrity;
  error.hint.clear(); // hints are for authors of documents
  return error;
}

Result<Suggestions> suggest_unguarded(const fs::path& tree, const discover::Findings& findings,
                                      const discover::Discovery& discovery, Options options,
                                      const World& world) {
  if (!findings.system)
    return discover::no_build_system(tree, findings);
  std::optional<Record> record;
  Suggestions suggestions;
  suggestions.discovery = discovery;
  if (!options.replay.empty()) {
    XAAS_TRY(record, read_record(options.replay));
    suggestions.replayed = true;
    suggestions.url = record->url;
    suggestions.style = record->style;
    if (options.model.empty())
      options.model = record->model;
  } else {
    XAAS_TRY(const Endpoint endpoint, make_endpoint(options, world));
    suggestions.style = endpoint.style;
  }
  suggestions.model = options.model;
  TreeLines lines(tree);
  Description description = describe(lines, findings, discovery, options.prompt_bytes);
  suggestions.left_out = std::move(description.left_out);
  const std::string body = request_body(suggestions.style, options.model, description.text)
                               .dump(-1, ' ', false, Json::error_handler_t::replace);
  const Json request = Json::parse(body); // dump() replaced invalid UTF-8
  XAAS_TRY(const Reply reply, record ? replay(options, request, *record)
                                     : ask_and_record(options, world, body, request, suggestions));
  auto answered = read_answer(suggestions.style, reply.body).in(suggestions.url);
  XAAS_TRY(const Answer answer, std::move(answered));
  suggestions.usage = {body.size(),          reply.body.size(), answer.prompt_tokens,
                       answer.answer_tokens, reply.seconds,     reply.requests};
  auto checked = valid_points(answer).in(suggestions.url);
  XAAS_TRY(const Json document, std::move(checked));
  merge(check(document, findings, lines, suggestions.rejected), findings, suggestions);
  return suggestions;
}

} // namespace

Result<Suggestions> suggest(const fs::path& tree, const discover::Findings& findings,
                            const discover::Discovery& discovery, const Options& options,
                            const World& world) {
  auto result = suggest_unguarded(tree, findings, discovery, options, complete(world));
  if (result)
    return result;
  Error error = std::move(result).error().in("asking the language model");
  error.message = shorten(printable(error.message), 1000);
  if (error.kind != ErrorKind::interrupted)
    error.hint += std::string(error.hint.empty() ? "" : "; ") + "without --llm, discovery needs no model";
  return error;
}

} // namespace xaas::llm
