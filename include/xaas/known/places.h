// Texts with paths in them, made independent of where the build lies, and back.
#pragma once

#include <xaas/session/session.h>

#include <string>
#include <string_view>

namespace xaas::known {

// Replaces every mention of a directory of the session's prefixes by a mark that no text has.
std::string without_places(const session::Session& session, std::string_view text);

// Replaces the directory that a file's name begins with, as -ffile-prefix-map does: nowhere else in the name.
std::string name_without_place(const session::Session& session, std::string_view name);

// Puts this session's directories where another session's were.
std::string with_places(const session::Session& session, std::string_view text);

} // namespace xaas::known
