// --edf: an environment definition file, by which CSCS' container engine starts an image. Source: "EDF
// reference" in the documentation of the Swiss National Supercomputing Centre (CSCS).
#pragma once

#include <xaas/base/result.h>
#include <xaas/oci/reference.h>

#include <CLI/CLI.hpp>

#include <string>

namespace xaas::cli {

class EdfOption {
public:
  void add(CLI::App& app);
  // Before the work: usage error if the engine cannot read the output (it reads squashfs files and
  // registries), or the file cannot be written.
  Result<void> check(const oci::Reference& output) const;
  // After it. Does nothing without the option.
  Result<void> write(const oci::Reference& output) const;

private:
  std::string file_;
};

} // namespace xaas::cli
