#include "challenge.h"

#include <xaas/base/text.h>

#include <algorithm>
#include <cctype>

namespace xaas::registry {

namespace {

// Parses the field from left to right. A step that matches nothing skips one character.
class Scanner {
public:
  explicit Scanner(const std::string& text) : text_(text) {}
  bool at_end() const { return at_ >= text_.size(); }
  void skip_one() { ++at_; }
  void skip(const char* characters) {
    at_ = std::min(text_.find_first_not_of(characters, at_), text_.size());
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c)
      return false;
    ++at_;
    return true;
  }
  std::string token() {
    const size_t start = at_;
    while (!at_end() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                         std::string_view("!#$%&'*+-.^_`|~").find(text_[at_]) != std::string_view::npos))
      ++at_;
    return text_.substr(start, at_ - start);
  }
  std::string value() {
    if (!take('"'))
      return token();
    std::string value;
    for (; !at_end() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size())
        ++at_;
      value += text_[at_];
    }
    skip_one();
    return value;
  }

private:
  const std::string& text_;
  size_t at_ = 0;
};

} // namespace

std::string Challenge::parameter(const std::string& name) const {
  const auto found = parameters.find(name);
  return found == parameters.end() ? std::string() : found->second;
}

std::vector<Challenge> parse_challenges(const std::string& field) {
  std::vector<Challenge> challenges;
  Scanner scanner(field);
  while (true) {
    scanner.skip(" \t,");
    if (scanner.at_end())
      return challenges;
    const std::string name = scanner.token();
    if (name.empty()) {
      scanner.skip_one();
      continue;
    }
    scanner.skip(" \t");
    if (!scanner.take('=')) {
      challenges.push_back({to_lower(name), {}});
      continue;
    }
    scanner.skip(" \t");
    std::string value = scanner.value();
    if (!challenges.empty())
      challenges.back().parameters.emplace(to_lower(name), std::move(value));
  }
}

std::vector<Challenge> challenges_of(const http::Response& response) {
  std::vector<Challenge> all;
  for (const http::Header& header : response.headers)
    if (to_lower(header.name) == "www-authenticate")
      for (Challenge& challenge : parse_challenges(header.value))
        all.push_back(std::move(challenge));
  return all;
}

} // namespace xaas::registry
