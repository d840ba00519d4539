#include <xaas/base/plain_stream.h>
#include <xaas/base/text.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace xaas {

namespace {

// A character as UTF-8 has it (RFC 3629, section 3): how many bytes, and which values they can stand for.
struct Form {
  unsigned char mask, lead; // of the first byte
  size_t size;
  char32_t first, last;
};
constexpr auto forms = std::to_array<Form>({{0x80, 0x00, 1, 0, 0x7f},
                                            {0xe0, 0xc0, 2, 0x80, 0x7ff},
                                            {0xf0, 0xe0, 3, 0x800, 0xffff},
                                            {0xf8, 0xf0, 4, 0x10000, 0x10ffff}});

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

struct Character {
  size_t size = 0;  // 0: no UTF-8
  bool cut = false; // the text ends within it
  char32_t value = 0;
};

Character character_at(std::string_view text) {
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
  return value < form->first || value > form->last || surrogate ? Character{}
                                                                : Character{form->size, false, value};
}

} // namespace

size_t append_plain(std::string_view text, std::string& output, bool whole) {
  size_t at = 0;
  while (at < text.size()) {
    const Character character = character_at(text.substr(at));
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
