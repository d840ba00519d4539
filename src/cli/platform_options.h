// The architecture of an image: --arch in LLVM's names, --platform in OCI's.
#pragma once

#include <xaas/base/result.h>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace xaas::cli {

// "linux/arm64" or "linux/arm64/v8" as LLVM's name of the architecture ("aarch64"); an architecture that xaas
// does not build for keeps its name. Usage error: another operating system, no architecture, or another
// variant.
Result<std::string> architecture_of_platform(const std::string& platform);

class PlatformOptions {
public:
  // `meaning` describes --arch; `several`: the options take lists.
  void add(CLI::App& app, const std::string& meaning, bool several);
  // LLVM's names, each once; empty: neither option was given.
  Result<std::vector<std::string>> read() const;

private:
  std::vector<std::string> archs_, platforms_;
};

} // namespace xaas::cli
