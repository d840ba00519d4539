// Validation of a document against a JSON schema, with readable errors.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <string>
#include <string_view>

namespace xaas::spec {

// Checks `document` against a JSON schema (draft 7). The usage error has the form "NAME: POINTER: message
// with the value"; the hint for an unknown key or enumeration value has the nearest known one. Documents may
// be untrusted: nesting, string lengths and NUL characters are limited before validation.
Result<void> validate(const Json& document, std::string_view schema, const std::string& name);

} // namespace xaas::spec
