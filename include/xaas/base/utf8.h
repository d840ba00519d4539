// Names of files are bytes; JSON, and so the metadata of images, is UTF-8.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <string>
#include <string_view>

namespace xaas {

bool is_utf8(std::string_view text);

// For messages: bytes that are no part of UTF-8's ASCII as \xHH. Text that is UTF-8 stays as it is.
std::string escape_bytes(const std::string& text);

// For names that only label something: the same bytes as %HH.
std::string as_utf8(const std::string& text);

// JSON as text. A key or string that is not UTF-8 is a failed error that names it, and `what` has it.
Result<std::string> json_text(const Json& json, const std::string& what, int indent = -1);

} // namespace xaas
