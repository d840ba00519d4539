#include <xaas/base/plain_stream.h>
#include <xaas/base/text.h>
#include <xaas/base/utf8.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace xaas {

namespace {

struct Range {
  char32_t first, last;
};
constexpr auto quoted = std::to_array<Range>({{0, 8}, // '\t' and '\n' stay
                                              {0x0b, 0x1f},
                                              {0x7f, 0x9f},
                                              {0x061c, 0x061c},   // Arabic letter mark
                                              {0x200e, 0x200f},   // left-to-right and right-to-left marks
                                              {0x2028, 0x202e},   // separators; embeddings and overrides
                                              {0x2066, 0x2069}}); // isolates

bool is_quoted(char32_t character) {
  return std::any_of(quoted.begin(), quoted.end(), [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

void append_escape(const char* format, unsigned value, std::string& output) {
  char text[16];
  std::snprintf(text, sizeof(text), format, value);
  output += text;
}

} // namespace

size_t append_plain(std::string_view text, std::string& output, bool whole) {
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Character character = utf8_character(text.substr(at));
    if (character.cut && !whole)
      return at;
    if (character.size == 0)
      append_escape("\\x%02x", static_cast<unsigned char>(text[at]), output);
    else if (is_quoted(character.value))
      append_escape("\\u%04x", static_cast<unsigned>(character.value), output);
    else
      output += text.substr(at, character.size);
    at += std::max<size_t>(1, character.size);
  }
  return at;
}

std::string printable(std::string text) {
  std::string result;
  append_plain(text, result, true);
  return result;
}

bool PlainStream::pass_on(bool whole) {
  std::string plain;
  rest_.erase(0, append_plain(rest_, plain, whole));
  const auto size = static_cast<std::streamsize>(plain.size());
  return sink_.sputn(plain.data(), size) == size;
}

std::streamsize PlainStream::xsputn(const char* text, std::streamsize size) {
  rest_.append(text, static_cast<size_t>(size));
  return pass_on(false) ? size : 0;
}

PlainStream::int_type PlainStream::overflow(int_type character) {
  if (traits_type::eq_int_type(character, traits_type::eof()))
    return traits_type::not_eof(character);
  const char byte = traits_type::to_char_type(character);
  return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
}

int PlainStream::sync() {
  return pass_on(true) ? sink_.pubsync() : -1;
}

} // namespace xaas
