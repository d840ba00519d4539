// Harvest: what a finished build installed, read from the installed files.
#pragma once

#include <xaas/base/result.h>
#include <xaas/capture/session.h>
#include <xaas/link/note.h>

#include <optional>
#include <string>
#include <vector>

namespace xaas::capture {

struct InstalledFile {
  enum class Kind { directory, symlink, file, unit, archive, link };
  Kind kind = Kind::file;
  std::string path;  // relative to the root of the image
  unsigned mode = 0; // permission bits
  Digest digest;     // of the content (file), the unit, the archive record or the link record
  std::string destination;             // of a symlink
  std::optional<link::Finish> finish;  // of a link: strip state and RPATH as installed
  bool native = false;                 // a file with machine code that did not come from IR
};

// Identifies every file below `destination`; files that deploying will not make again, and everything that links read, are
// put into the session's store. Errors (failed): a file that carries captured code but was changed in a way that deploying
// cannot repeat; one with captured code embedded in other data; special files. Sorted by path.
Result<std::vector<InstalledFile>> harvest(const Session& session, const fs::path& destination);

// Why a native object has no IR, by the digest of its content, as the front door wrote it down.
struct NativeObject {
  Digest digest;
  std::string name, reason;
};
Result<std::vector<NativeObject>> native_objects(const Session& session);

} // namespace xaas::capture
