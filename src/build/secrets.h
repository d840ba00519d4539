// Secrets that lie among sources by mistake.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xaas::build {

struct Secret {
  std::string file; // relative to the sources
  size_t line = 0;  // from 1; 0: the file itself
  std::string what; // "a private key"
};

// What in a file looks like something that only its owner should know: private keys, tokens of well-known
// forms, files in which programs keep passwords. A guess by form; it errs towards finding.
std::vector<Secret> find_secrets(const std::string& file, std::string_view content);

} // namespace xaas::build
