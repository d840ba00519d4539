// The registry options of every command that takes an image.
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
  // `keep`: cache the blobs that are read from registries.
  registry::Access read(bool keep, TerminalProgress& progress) const;
  // Appends the options to a command line.
  void append(std::vector<std::string>& arguments) const;

private:
  std::string authfile_, cert_dir_;
  bool tls_verify_ = true, offline_ = false;
  const CLI::Option* tls_option_ = nullptr;
};

// Prunes the caches after a command that may have cached blobs of the image.
void prune_after(const oci::Reference& reference);

} // namespace xaas::cli
