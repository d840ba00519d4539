#include "exchange.h"

#include "guide.h"

#include <xaas/base/text.h>

#include <algorithm>

namespace xaas::llm {

namespace {

constexpr const char* document_name = "specialization_points";
constexpr int most_tokens = 8192; // of an answer; the messages API requires a limit

Json plain_schema() {
  Json schema = Json::parse(suggestions_schema());
  schema.erase("$schema"); // structured outputs support only the rest
  schema.erase("title");
  return schema;
}

// Copying a document recurses for each level.
Result<void> check_depth(const std::string& text) {
  constexpr int deepest = 64;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      i += c == '\\';
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest)
        return make_error(ErrorKind::integrity, "the answer is nested too deeply");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return {};
}

Error no_document(const std::string& what, const std::string& hint = {}) {
  return make_error(ErrorKind::failed, what, hint);
}

Error cut_off() {
  return no_document("the answer was cut off: the model reached its limit of tokens",
                     "use another model, or raise the limit on the server");
}

Error refused(const std::string& words) {
  return no_document("the model refused to answer" +
                     (words.empty() ? std::string() : ": " + shorten(printable(words), 200)));
}

std::optional<uint64_t> count(const Json& envelope, const char* key) {
  const auto usage = envelope.find("usage");
  if (usage == envelope.end() || !usage->is_object())
    return std::nullopt;
  const auto found = usage->find(key);
  return found == usage->end() || !found->is_number_unsigned() ? std::nullopt
                                                               : std::optional(found->get<uint64_t>());
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

Result<Answer> read_openai(const Json& envelope) {
  const JsonReader reader(envelope, "the answer");
  XAAS_TRY(const JsonReader list, reader.at("choices"));
  XAAS_TRY(const auto choices, list.items());
  if (choices.empty())
    return no_document("the answer is empty: it has no choices");
  const JsonReader& choice = choices.front();
  XAAS_TRY(const JsonReader message, choice.at("message"));
  if (!message.json().is_object())
    return message.wrong("an object");
  if (const std::string words = text_at(message.json(), "refusal"); !words.empty())
    return refused(words);
  const std::string reason = text_at(choice.json(), "finish_reason");
  if (reason == "content_filter")
    return refused(reason);
  if (reason == "length")
    return cut_off();
  const std::string content = text_at(message.json(), "content");
  if (trim(content).empty())
    return no_document("the answer is empty: its message has no content");
  Answer answer;
  XAAS_CHECK(check_depth(content));
  XAAS_TRY(answer.points, parse_json(content, "the model's answer", false, ErrorKind::integrity));
  answer.prompt_tokens = count(envelope, "prompt_tokens");
  answer.answer_tokens = count(envelope, "completion_tokens");
  return answer;
}

Result<Answer> read_anthropic(const Json& envelope) {
  const JsonReader reader(envelope, "the answer");
  const std::string reason = text_at(envelope, "stop_reason");
  if (reason == "refusal")
    return refused("");
  if (reason == "max_tokens" || reason == "model_context_window_exceeded")
    return cut_off();
  XAAS_TRY(const JsonReader list, reader.at("content"));
  XAAS_TRY(const auto blocks, list.items());
  for (const JsonReader& block : blocks) {
    if (!block.json().is_object() || text_at(block.json(), "type") != "tool_use" ||
        text_at(block.json(), "name") != document_name)
      continue;
    XAAS_TRY(const JsonReader input, block.at("input"));
    Answer answer;
    answer.points = input.json();
    answer.prompt_tokens = count(envelope, "input_tokens");
    answer.answer_tokens = count(envelope, "output_tokens");
    return answer;
  }
  return no_document("the answer is empty: the model did not call the tool for the answer");
}

} // namespace

Json request_body(Style style, const std::string& model, const std::string& description) {
  const std::string& instructions = Guide::get().instructions();
  const Json user = {{"role", "user"}, {"content", description}};
  if (style == Style::openai)
    return Json{{"model", model},
                {"temperature", 0},
                {"messages", Json::array({Json{{"role", "system"}, {"content", instructions}}, user})},
                {"response_format",
                 {{"type", "json_schema"},
                  {"json_schema", {{"name", document_name}, {"strict", true}, {"schema", plain_schema()}}}}}};
  return Json{{"model", model},
              {"max_tokens", most_tokens},
              {"temperature", 0},
              {"system", instructions},
              {"messages", Json::array({user})},
              {"tools", Json::array({Json{{"name", document_name},
                                          {"description", "Takes the specialization points that were found."},
                                          {"input_schema", plain_schema()}}})},
              {"tool_choice", {{"type", "tool"}, {"name", document_name}}}};
}

Result<Answer> read_answer(Style style, const std::string& body) {
  XAAS_CHECK(check_depth(body));
  XAAS_TRY(const Json envelope, parse_json(body, "the answer", false, ErrorKind::integrity));
  if (!envelope.is_object())
    return JsonReader(envelope, "the answer").wrong("an object");
  return style == Style::openai ? read_openai(envelope) : read_anthropic(envelope);
}

std::string server_message(const std::string& body) {
  const Result<Json> json = parse_json(body, "the answer");
  if (!json || !json->is_object())
    return {};
  std::string text = text_at(*json, "message");
  if (const auto error = json->find("error"); error != json->end()) {
    if (error->is_string())
      text = error->get<std::string>();
    else if (error->is_object())
      text = text_at(*error, "message");
  }
  text = printable(text);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return shorten(text, 300);
}

} // namespace xaas::llm
