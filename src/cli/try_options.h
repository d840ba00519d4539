// --try: builds a draft and learns from what fails.
#pragma once

#include <xaas/base/json.h>
#include <xaas/trial/trial.h>

#include <CLI/CLI.hpp>

#include <string>

namespace xaas::cli {

class TryOptions {
public:
  // `description` is that of --try.
  void add(CLI::App& app, const std::string& description);

  // False: there is no --try. Usage error: --try-time without it.
  Result<bool> wanted() const;

  // Builds the draft as `build` says. With `values`, each other value of each point is tried, too.
  Result<trial::Report> run(build::Request build, bool values, const discover::Findings& findings,
                            discover::Draft& draft, Progress& progress) const;

private:
  bool try_ = false;
  unsigned minutes_ = 0; // 0: not given
};

// The report of a trial, as docs/command-line.md describes it, and as text: one line per build.
Json to_json(const trial::Report& report);
std::string text_of(const trial::Report& report);

} // namespace xaas::cli
