// Installed files: what an install tree holds, by where it comes from.
#pragma once

#include <xaas/base/digest.h>
#include <xaas/base/json.h>
#include <xaas/base/result.h>
#include <xaas/link/note.h>

#include <optional>
#include <string>

namespace xaas::link {

struct InstalledFile {
  enum class Kind { directory, symlink, file, unit, archive, link };
  Kind kind = Kind::file;
  std::string path;             // relative to the root of the image, normalised
  unsigned mode = 0;            // permission bits
  Digest digest;                // of the content (file), the unit, the archive record or the link record
  std::string destination;      // of a symlink
  std::optional<Finish> finish; // of a link: strip state and RPATH as installed
  bool native = false;          // a file with machine code that did not come from IR
};

Json to_json(const InstalledFile& file);
// Integrity error with JSON pointer: a path that leaves the root or is a whiteout, permission bits beyond
// 0777.
Result<InstalledFile> parse_installed_file(const JsonReader& reader);

} // namespace xaas::link
