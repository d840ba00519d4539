// How registries are reached: options of every command that takes an image.
#pragma once

#include "terminal.h"

#include <xaas/oci/reference.h>
#include <xaas/registry/images.h>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace xaas::cli {

class RegistryOptions {
public:
  void add(CLI::App& app);
  // `keep`: keep what is read from registries for later runs.
  registry::Access read(bool keep, TerminalProgress& progress) const;
  // The options again, for a command line that is printed.
  void append(std::vector<std::string>& arguments) const;

private:
  std::string authfile_, cert_dir_;
  bool tls_verify_ = true, offline_ = false;
  const CLI::Option* tls_option_ = nullptr;
};

// After a command that may have kept something of an image in a registry.
void prune_after(const oci::Reference& reference);

} // namespace xaas::cli
