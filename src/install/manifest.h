// PREFIX/install.json: what an installation consists of, to replace and remove it by. docs/image-format.md
// describes it.
#pragma once

#include "files.h"

#include <xaas/base/json.h>

#include <map>
#include <string>
#include <vector>

namespace xaas::install {

inline constexpr const char* manifest_file = "install.json";

struct Manifest {
  std::string image, digest, name, version, runtime;
  std::vector<std::string> programs, targets;
  std::map<std::string, Digest> modules; // outside the prefix, by path
  // Relative to the prefix; a content is the digest of a file or `-> DESTINATION`, empty for a directory.
  std::map<std::string, std::string> files;
};

// Lists everything below the directory.
Result<void> list_files(const fs::path& directory, Manifest& manifest);

Json to_json(const Manifest& manifest);

// The manifest of the installation at a prefix. Usage error if there is none; errors of parse_manifest().
Result<Manifest> read_manifest(const fs::path& prefix);
// `where` begins the message of an error: integrity if the text is malformed or a path of a file leads out of
// the prefix, unsatisfied for a newer version.
Result<Manifest> parse_manifest(const std::string& text, const std::string& where);

// The files below the prefix that were added or changed since, by their paths.
Result<std::vector<fs::path>> changed_files(const fs::path& prefix, const Manifest& manifest);

} // namespace xaas::install
