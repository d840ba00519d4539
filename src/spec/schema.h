// Shared by the validation against a schema and the checks beyond it.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/spec/validate.h>

#include <string>
#include <string_view>

namespace xaas::spec {

// The text of specs/schema/application.schema.json, embedded in the program.
std::string_view application_schema();

// The document without the members that have their default, according to its schema.
Json without_defaults(const Json& document, std::string_view schema);

// "NAME: POINTER: message", without the pointer for the whole document.
Error error_at(const std::string& name, const std::string& pointer, const std::string& message,
               std::string hint = {});

// One reference token of a JSON pointer (RFC 6901), with the leading slash.
std::string pointer_token(std::string_view key);

// "did you mean X?", or empty if no candidate is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& candidates);

} // namespace xaas::spec
