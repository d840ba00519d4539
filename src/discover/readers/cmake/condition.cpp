#include "readers/cmake/condition.h"
#include "knowledge.h"

#include <optional>

namespace xaas::discover {

namespace {

// if(<variable|constant>)
Verdict truth_of(const CMakeValues& values, const CMakeWord& word) {
  if (!word.known)
    return {};
  if (const Truth truth = truth_of_constant(word.text); truth != Truth::unknown)
    return {truth, word.literal || values.is_fixed(word.variable)};
  if (fixed_variables().count(word.text) && !values.find(word.text))
    return {truth_of_constant(fixed_variables().at(word.text)), true};
  const CMakeValue value = values.value_of(word.text);
  if (!value.known)
    return Knowledge::get().is_other_compiler(Knowledge::words_of(word.text)) ? Verdict{Truth::no, false}
                                                                              : Verdict();
  const Truth truth = truth_of_constant(value.text);
  return {truth == Truth::unknown ? Truth::yes : truth, false};
}

// A side of a comparison: the value of a variable, if there is one of that name.
CMakeValue side(const CMakeValues& values, const CMakeWord& word) {
  if (!word.known)
    return {word.text, false};
  if (!word.quoted && (values.find(word.text) || fixed_variables().count(word.text)))
    return values.value_of(word.text);
  return {word.text};
}

class Condition {
public:
  // `words` must outlive it.
  Condition(const CMakeValues& values, const std::vector<CMakeWord>& words)
      : values_(values), words_(words) {}
  Verdict evaluate() { return any(); }

private:
  bool is(const char* word) const {
    return at_ < words_.size() && !words_[at_].quoted && words_[at_].text == word;
  }
  Verdict any() {
    Verdict left = all();
    while (is("OR")) {
      ++at_;
      const Verdict right = all();
      if (left.truth == Truth::yes || right.truth == Truth::yes)
        left = {Truth::yes, left.truth == Truth::yes ? left.fixed : right.fixed};
      else if (left.truth == Truth::no && right.truth == Truth::no)
        left = {Truth::no, left.fixed && right.fixed};
      else
        left = {Truth::unknown, false, left.likely || right.likely};
    }
    return left;
  }
  Verdict all() {
    Verdict left = one();
    while (is("AND")) {
      ++at_;
      const Verdict right = one();
      if (left.truth == Truth::no || right.truth == Truth::no)
        left = {Truth::no,
                (left.truth == Truth::no && left.fixed) || (right.truth == Truth::no && right.fixed)};
      else if (left.truth == Truth::yes && right.truth == Truth::yes)
        left = {Truth::yes, left.fixed && right.fixed};
      else
        left = {Truth::unknown, false, left.likely && right.likely};
    }
    return left;
  }
  Verdict one() {
    if (is("NOT")) {
      ++at_;
      const bool guard = is("TARGET"); // against a second reading of the same file
      if (++depth_ > deepest)
        return {};
      Verdict verdict = one();
      --depth_;
      if (verdict.truth != Truth::unknown)
        verdict.truth = verdict.truth == Truth::yes ? Truth::no : Truth::yes;
      verdict.likely = guard || !verdict.likely;
      return verdict;
    }
    if (is("(")) {
      ++at_;
      if (++depth_ > deepest)
        return {};
      const Verdict verdict = any();
      --depth_;
      at_ += is(")");
      return verdict;
    }
    // A command that CMake does not have comes from a package or a project around this one.
    if (is("COMMAND") && at_ + 1 < words_.size()) {
      at_ += 2;
      return {Truth::unknown, false, false};
    }
    for (const char* test :
         {"EXISTS", "TARGET", "POLICY", "IS_DIRECTORY", "TEST", "IS_ABSOLUTE", "IS_SYMLINK", "IS_READABLE"})
      if (is(test) && at_ + 1 < words_.size()) {
        at_ += 2;
        return {};
      }
    if (is("DEFINED") && at_ + 1 < words_.size()) {
      const std::string& name = words_[at_ + 1].text;
      at_ += 2;
      return {values_.find(name)           ? Truth::yes
              : name.starts_with("CMAKE_") ? Truth::unknown
                                           : Truth::no,
              false};
    }
    if (at_ >= words_.size())
      return {};
    const CMakeWord& left = words_[at_++];
    if (at_ + 1 < words_.size() && !words_[at_].quoted)
      if (const auto compare = comparison(words_[at_].text)) {
        const Verdict verdict = (this->**compare)(left, words_[at_ + 1], words_[at_].text);
        at_ += 2;
        return verdict;
      }
    return truth_of(values_, left);
  }

  using Compare = Verdict (Condition::*)(const CMakeWord&, const CMakeWord&, const std::string&) const;
  static std::optional<Compare> comparison(const std::string& name) {
    if (name == "STREQUAL" || name == "EQUAL" || name == "VERSION_EQUAL" || name == "PATH_EQUAL")
      return &Condition::equal;
    if (name == "MATCHES")
      return &Condition::matches;
    for (const char* other : {"LESS", "GREATER", "LESS_EQUAL", "GREATER_EQUAL", "STRLESS", "STRGREATER",
                              "STRLESS_EQUAL", "STRGREATER_EQUAL", "VERSION_LESS", "VERSION_GREATER",
                              "VERSION_LESS_EQUAL", "VERSION_GREATER_EQUAL", "IN_LIST", "IS_NEWER_THAN"})
      if (name == other)
        return &Condition::unknown;
    return std::nullopt;
  }
  Verdict equal(const CMakeWord& left, const CMakeWord& right, const std::string&) const {
    // Few of the possible values of an unknown variable are this one.
    const CMakeValue a = side(values_, left), b = side(values_, right);
    if (!a.known || !b.known)
      return {Truth::no, false};
    return {a.text == b.text ? Truth::yes : Truth::no, is_fixed(left)};
  }
  // A plain word in a plain word; other expressions are not evaluated.
  Verdict matches(const CMakeWord& left, const CMakeWord& right, const std::string&) const {
    const CMakeValue value = side(values_, left);
    std::string pattern = right.text;
    if (pattern.starts_with("^"))
      pattern.erase(0, 1);
    if (pattern.ends_with("$"))
      pattern.pop_back();
    if (!right.known || pattern.find_first_of("[]()*+?.|\\^$") != std::string::npos)
      return {};
    if (!value.known)
      return {Truth::no, false};
    return {value.text.find(pattern) != std::string::npos ? Truth::yes : Truth::no, is_fixed(left)};
  }
  // Assumes a new version of CMake itself.
  Verdict unknown(const CMakeWord& left, const CMakeWord&, const std::string& name) const {
    if (left.text == "CMAKE_VERSION" || left.variable == "CMAKE_VERSION")
      return {name.find("LESS") == std::string::npos ? Truth::yes : Truth::no, false};
    return {};
  }
  bool is_fixed(const CMakeWord& left) const {
    return values_.is_fixed(left.variable) || (left.literal && values_.is_fixed(left.text));
  }

  const CMakeValues& values_;
  const std::vector<CMakeWord>& words_;
  size_t at_ = 0;
  int depth_ = 0;
  static constexpr int deepest = 100;
};

} // namespace

Verdict evaluate_condition(const CMakeValues& values, const std::vector<CMakeWord>& words) {
  return Condition(values, words).evaluate();
}

} // namespace xaas::discover
