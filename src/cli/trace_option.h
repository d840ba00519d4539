// `--trace FILE`: where the time went, for build and deploy.
#pragma once

#include <xaas/base/result.h>
#include <xaas/base/trace.h>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

namespace xaas::cli {

class TraceOption {
public:
  void add(CLI::App& app);
  // Starts recording, with a span of this name that contains all others.
  void begin(const std::string& name);
  // Writes the file, also for a command that failed.
  Result<void> write();

private:
  std::string file_;
  std::optional<trace::Span> all_;
};

} // namespace xaas::cli
