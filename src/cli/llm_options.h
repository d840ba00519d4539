// The language model options of `inspect` and `init`, and the printing of its answer.
#pragma once

#include <xaas/base/result.h>
#include <xaas/llm/suggest.h>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace xaas::cli {

class LlmOptions {
public:
  void add(CLI::App& app);
  bool given() const { return !url_.empty() || !replay_.empty(); }
  // nullopt: no model is to be asked. Usage error: contradicting options.
  Result<std::optional<llm::Options>> read() const;

private:
  std::string url_, model_, style_, prompt_, record_, replay_;
  unsigned timeout_ = 120;
};

// Reports on standard error that a model is being asked, which can take minutes; not for a replay or if
// `quiet`.
void announce(const std::optional<llm::Options>& options, bool quiet);

// Prints the rejected parts of the answer and the omissions of the description to standard error.
void print_notes(const llm::Suggestions& suggestions);

// Prints the additions to standard error, for output formats without a field for them.
void print_additions(const llm::Suggestions& suggestions);

// The report as a table: the request, its cost, the accepted points.
std::string text_of(const Json& report);

} // namespace xaas::cli
