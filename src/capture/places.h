// Texts with paths in them, made independent of where the build lies, and back.
#pragma once

#include <xaas/capture/session.h>

#include <string>
#include <string_view>

namespace xaas::capture {

// Replaces every mention of a directory of the session's prefixes by a mark that no text has.
std::string without_places(const Session& session, std::string_view text);

// Puts this session's directories where another session's were.
std::string with_places(const Session& session, std::string_view text);

} // namespace xaas::capture
