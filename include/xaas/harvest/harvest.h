// Harvest: what a finished build installed, read from the installed files.
#pragma once

#include <xaas/base/result.h>
#include <xaas/link/installed.h>
#include <xaas/session/session.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::harvest {

// Identifies every file below `destination`; files that deploying will not make again, and everything that
// links read, are put into the session's store. Errors (failed): a file that carries captured code but was
// changed in a way that deploying cannot repeat; one with captured code embedded in other data; special
// files. Sorted by path.
Result<std::vector<link::InstalledFile>> harvest(const session::Session& session,
                                                 const fs::path& destination);

// Where a file that is carried came from.
struct KitOrigin {
  fs::path path;         // on the build machine; never written into an image
  bool of_build = false; // made by the build: a native object, an input without IR
  std::string reason;    // why it has no IR, where the front door knows
};

// The origins of all files that links read and that are carried, by the digest of their content.
Result<std::map<Digest, KitOrigin>> kit_origins(const session::Session& session);

// Portable names of the sources whose IR has a path of the build in it, as the front door noted them in the
// session's `leaks/`: one file per unit, its text the name.
Result<std::set<std::string>> leaking_sources(const session::Session& session);

// By the portable name of a source: how many of its functions return vectors in registers that were written
// out (ir/vector_returns.h), as the front door noted them in the session's `vectors/`.
Result<std::map<std::string, unsigned>> vector_returns(const session::Session& session);

} // namespace xaas::harvest
