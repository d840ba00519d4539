// Validation of a document against a JSON schema, with errors for people.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <string>
#include <string_view>

namespace xaas::spec {

// Checks `document` against a JSON schema (draft 7). The usage error reads "NAME: POINTER: what is wrong,
// with the value"; for an unknown key or value of an enumeration the hint has the nearest known one.
// Documents may be hostile: nesting, lengths of strings and NUL characters are limited before any validation.
Result<void> validate(const Json& document, std::string_view schema, const std::string& name);

} // namespace xaas::spec
