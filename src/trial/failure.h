// What a failed build shows: its log and what it made.
#pragma once

#include <xaas/build/build.h>
#include <xaas/spec/application.h>

#include <string>
#include <vector>

namespace xaas::trial {

// A program or library that links of the build made.
struct Product {
  enum class Kind { program, shared_library, archive } kind = Kind::program;
  std::string path; // relative to the build directory
  auto operator<=>(const Product&) const = default;
};

struct Failure {
  build::FailedBuild::Cause cause = build::FailedBuild::Cause::other;
  std::string step;   // that failed; empty: none did
  std::string error;  // the first line that explains it
  std::string output; // all of them
  std::string log;    // the log of the build; empty if it is larger than 256 MiB
  std::vector<Product> products;
  std::map<std::string, std::string> values; // of the configuration
  bool natively = false;                     // the build succeeded, but with compilers of its own choice
  bool unoptimized = false;                  // it succeeded, but compiled sources without an -O option
};

// Reads a failed build's directories, while they exist. Unreadable files count as missing.
Failure failure_of(const build::FailedBuild& failed);

// The products below a build directory that are newer than `since`, without those of the build system's own
// checks. Those in directories of tests and examples are left out if there are others.
std::vector<Product> products_in(const fs::path& directory, const std::string& arch,
                                 fs::file_time_type since);

} // namespace xaas::trial
