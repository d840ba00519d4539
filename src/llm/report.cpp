#include <xaas/base/text.h>
#include <xaas/llm/suggest.h>

#include <algorithm>

namespace xaas::llm {

namespace {

constexpr const char* source = "language-model";

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

std::vector<discover::Remark> remarks(const Suggestions& suggestions) {
  std::vector<discover::Remark> remarks;
  for (const Addition& addition : suggestions.accepted) {
    const std::string point = "/specializations/" + addition.point;
    const std::string text = comment_of(addition, suggestions.model);
    if (addition.is_new)
      remarks.push_back({point, text});
    else
      for (const std::string& value : addition.values)
        remarks.push_back({point + "/values/" + value, text});
  }
  return remarks;
}

} // namespace xaas::llm
