// Base64 (RFC 4648 section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace xaas::registry {

std::string encode_base64(std::string_view bytes);
// Padding may be left out. Nothing: it is none.
std::optional<std::string> decode_base64(std::string_view text);

} // namespace xaas::registry
