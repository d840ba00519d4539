// Identifies files: a unit's object, the output of a link, an archive of these, or a file to carry as it is.
#pragma once

#include <xaas/link/record.h>
#include <xaas/session/session.h>

#include <optional>

namespace xaas::harvest {

// Identifies a file that a link reads or an install tree holds. Archives with captured members get a record.
// Records, and the contents of files to carry, go into the store. Failed: a file with captured code that was
// changed in a way that cannot be repeated.
Result<link::FileRef> identify(const session::Session& session, const fs::path& path,
                               const std::string& name);

// Records that contents with this digest came from a unit or link, for files that lose their note.
Result<void> remember_output(const session::Session& session, const Digest& content, link::Note::Kind kind,
                             const Digest& origin);

// True if the file belongs to the build, not to the machine.
bool is_of_build(const session::Session& session, const fs::path& path);

} // namespace xaas::harvest
