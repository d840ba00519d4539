// Text from untrusted input, for a terminal.
//
// A terminal obeys control characters: those of ASCII, and U+0080 to U+009F, which many take for the same.
// Bidirectional controls (UAX #9, section 2) and line separators show a text in another order than it has.
// So all of them are quoted as JSON does it (`\u001b`), which leaves a JSON text what it was; a byte that is
// no UTF-8 as `\xff`. New lines and tabulators stay.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace xaas {

// Appends `text` to `output`, quoted, and returns how much of it that was: all of it, but for a character at
// the end whose last bytes are still to come. With `whole` none are, and all of it is taken.
size_t append_plain(std::string_view text, std::string& output, bool whole);

// Passes on what is written to it, quoted.
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
  std::string rest_; // of a character that is not complete
};

} // namespace xaas
