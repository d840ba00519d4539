#include "cuda/words.h"

namespace xaas::frontdoor {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

Error open_quote(std::string_view text) {
  return make_error(ErrorKind::failed, "a double quote is not closed: " + std::string(text));
}

// Collects words letter by letter. `begin` starts a word that may stay empty.
class WordReader {
public:
  void begin() { open_ = true; }
  void add(char c) {
    open_ = true;
    word_ += c;
  }
  void end() {
    if (open_)
      words_.push_back(std::move(word_));
    word_.clear();
    open_ = false;
  }
  // Ends a part of a list: strips blanks around it, and drops an empty one.
  void end_part() {
    const size_t first = word_.find_first_not_of(" \t");
    const size_t last = word_.find_last_not_of(" \t");
    open_ = first != std::string::npos;
    if (open_)
      word_ = word_.substr(first, last - first + 1);
    end();
  }
  bool empty() const { return !open_; }
  char last() const { return word_.empty() ? '\0' : word_.back(); }
  std::vector<std::string> take() {
    end();
    return std::move(words_);
  }

private:
  std::vector<std::string> words_;
  std::string word_;
  bool open_ = false;
};

// Reads a text as the shell does.
class ShellReader {
public:
  explicit ShellReader(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> words() {
    for (; at_ < text_.size(); ++at_)
      if (auto read = read_character(text_[at_]); !read)
        return std::move(read).error();
    return words_.take();
  }

private:
  Result<void> read_character(char c) {
    if (is_blank(c))
      words_.end();
    else if (c == '\'')
      return read_single_quotes();
    else if (c == '"')
      return read_double_quotes();
    else if (c == '\\' && at_ + 1 < text_.size())
      words_.add(text_[++at_]);
    else if (c == '\\' || is_special(c))
      return expanded(c);
    else
      words_.add(c);
    return {};
  }

  bool is_special(char c) const {
    return std::string_view("$`;&|<>()").find(c) != std::string_view::npos || (c == '#' && words_.empty());
  }

  Result<void> read_single_quotes() {
    words_.begin();
    while (++at_ < text_.size() && text_[at_] != '\'')
      words_.add(text_[at_]);
    if (at_ >= text_.size())
      return make_error(ErrorKind::failed, "a single quote is not closed: " + std::string(text_));
    return {};
  }

  // Inside double quotes, a backslash stands for itself, except before characters that it protects there.
  Result<void> read_double_quotes() {
    words_.begin();
    while (++at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '$' || text_[at_] == '`')
        return expanded(text_[at_]);
      if (text_[at_] == '\\' && at_ + 1 < text_.size() &&
          std::string_view("$`\"\\").find(text_[at_ + 1]) != std::string_view::npos)
        ++at_;
      words_.add(text_[at_]);
    }
    if (at_ >= text_.size())
      return open_quote(text_);
    return {};
  }

  Error expanded(char c) const {
    return make_error(ErrorKind::failed,
                      std::string("nvcc's shell would act on `") + c + "`: " + std::string(text_));
  }

  std::string_view text_;
  size_t at_ = 0;
  WordReader words_;
};

} // namespace

Result<std::vector<std::string>> nvcc_list(std::string_view text) {
  WordReader parts;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      if (++i == text.size())
        return make_error(ErrorKind::failed, "a backslash at the end: " + std::string(text));
      parts.add(text[i]);
      continue;
    }
    quoted ^= text[i] == '"';
    if (text[i] == ',' && !quoted)
      parts.end_part();
    else
      parts.add(text[i]);
  }
  if (quoted)
    return open_quote(text);
  parts.end_part();
  return parts.take();
}

Result<std::vector<std::string>> nvcc_paths(std::string_view text) {
  WordReader parts;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      parts.end_part();
    else
      parts.add(c);
  }
  if (quoted)
    return open_quote(text);
  parts.end_part();
  return parts.take();
}

Result<std::vector<std::string>> shell_words(std::string_view text) {
  return ShellReader(text).words();
}

Result<std::string> nvcc_macro(std::string_view part) {
  std::string line = "\"";
  for (const char c : part) {
    if (c == '"')
      line += '\\';
    line += c;
  }
  XAAS_TRY(const std::vector<std::string> words, shell_words(line + "\""));
  if (words.size() != 1)
    return make_error(ErrorKind::failed, "nvcc's shell splits it into several words: " + std::string(part));
  return words[0];
}

Result<std::vector<std::string>> options_file_words(std::string_view text) {
  WordReader words;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 1 < text.size();
    if (escaped)
      ++i;
    if (text[i] == '"') {
      quoted ^= !escaped;
      words.begin();
      if (words.last() == '\\')
        words.add('"');
    } else if (is_blank(text[i]) && !quoted && !escaped) {
      words.end();
    } else {
      words.add(text[i]);
    }
  }
  if (quoted)
    return open_quote(text);
  return words.take();
}

Result<std::vector<std::string>> environment_words(std::string_view text) {
  WordReader words;
  bool quoted = false;
  for (const char c : text) {
    quoted ^= c == '"';
    if (is_blank(c) && !quoted)
      words.end();
    else
      words.add(c);
  }
  if (quoted)
    return open_quote(text);
  return words.take();
}

} // namespace xaas::frontdoor
