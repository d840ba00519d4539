// Text from untrusted input, for a terminal.
//
// A terminal obeys control characters: those of ASCII, and on many terminals U+0080 to U+009F. Bidirectional
// controls (UAX #9, section 2) and line separators display text in another order than it has. All of these
// are quoted as in JSON (`\u001b`), so that JSON text keeps its meaning. A byte that is not UTF-8 becomes
// `\xff`. Newlines and tabs stay.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace xaas {

// Appends `text` to `output`, quoted, and returns how many bytes it took: all, except an incomplete character
// at the end. With `whole` no more bytes follow, and it takes all of them.
size_t append_plain(std::string_view text, std::string& output, bool whole);

// Quotes what is written to it and passes it on.
class PlainStream : public std::streambuf {
public:
  explicit PlainStream(std::streambuf& sink) : sink_(sink) {}

protected:
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int_type overflow(int_type character) override;
  int sync() override;

private:
  bool pass_on(bool whole);
  std::streambuf& sink_;
  std::string rest_; // of an incomplete character
};

} // namespace xaas
