#include "readers/cmake/language.h"

#include <algorithm>
#include <cctype>

namespace xaas::discover {

namespace {

bool is_identifier(char c, bool first) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' ||
         (!first && std::isdigit(static_cast<unsigned char>(c)));
}

class Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text_.starts_with("\xef\xbb\xbf"))
      at_ = 3;
  }

  CMakeFile parse() {
    CMakeFile file;
    while (file.error.empty()) {
      skip_space();
      if (done())
        break;
      CMakeCommand command;
      if (parse_command(command))
        file.commands.push_back(std::move(command));
      else
        file.error = error_, file.error_line = error_line_;
    }
    return file;
  }

private:
  bool done() const { return at_ >= text_.size(); }
  char peek() const { return text_[at_]; }
  char take() {
    const char c = text_[at_++];
    line_ += c == '\n';
    return c;
  }
  bool fail(const char* what, unsigned line) {
    error_ = what;
    error_line_ = line;
    return false;
  }

  // The number of `=` in a bracket that opens here, or -1.
  int bracket_here() const {
    if (done() || peek() != '[')
      return -1;
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] == '=')
      ++end;
    return end < text_.size() && text_[end] == '[' ? static_cast<int>(end - at_ - 1) : -1;
  }

  bool take_bracket(int equals, std::string& content) {
    const unsigned start = line_;
    at_ += static_cast<size_t>(equals) + 2;
    const std::string close = "]" + std::string(static_cast<size_t>(equals), '=') + "]";
    const size_t end = text_.find(close, at_);
    if (end == std::string_view::npos)
      return fail("a bracket that does not end", start);
    content = text_.substr(at_, end - at_);
    line_ += static_cast<unsigned>(std::count(content.begin(), content.end(), '\n'));
    if (content.starts_with('\n'))
      content.erase(0, 1);
    at_ = end + close.size();
    return true;
  }

  // Skips blanks and comments; an unfinished bracket comment ends the file.
  void skip_space() {
    while (!done()) {
      if (std::isspace(static_cast<unsigned char>(peek()))) {
        take();
      } else if (peek() == '#') {
        ++at_;
        std::string ignored;
        if (const int equals = bracket_here(); equals >= 0) {
          if (!take_bracket(equals, ignored))
            at_ = text_.size();
        } else {
          at_ = std::min(text_.find('\n', at_), text_.size());
        }
      } else {
        return;
      }
    }
  }

  bool parse_command(CMakeCommand& command) {
    command.line = line_;
    if (!is_identifier(peek(), true))
      return fail("no command where one is expected", line_);
    while (!done() && is_identifier(peek(), false))
      command.name.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(take()))));
    skip_space();
    if (done() || peek() != '(')
      return fail("a command without `(`", command.line);
    ++at_;
    int depth = 0;
    for (;;) {
      skip_space();
      if (done())
        return fail("a command whose `)` is missing", command.line);
      CMakeArgument argument;
      if (peek() == '(') {
        ++at_, ++depth;
        argument.text = "(";
      } else if (peek() == ')') {
        ++at_;
        if (depth-- == 0)
          return true;
        argument.text = ")";
      } else if (const int equals = bracket_here(); equals >= 0) {
        argument.bracket = argument.quoted = true;
        if (!take_bracket(equals, argument.text))
          return false;
      } else if (peek() == '"') {
        argument.quoted = true;
        if (!take_quoted(argument.text))
          return false;
      } else {
        take_unquoted(argument.text);
      }
      command.arguments.push_back(std::move(argument));
    }
  }

  bool take_quoted(std::string& text) {
    const unsigned start = line_;
    ++at_;
    while (!done() && peek() != '"') {
      if (peek() == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        take_escape(text);
      } else {
        text.push_back(take());
      }
    }
    if (done())
      return fail("a string that does not end", start);
    ++at_;
    return true;
  }

  void take_escape(std::string& text) {
    const char c = take();
    switch (c) {
    case '\n': // the string continues on the next line
      break;
    case 'n':
      text.push_back('\n');
      break;
    case 't':
      text.push_back('\t');
      break;
    case 'r':
      text.push_back('\r');
      break;
    default:
      text.push_back(c);
    }
  }

  // Also accepts the older form, in which quotes and $(...) may be part of an argument.
  void take_unquoted(std::string& text) {
    while (!done()) {
      const char c = peek();
      if (std::isspace(static_cast<unsigned char>(c)) || c == ')' || c == '#')
        return;
      if (c == '(') {
        if (!text.ends_with('$'))
          return;
        const size_t end = text_.find(')', at_);
        if (end == std::string_view::npos)
          return;
        text += text_.substr(at_, end + 1 - at_);
        at_ = end + 1;
      } else if (c == '"') {
        std::string inner;
        if (!take_quoted(inner))
          return;
        text += '"' + inner + '"';
      } else if (c == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        take_escape(text);
      } else {
        text.push_back(take());
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  unsigned line_ = 1;
  std::string error_;
  unsigned error_line_ = 0;
};

} // namespace

CMakeFile parse_cmake(std::string_view text) {
  return Parser(text).parse();
}

} // namespace xaas::discover
