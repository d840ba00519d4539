// Base64 (RFC 4648 section 4).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace xaas {

std::string encode_base64(std::string_view bytes);
// Decodes a text, with or without padding. Nothing if it is not base64.
std::optional<std::string> decode_base64(std::string_view text);

} // namespace xaas
