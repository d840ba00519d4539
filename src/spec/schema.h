// Validation of a document against a JSON schema, with errors for people.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <string>
#include <string_view>

namespace xaas::spec {

// The text of specs/schema/application.schema.json, which the program carries inside.
std::string_view application_schema();

// Checks `document` against a JSON schema (draft 7). The usage error reads "NAME: POINTER: what is wrong,
// with the value"; for an unknown key or value of an enumeration the hint has the nearest known one.
// Documents may be hostile: nesting, lengths of strings and NUL characters are limited before any validation.
Result<void> validate(const Json& document, std::string_view schema, const std::string& name);

// "NAME: POINTER: message", without the pointer for the whole document.
Error error_at(const std::string& name, const std::string& pointer, const std::string& message,
               std::string hint = {});

// One reference token of a JSON pointer (RFC 6901), with the leading slash.
std::string pointer_token(std::string_view key);

// "did you mean X?", or nothing if no candidate is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& candidates);

} // namespace xaas::spec
