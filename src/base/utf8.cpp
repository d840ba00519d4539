#include <xaas/base/utf8.h>

#include <cstdio>

namespace xaas {

namespace {

std::string with_hex(const std::string& text, const char* format) {
  if (is_utf8(text))
    return text;
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    char hex[8];
    std::snprintf(hex, sizeof(hex), format, byte);
    escaped += byte < 0x80 ? std::string(1, c) : hex;
  }
  return escaped;
}

// Where the first text that is not UTF-8 is, and that text; null if all are.
const std::string* find_bytes(const Json& json, std::string& where) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    return is_utf8(text) ? nullptr : &text;
  }
  if (!json.is_structured())
    return nullptr;
  for (const auto& [key, value] : json.items()) {
    const size_t length = where.size();
    where += "/" + escape_bytes(key);
    if (json.is_object() && !is_utf8(key))
      return &key;
    if (const std::string* found = find_bytes(value, where))
      return found;
    where.resize(length);
  }
  return nullptr;
}

} // namespace

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(Json(text).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::string escape_bytes(const std::string& text) {
  return with_hex(text, "\\x%02X");
}

std::string as_utf8(const std::string& text) {
  return with_hex(text, "%%%02X");
}

Result<std::string> json_text(const Json& json, const std::string& what, int indent) {
  try {
    return json.dump(indent);
  } catch (const nlohmann::json::exception&) {
    std::string where;
    const std::string* bytes = find_bytes(json, where);
    return make_error(ErrorKind::failed, what + ": `" + (bytes ? escape_bytes(*bytes) : std::string()) +
                                             "` (" + where + ") is not UTF-8");
  }
}

} // namespace xaas
