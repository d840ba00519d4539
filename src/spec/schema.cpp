// valijson decides whether a document fits the schema and finds the place of the first error. Its messages
// are about constraints ("Value type not permitted by 'type' constraint"), so this file makes its own from
// the schema at that place.
#include "schema.h"

#include <xaas/base/text.h>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <regex>
#include <utility>
#include <vector>

namespace xaas::spec {
namespace {

// std::regex recurses for each character, dump() for each level; the limits bound both.
constexpr size_t max_depth = 16;
constexpr size_t max_string = 4096;

std::string quoted(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60)
    text = text.substr(0, 57) + "...";
  return text;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items())
    keys.push_back(key);
  return keys;
}

std::optional<std::string> bad_string(const std::string& text) {
  if (text.size() > max_string)
    return "a string of " + std::to_string(text.size()) + " bytes; at most " + std::to_string(max_string) +
           " are allowed";
  if (text.find('\0') != std::string::npos)
    return "a string with a NUL character";
  return std::nullopt;
}

Result<void> check_limits(const Json& document, const std::string& name) {
  struct Place {
    const Json* value;
    std::string pointer;
    size_t depth;
  };
  std::vector<Place> places = {{&document, "", 0}};
  while (!places.empty()) {
    const Place place = std::move(places.back());
    places.pop_back();
    if (place.depth > max_depth)
      return error_at(name, place.pointer, "nested too deeply");
    if (place.value->is_string())
      if (const auto bad = bad_string(place.value->get_ref<const std::string&>()))
        return error_at(name, place.pointer, *bad);
    if (place.value->is_array())
      for (size_t i = 0; i < place.value->size(); ++i)
        places.push_back({&(*place.value)[i], place.pointer + "/" + std::to_string(i), place.depth + 1});
    if (place.value->is_object())
      for (const auto& [key, value] : place.value->items()) {
        if (const auto bad = bad_string(key))
          return error_at(name, place.pointer, "a key is " + *bad);
        places.push_back({&value, place.pointer + pointer_token(key), place.depth + 1});
      }
  }
  return {};
}

// Finds the part of a schema that describes a place of the document; nullptr: none.
class SchemaWalk {
public:
  explicit SchemaWalk(const Json& root) : root_(root) {}

  const Json* resolve(const Json* schema) const {
    while (schema && schema->is_object() && schema->contains("$ref")) {
      const auto reference = Json::json_pointer((*schema)["$ref"].get<std::string>().substr(1));
      schema = root_.contains(reference) ? &root_[reference] : nullptr;
    }
    return schema;
  }

  const Json* member(const Json& schema, const std::string& key) const {
    if (schema.contains("properties") && schema["properties"].contains(key))
      return resolve(&schema["properties"][key]);
    if (schema.contains("patternProperties"))
      for (const auto& [pattern, inner] : schema["patternProperties"].items())
        if (std::regex_search(key, std::regex(pattern)))
          return resolve(&inner);
    if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
      return resolve(&schema["additionalProperties"]);
    return nullptr;
  }

  // The value that a missing member has; nullptr: none is known.
  const Json* default_of(const Json& schema, const std::string& key) const {
    if (!schema.contains("properties") || !schema["properties"].contains(key))
      return nullptr;
    const Json& property = schema["properties"][key];
    if (property.contains("default"))
      return &property["default"];
    const Json* const resolved = resolve(&property);
    return resolved && resolved->contains("default") ? &(*resolved)["default"] : nullptr;
  }

  const Json* element(const Json& schema) const {
    return schema.contains("items") ? resolve(&schema["items"]) : nullptr;
  }

private:
  const Json& root_;
};

struct Finding {
  std::string pointer, message, hint;
};

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer")
    return value.is_number_integer();
  if (type == "number")
    return value.is_number();
  if (type == "boolean")
    return value.is_boolean();
  return type == value.type_name();
}

std::string with_article(const std::string& type) {
  if (type == "null")
    return type;
  return (std::string("aio").find(type[0]) != std::string::npos ? "an " : "a ") + type;
}

std::optional<Finding> wrong_type(const Json& value, const Json& schema) {
  if (!schema.contains("type"))
    return std::nullopt;
  const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  std::vector<std::string> expected;
  for (const Json& type : types) {
    if (has_type(value, type))
      return std::nullopt;
    expected.push_back(with_article(type));
  }
  return Finding{"", "expected " + join(expected, " or ") + ", found " + quoted(value), ""};
}

std::optional<Finding> wrong_string(const Json& value, const Json& schema) {
  if (schema.contains("enum")) {
    const auto known = schema["enum"].get<std::vector<std::string>>();
    if (std::find(known.begin(), known.end(), value.get<std::string>()) == known.end())
      return Finding{"", quoted(value) + " is not one of " + join(known, ", "),
                     suggestion(value.get<std::string>(), known)};
  }
  if (schema.contains("minLength") && value.get_ref<const std::string&>().empty())
    return Finding{"", "an empty string is not allowed here", ""};
  if (schema.contains("pattern")) {
    const std::string pattern = schema["pattern"];
    if (!std::regex_search(value.get_ref<const std::string&>(), std::regex(pattern)))
      return Finding{
          "", quoted(value) + (pattern == "^/" ? " is not an absolute path" : " does not match " + pattern),
          schema.contains("description") ? schema["description"].get<std::string>() : ""};
  }
  return std::nullopt;
}

