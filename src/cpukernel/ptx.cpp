#include "ptx.h"

#include <cctype>

namespace xaas::cpukernel {

namespace {

class Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<PtxStatement>> run() {
    std::vector<PtxStatement> statements;
    for (;;) {
      skip();
      if (at_ == text_.size())
        return statements;
      if (take(';'))
        continue;
      if (text_[at_] == '{' || text_[at_] == '}') {
        statements.push_back({.parts = {std::string(1, text_[at_++])}});
        continue;
      }
      XAAS_TRY(PtxStatement statement, next());
      statements.push_back(std::move(statement));
    }
  }

private:
  Error unknown(const char* what) const {
    return make_error(ErrorKind::unsatisfied,
                      std::string(what) + " at " + std::string(text_.substr(at_, 20)));
  }

  // White space and comments.
  void skip() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])))
        ++at_;
      else if (text_.substr(at_, 2) == "//")
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (text_.substr(at_, 2) == "/*")
        at_ = std::min(text_.find("*/", at_), text_.size() - 2) + 2;
      else
        return;
    }
  }

  bool take(char wanted) {
    skip();
    if (at_ == text_.size() || text_[at_] != wanted)
      return false;
    ++at_;
    return true;
  }

  // Letters, digits and what names of registers and numbers have.
  std::string word() {
    skip();
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  std::string_view("_$%.:<>").find(text_[at_]) != std::string_view::npos))
      ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  Result<PtxStatement> next() {
    PtxStatement statement;
    if (take('@')) {
      statement.predicate = take('!') ? "!" : "";
      statement.predicate += word();
    }
    std::string operation = word();
    if (operation == ".reg")
      operation += word();
    if (operation.empty() || operation.ends_with(':'))
      return unknown("a label or an unknown sign");
    size_t start = operation.starts_with('.') ? 1 : 0;
    for (;;) {
      const size_t end = operation.find('.', start);
      statement.parts.push_back(operation.substr(start, end - start));
      if (end == std::string::npos)
        break;
      start = end + 1;
    }
    skip();
    while (at_ < text_.size() && text_[at_] != ';' && text_[at_] != '}') {
      XAAS_TRY(PtxOperand parsed, operand());
      statement.operands.push_back(std::move(parsed));
      if (!take(','))
        break;
    }
    skip();
    if (at_ < text_.size() && text_[at_] != ';' && text_[at_] != '}')
      return unknown("an unknown sign");
    return statement;
  }

  Result<PtxOperand> operand() {
    PtxOperand result;
    if (take('{')) {
      result.kind = PtxOperand::Kind::list;
      do {
        XAAS_TRY(PtxOperand member, operand());
        result.members.push_back(std::move(member));
      } while (take(','));
      if (!take('}'))
        return unknown("a list without end");
      return result;
    }
    if (take('[')) {
      result.kind = PtxOperand::Kind::address;
      result.name = word();
      if (take('+'))
        result.offset = word();
      if (result.name.empty() || !take(']'))
        return unknown("an unknown address");
      return result;
    }
    const bool negative = take('-');
    const bool inverted = !negative && take('!');
    result.name = (negative ? "-" : inverted ? "!" : "") + word();
    if (take('|'))
      result.second = word();
    if (result.name.empty())
      return unknown("an unknown operand");
    return result;
  }

  std::string_view text_;
  size_t at_ = 0;
};

} // namespace

Result<std::vector<PtxStatement>> parse_ptx(std::string_view text) {
  return Parser(text).run();
}

} // namespace xaas::cpukernel
