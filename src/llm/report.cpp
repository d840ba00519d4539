#include <xaas/base/text.h>
#include <xaas/llm/suggest.h>

#include <algorithm>

namespace xaas::llm {

namespace {

constexpr const char* source = "language-model";
constexpr const char* comment_key = "xaas:comment";

Json places(const std::vector<discover::Place>& evidence) {
  Json json = Json::array();
  for (const discover::Place& place : evidence)
    json.push_back(Json{{"file", place.file}, {"line", place.line}});
  return json;
}

Json or_null(const std::optional<uint64_t>& number) {
  return number ? Json(*number) : Json();
}

bool is_in(const std::vector<std::string>& list, const Json& name) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& text) { return name == text; });
}

std::string comment_of(const Addition& addition, const std::string& model) {
  std::vector<std::string> where;
  for (const discover::Place& place : addition.evidence)
    where.push_back(place.file + ":" + std::to_string(place.line));
  return "named by the language model " + model + ": " + addition.reason + " (" + join(where, ", ") + ")";
}

Json first(const std::string& text, const Json& object) {
  Json json = {{comment_key, text}};
  json.update(object);
  return json;
}

} // namespace

Json to_json(const Suggestions& suggestions) {
  Json accepted = Json::array(), rejected = Json::array();
  for (const Addition& addition : suggestions.accepted)
    accepted.push_back(Json{{"point", addition.point},
                            {"new", addition.is_new},
                            {"values", addition.values},
                            {"reason", addition.reason},
                            {"evidence", places(addition.evidence)}});
  for (const Rejection& rejection : suggestions.rejected)
    rejected.push_back(Json{{"point", rejection.point},
                            {"value", rejection.value.empty() ? Json() : Json(rejection.value)},
                            {"reason", rejection.reason}});
  const Usage& usage = suggestions.usage;
  return Json{{"url", suggestions.url},
              {"model", suggestions.model},
              {"style", to_string(suggestions.style)},
              {"replayed", suggestions.replayed},
              {"prompt_bytes", usage.prompt_bytes},
              {"answer_bytes", usage.answer_bytes},
              {"prompt_tokens", or_null(usage.prompt_tokens)},
              {"answer_tokens", or_null(usage.answer_tokens)},
              {"seconds", usage.seconds},
              {"requests", usage.requests},
              {"left_out", suggestions.left_out},
              {"accepted", std::move(accepted)},
              {"rejected", std::move(rejected)}};
}

void mark(Json& points, const Suggestions& suggestions) {
  for (const Addition& addition : suggestions.accepted)
    for (Json& point : points) {
      if (point["name"] != addition.point)
        continue;
      if (addition.is_new) {
        point["source"] = source;
        point["model"] = suggestions.model;
        continue;
      }
      for (Json& value : point["values"])
        if (is_in(addition.values, value["value"])) {
          value["source"] = source;
          value["model"] = suggestions.model;
          value["evidence"] = places(addition.evidence);
        }
    }
}

std::string with_comments(const Json& application, const Suggestions& suggestions) {
  Json json = application;
  for (const Addition& addition : suggestions.accepted)
    for (Json& point : json["specializations"]) {
      if (point["name"] != addition.point)
        continue;
      const std::string comment = comment_of(addition, suggestions.model);
      if (addition.is_new)
        point = first(comment, point);
      for (Json& value : point["values"])
        if (!addition.is_new && is_in(addition.values, value["value"]))
          value = first(comment, value);
    }
  // Turns the JSON strings with the comments into comments. dump() writes each on one line without line
  // breaks.
  const std::string begin = "\"" + std::string(comment_key) + "\": \"";
  std::string text;
  for (std::string line : split(json.dump(2, ' ', false, Json::error_handler_t::replace), '\n')) {
    const size_t indent = line.find_first_not_of(' ');
    if (indent != std::string::npos && line.compare(indent, begin.size(), begin) == 0)
      line = line.substr(0, indent) + "// " +
             line.substr(indent + begin.size(), line.rfind('"') - indent - begin.size());
    text += line + "\n";
  }
  return text;
}

} // namespace xaas::llm