std::optional<Finding> wrong_object(const Json& value, const Json& schema, const SchemaWalk& walk) {
  const bool closed = schema.contains("additionalProperties") && schema["additionalProperties"] == false;
  for (const auto& [key, inner] : value.items())
    if (closed && !walk.member(schema, key)) {
      if (!schema.contains("properties"))
        return Finding{
            pointer_token(key),
            Json(key).dump() + " does not match " + join(keys_of(schema["patternProperties"]), " or "), ""};
      const std::vector<std::string> known = keys_of(schema["properties"]);
      std::string hint = suggestion(key, known);
      if (hint.empty())
        hint = "known keys: " + join(known, ", ");
      return Finding{pointer_token(key), "unknown key " + Json(key).dump(), hint};
    }
  if (schema.contains("required"))
    for (const std::string key : schema["required"])
      if (!value.contains(key))
        return Finding{pointer_token(key), "missing", ""};
  if (schema.contains("minProperties") && value.empty())
    return Finding{"", "an empty object is not allowed here", ""};
  return std::nullopt;
}

std::optional<Finding> wrong_array(const Json& value, const Json& schema) {
  if (schema.contains("minItems") && value.empty())
    return Finding{"", "an empty array is not allowed here", ""};
  if (schema.contains("maxItems") && value.size() > schema["maxItems"].get<size_t>())
    return Finding{
        "", std::to_string(value.size()) + " elements; at most " + schema["maxItems"].dump() + " are allowed",
        ""};
  if (schema.contains("uniqueItems"))
    for (size_t i = 0; i < value.size(); ++i)
      if (std::find(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(i), value[i]) !=
          value.begin() + static_cast<std::ptrdiff_t>(i))
        return Finding{"/" + std::to_string(i), quoted(value[i]) + " is given twice", ""};
  return std::nullopt;
}

std::optional<Finding> describe(const Json& value, const Json& schema, const SchemaWalk& walk) {
  if (auto found = wrong_type(value, schema))
    return found;
  if (value.is_string())
    return wrong_string(value, schema);
  if (value.is_object())
    return wrong_object(value, schema, walk);
  if (value.is_array())
    return wrong_array(value, schema);
  return std::nullopt;
}

// Converts the place of valijson ("<root>", "[build]", "[0]") to a pointer, and describes the error there.
Error explain(const Json& document, const Json& schema, const valijson::ValidationResults::Error& error,
              const std::string& name) {
  const SchemaWalk walk(schema);
  const Json* value = &document;
  const Json* part = walk.resolve(&schema);
  std::string pointer;
  for (size_t i = 1; i < error.context.size(); ++i) {
    const std::string token = error.context[i].substr(1, error.context[i].size() - 2);
    pointer += pointer_token(token);
    if (value->is_array()) {
      value = &(*value)[std::stoul(token)];
      part = part ? walk.element(*part) : nullptr;
    } else {
      value = &(*value)[token];
      part = part ? walk.member(*part, token) : nullptr;
    }
  }
  if (part)
    if (const auto found = describe(*value, *part, walk))
      return error_at(name, pointer + found->pointer, found->message, found->hint);
  return error_at(name, pointer, quoted(*value) + ": " + error.description);
}

Json without_defaults(const Json& value, const Json* schema, const SchemaWalk& walk) {
  if (!schema)
    return value;
  Json result = value;
  if (value.is_array())
    for (size_t i = 0; i < value.size(); ++i)
      result[i] = without_defaults(value[i], walk.element(*schema), walk);
  if (!value.is_object())
    return result;
  result = Json::object();
  for (const auto& [key, inner] : value.items()) {
    Json kept = without_defaults(inner, walk.member(*schema, key), walk);
    if (const Json* const otherwise = walk.default_of(*schema, key); !otherwise || *otherwise != kept)
      result[key] = std::move(kept);
  }
  return result;
}

} // namespace

Json without_defaults(const Json& document, std::string_view schema_text) {
  const Json schema = Json::parse(schema_text);
  const SchemaWalk walk(schema);
  return without_defaults(document, walk.resolve(&schema), walk);
}

std::string pointer_token(std::string_view key) {
  std::string token = "/";
  for (const char c : key)
    token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return token;
}

Error error_at(const std::string& name, const std::string& pointer, const std::string& message,
               std::string hint) {
  return make_error(ErrorKind::usage, name + ": " + (pointer.empty() ? "" : pointer + ": ") + message,
                    std::move(hint));
}

std::string suggestion(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : "did you mean `" + near + "`?";
}

Result<void> validate(const Json& document, std::string_view schema_text, const std::string& name) {
  XAAS_CHECK(check_limits(document, name));
  try {
    // The adapter only supports nlohmann::json, whose keys are sorted.
    const nlohmann::json plain_schema = nlohmann::json::parse(schema_text);
    const nlohmann::json plain = document;
    valijson::Schema schema;
    valijson::SchemaParser parser;
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(plain_schema), schema);
    valijson::Validator validator;
    valijson::ValidationResults results;
    if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(plain), &results))
      return {};
    valijson::ValidationResults::Error first;
    if (!results.popError(first))
      return error_at(name, "", "does not fit its schema");
    return explain(document, Json::parse(schema_text), first, name);
  } catch (const std::exception& error) {
    return error_at(name, "", std::string("cannot be checked against its schema: ") + error.what());
  }
}

} // namespace xaas::spec
