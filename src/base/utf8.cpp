#include <xaas/base/utf8.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace xaas {

namespace {

// How many bytes a character has, and which values it can stand for.
struct Form {
  unsigned char mask, lead; // of the first byte
  size_t size;
  char32_t first, last;
};
constexpr auto forms = std::to_array<Form>({{0x80, 0x00, 1, 0, 0x7f},
                                            {0xe0, 0xc0, 2, 0x80, 0x7ff},
                                            {0xf0, 0xe0, 3, 0x800, 0xffff},
                                            {0xf8, 0xf0, 4, 0x10000, 0x10ffff}});

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

// The first text that is not UTF-8, and its place in `where`; null if there is none.
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

Utf8Character utf8_character(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const auto* const form = std::find_if(forms.begin(), forms.end(),
                                        [&](const Form& each) { return (byte(0) & each.mask) == each.lead; });
  if (form == forms.end())
    return {};
  char32_t value = byte(0) & static_cast<unsigned char>(~form->mask);
  for (size_t i = 1; i < form->size; ++i) {
    if (i == text.size())
      return {.cut = true};
    if ((byte(i) & 0xc0) != 0x80)
      return {};
    value = value << 6 | (byte(i) & 0x3fu);
  }
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (value < form->first || value > form->last || surrogate)
    return {};
  return {form->size, false, value};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = utf8_character(text);
    if (character.size == 0)
      return false;
    text.remove_prefix(character.size);
  }
  return true;
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
