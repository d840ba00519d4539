// Secrets that lie among the sources by mistake.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xaas::build {

struct Secret {
  std::string file; // relative to the sources
  size_t line = 0;  // from 1; 0: the file as a whole
  std::string what; // "a private key"
};

// Whatever in a file looks as if only its owner should know it: private keys, tokens of well-known forms,
// files in which programs keep passwords. A guess by form, which prefers false alarms.
std::vector<Secret> find_secrets(const std::string& file, std::string_view content);

} // namespace xaas::build
