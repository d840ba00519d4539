// Harvest: reads what a finished build installed.
#pragma once

#include <xaas/base/result.h>
#include <xaas/link/installed.h>
#include <xaas/session/session.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace xaas::harvest {

// Identifies every file below `destination`, sorted by path. Stores the files that deploying will not make
// again, and all inputs of links, in the session's store. Failed: a file with captured code that was changed
// in a way that deploying cannot repeat, captured code embedded in other data, a special file.
Result<std::vector<link::InstalledFile>> harvest(const session::Session& session,
                                                 const fs::path& destination);

// The origin of a file that is carried.
struct KitOrigin {
  fs::path path;         // on the build machine; never part of an image
  bool of_build = false; // made by the build: a native object, an input without IR
  std::string reason;    // why it has no IR, if the front door recorded it
};

// The origins of all carried link inputs, by the digest of their content.
Result<std::map<Digest, KitOrigin>> kit_origins(const session::Session& session);

// Portable names of the sources whose IR contains a path of the build, from the front door's notes in the
// session's `leaks/`: one file per unit, with the name as its text.
Result<std::set<std::string>> leaking_sources(const session::Session& session);

// By portable name of a source: the number of its functions whose vector returns were written out
// (ir/vector_returns.h), from the front door's notes in the session's `vectors/`.
Result<std::map<std::string, unsigned>> vector_returns(const session::Session& session);

} // namespace xaas::harvest
