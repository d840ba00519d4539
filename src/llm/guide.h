// specs/llm.json in memory: the instructions for the model, and word lists for the checks.
#pragma once

#include <xaas/spec/application.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace xaas::llm {

std::string_view suggestions_schema(); // specs/schema/suggestions.schema.json

class Guide {
public:
  static const Guide& get();
  const std::string& instructions() const { return instructions_; }
  std::string argument_form(spec::BuildSystem system) const;
  bool is_weak(const std::string& word) const { return weak_.count(word) > 0; } // in lower case
  bool is_on(const std::string& value) const;
  bool is_off(const std::string& value) const;
  // Variables that choose programs of the build or that the build system reserves.
  bool is_reserved(const std::string& option) const;
  bool has_reserved_prefix(const std::string& option) const;

private:
  Guide();
  std::string instructions_;
  std::map<std::string, std::string> forms_;
  std::set<std::string> weak_, on_, off_, reserved_;
  std::vector<std::string> prefixes_;
};

// At most `limit` bytes, cut between UTF-8 characters; a cut text ends in "...".
std::string shorten(const std::string& text, size_t limit);

} // namespace xaas::llm
