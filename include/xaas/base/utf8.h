// UTF-8. File names are bytes, whereas JSON, and therefore the metadata of images, is UTF-8.
#pragma once

#include <xaas/base/json.h>
#include <xaas/base/result.h>

#include <string>
#include <string_view>

namespace xaas {

// The character at the start of a text that is not empty (RFC 3629, section 3).
struct Utf8Character {
  size_t size = 0;  // bytes; 0: not UTF-8
  bool cut = false; // the text ends within the character
  char32_t value = 0;
};
Utf8Character utf8_character(std::string_view text);

bool is_utf8(std::string_view text);

// For messages: if the text is not UTF-8, its bytes above 0x7f as \xHH.
std::string escape_bytes(const std::string& text);

// For names that are only labels: the same with %HH.
std::string as_utf8(const std::string& text);

// JSON as text. A key or string that is not UTF-8 is a failed error that names it; `what` says which
// document.
Result<std::string> json_text(const Json& json, const std::string& what, int indent = -1);

} // namespace xaas
