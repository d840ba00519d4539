#include "script.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace xaas::link {
namespace {

struct Token {
  std::string text;
  bool quoted = false;
};

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

// Words, quoted strings and punctuation, without comments. Follows lld's lexer, so that nothing that lld
// reads as a command passes here as a comment or a string.
std::vector<Token> tokens(std::string_view text) {
  constexpr std::string_view punctuation = "(){},;";
  std::vector<Token> list;
  size_t at = 0;
  while (at < text.size()) {
    if (is_space(text[at])) {
      ++at;
    } else if (text.substr(at, 2) == "/*") {
      const size_t end = text.find("*/", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (text[at] == '"') {
      const size_t end = std::min(text.find('"', at + 1), text.size());
      list.push_back({std::string(text.substr(at + 1, end - at - 1)), true});
      at = std::min(end + 1, text.size());
    } else if (punctuation.find(text[at]) != std::string_view::npos) {
      list.push_back({std::string(1, text[at++]), false});
    } else {
      const size_t start = at++;
      while (at < text.size() && !is_space(text[at]) && text[at] != '"' && text[at] != '#' &&
             punctuation.find(text[at]) == std::string_view::npos && text.substr(at, 2) != "/*")
        ++at;
      list.push_back({std::string(text.substr(start, at - start)), false});
    }
  }
  return list;
}

class LibraryScript {
public:
  explicit LibraryScript(std::string_view text) : tokens_(tokens(text)) {}

  std::optional<std::vector<ScriptGroup>> parse() {
    std::vector<ScriptGroup> groups;
    while (at_ < tokens_.size()) {
      if (take(";"))
        continue;
      const bool group = take("GROUP");
      if (group || take("INPUT")) {
        ScriptGroup parsed{group, {}};
        if (!take("(") || !inputs(parsed, false))
          return std::nullopt;
        groups.push_back(std::move(parsed));
      } else if (take("OUTPUT_FORMAT")) {
        if (!take("(") || !skip_list())
          return std::nullopt;
      } else {
        return std::nullopt;
      }
    }
    if (groups.empty())
      return std::nullopt;
    return groups;
  }

private:
  bool take(std::string_view text) {
    if (at_ >= tokens_.size() || tokens_[at_].quoted || tokens_[at_].text != text)
      return false;
    ++at_;
    return true;
  }

  bool skip_list() {
    while (at_ < tokens_.size())
      if (tokens_[at_++].text == ")")
        return true;
    return false;
  }

  bool inputs(ScriptGroup& group, bool as_needed) {
    while (at_ < tokens_.size()) {
      if (take(")"))
        return true;
      if (take(","))
        continue;
      if (!as_needed && take("AS_NEEDED")) {
        if (!take("(") || !inputs(group, true))
          return false;
        continue;
      }
      const Token& token = tokens_[at_];
      if (!token.quoted && (token.text == "(" || token.text == "{" || token.text == "}" || token.text == ";"))
        return false;
      group.inputs.push_back({token.text, as_needed});
      ++at_;
    }
    return false;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
};

} // namespace

std::optional<std::vector<ScriptGroup>> parse_library_script(std::string_view text) {
  return LibraryScript(text).parse();
}

std::optional<std::string> file_command(std::string_view text) {
  constexpr std::array<std::string_view, 7> commands = {"INCLUDE", "INPUT",   "GROUP", "SEARCH_DIR",
                                                        "OUTPUT",  "STARTUP", "TARGET"};
  for (const Token& token : tokens(text)) {
    // The end of a word depends on lld's state, so every part of one is checked.
    size_t at = 0;
    while (at < token.text.size()) {
      size_t end = at;
      while (end < token.text.size() &&
             (std::isalnum(static_cast<unsigned char>(token.text[end])) || token.text[end] == '_'))
        ++end;
      const std::string_view word = std::string_view(token.text).substr(at, end - at);
      if (std::find(commands.begin(), commands.end(), word) != commands.end())
        return std::string(word);
      at = end + 1;
    }
  }
  return std::nullopt;
}

} // namespace xaas::link
