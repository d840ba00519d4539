// The options of a language model, which `inspect` and `init` share, and what is printed of its answer.
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
  // Nothing: no model is to be asked. Usage error: options that do not go together.
  Result<std::optional<llm::Options>> read() const;

private:
  std::string url_, model_, style_, prompt_, record_, replay_;
  unsigned timeout_ = 120;
};

// On standard error, that a model is asked now: it may take minutes. Nothing for a replay, or if `quiet`.
void announce(const std::optional<llm::Options>& options, bool quiet);

// On standard error, what was not taken of the answer, and what the description left out.
void print_notes(const llm::Suggestions& suggestions);

// On standard error, what was added: for output that cannot say it itself.
void print_additions(const llm::Suggestions& suggestions);

// For the table: what was asked, what it took, what was taken.
std::string text_of(const Json& report);

} // namespace xaas::cli
